/**
 * The kinds of records that the commands know, and how each is printed.
 */
#ifndef OFFHOOK_CONTROL_CLI_CLIENT_RECORD_KINDS_H
#define OFFHOOK_CONTROL_CLI_CLIENT_RECORD_KINDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define KIND_COLUMNS_MAX 8

struct record_kind {
	const char *command;  /* "schedule" */
	const char *path;     /* "/schedules" */
	const char *plural;   /* member of listings */
	const char *singular; /* member of a single one */
	bool of_run;          /* listed for a run: path below /runs/ID */
	const char *columns[KIND_COLUMNS_MAX]; /* of the table */
	const char *const *fields; /* what PUT takes, NULL-terminated */
};

/** Find a kind by its command: "schedule". @return static; NULL: unknown */
const struct record_kind *record_kind_find(const char *command);

/** Print the rows of a listing as a table.
 * @param width  of the terminal; 0: whole */
void record_print_list(FILE *out, const struct record_kind *kind,
		       const json_t *rows, size_t width);

/** Print one record, one member per line. */
void record_print(FILE *out, json_t *record);

/** Convert a value to a form field: a text as it is, any other value as JSON.
 * @return new string; NULL: out of memory, or the value is null */
char *record_text(const json_t *value);

#endif
