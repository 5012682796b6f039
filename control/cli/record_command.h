/**
 * A command about records of a controller: records.c reads it, record_verbs.c
 * carries it out.
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
	const char *id; /* numeric id or name; NULL: none */
	char **fields;  /* NAME=VALUE */
	int field_count;
};

/** Carry out the command and print the result. @return exit status */
int record_carry_out(struct record_command *c);

/** Complain on standard error. @return exit status for wrong usage */
int record_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
