/**
 * The command line of offhook-agent.
 */
#ifndef OFFHOOK_AGENT_OPTIONS_H
#define OFFHOOK_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_CONFIG_DEFAULT "/etc/offhook/offhook-agent.conf"

#define OPTIONS_TOKEN_BYTES 256

struct options {
	const char *config;
	char join_token[OPTIONS_TOKEN_BYTES]; /* empty: not given */
	const char *fingerprint;              /* NULL: not given */
	bool acquire;                         /* one job, then the end */
	uint32_t acquire_s;                   /* 0: wait for ever */
	bool check_config;
	bool check_health;
	uint32_t calibrate_s; /* 0: not asked for */
	bool json;
	bool verbose;
	bool version;
	bool help;
	int engine_fd; /* -1: we are the supervisor */
};

/**
 * Read the command line.
 * @param argv  the strings stay in use; the join token is overwritten in
 *              place once it is copied, so that ps does not show it
 * @return 0; -EINVAL (the reason is on standard error)
 */
int options_parse(struct options *ret, int argc, char **argv);

/** Print the options on standard output. */
void options_print_help(void);

#endif
