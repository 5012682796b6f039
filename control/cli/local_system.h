/**
 * A controller and agents of one command's own: on loopback, with keys that are
 * made for them, in a folder that is removed at the end. They end with this
 * process, however it ends.
 * Thread: main, which started them.
 */
#ifndef OFFHOOK_CONTROL_CLI_LOCAL_SYSTEM_H
#define OFFHOOK_CONTROL_CLI_LOCAL_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#define LOCAL_AGENTS_MAX 64

struct local_system;

struct local_system_params {
	const char *bind; /* address of the agents */
	uint16_t rtp_min, rtp_max;
	bool keep; /* leave the folder, and say where it is */
};

/**
 * Start the controller and wait until it listens. From now on SIGINT, SIGTERM and
 * SIGHUP do not end this process: see local_system_interrupted().
 * @param params  borrowed
 * @return 0; CLI_EXIT_ERRORED, the complaint was printed
 */
int local_system_new(struct local_system **ret,
		     const struct local_system_params *params);

/** Stop the programs and remove the folder. Jobs in progress are cancelled; a
 * second signal kills their agents. Accepts NULL. @return NULL */
struct local_system *local_system_free(struct local_system *s);

/** URL and API key (PUBLIC:SECRET) of the controller. */
const char *local_system_url(const struct local_system *s);
const char *local_system_key(const struct local_system *s);

/** Start an agent; it enrols by itself.
 * @param join_token  of its pool
 * @return as local_system_new() */
int local_system_add_agent(struct local_system *s, const char *join_token);

/** True once a signal asked to end. */
bool local_system_interrupted(void);

/**
 * Wait a moment, less where a signal comes.
 * @return 0; CLI_EXIT_ERRORED, a signal asked to end or a program ended by itself;
 *         the complaint was printed
 */
int local_system_pause(struct local_system *s);

#endif
