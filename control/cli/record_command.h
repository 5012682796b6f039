/**
 * A command about records, as records.c reads it and record_verbs.c carries it
 * out.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORD_COMMAND_H
#define OFFHOOK_CONTROL_CLI_RECORD_COMMAND_H

#include "control/cli/record_kinds.h"

struct remote;

struct record_command {
	const struct record_kind *kind;
	struct remote *remote;
	const char *url;
	const char *key_file;
	const char *ca_file;
	bool json;
	bool wait;
	bool help;
	const char *verb;
	const char *id; /* or name; NULL */
	char **fields;  /* NAME=VALUE */
	int field_count;
};

/** Do it, and print. @return exit status */
int record_carry_out(struct record_command *c);

/** Complain on standard error. @return the exit status for it */
int record_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
