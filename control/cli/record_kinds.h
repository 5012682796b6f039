/**
 * What the commands about records know of each kind.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORD_KINDS_H
#define OFFHOOK_CONTROL_CLI_RECORD_KINDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define KIND_COLUMNS_MAX 8

struct record_kind {
	const char *command;  /* "schedule" */
	const char *path;     /* "/schedules" */
	const char *plural;   /* member of listings */
	const char *singular; /* member of one */
	bool writable;
	bool made_elsewhere; /* writable, but there is no create */
	bool startable;
	bool of_run; /* listed for a run: path below /runs/ID */
	const char *columns[KIND_COLUMNS_MAX]; /* of a listing */
	const char *const *fields; /* what PUT takes, NULL-terminated */
};

/** @return NULL: there is none of the name */
const struct record_kind *record_kind_find(const char *command);

/** Print the rows of a listing as a table. */
void record_print_list(FILE *out, const struct record_kind *kind,
		       const json_t *rows);

/** Print one record, a member a line. */
void record_print(FILE *out, json_t *record);

/** What a form takes for a value: text as it is, JSON of all else.
 * @return new string; NULL: out of memory, or null */
char *record_text(const json_t *value);

#endif
