/**
 * Records in YAML files. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CODE_CODE_FILES_H
#define OFFHOOK_CONTROL_CLI_CODE_CODE_FILES_H

#include "control/cli/code/code_schema.h"

#include <stdbool.h>

#define CODE_RECORDS_MAX  10000
#define CODE_SECRET_BYTES 256

struct code_record {
	enum code_kind_index kind;
	const char *file;
	json_t *value;  /* as in the file, checked */
	json_t *places; /* of value */
};

struct code_files;

/**
 * Read files, and the .yaml and .yml files of folders (not of those in them).
 * "-" is standard input.
 * @param schema  borrowed, until code_files_free()
 * @return 0; CLI_EXIT_USAGE, everything that is wrong was printed
 */
int code_files_new(struct code_files **ret, json_t *schema,
		   const char *const *paths, size_t count);
struct code_files *code_files_free(struct code_files *f);

/** Records in the order of their kinds. */
const struct code_record *code_files_records(const struct code_files *f,
					     size_t *count);
/** True if a file has this kind, if only as an empty list. */
bool code_files_have(const struct code_files *f, enum code_kind_index kind);

/** Print "FILE:LINE:COLUMN: REASON" about a value. @param pointer  into value */
void code_complain(const struct code_record *r, const char *pointer,
		   const char *reason);

/** Read {"env": NAME} or {"file": PATH}, relative to the record's file.
 * @return 0; -ENOENT, nothing was printed */
int code_secret(const struct code_record *r, json_t *where,
		char secret[static CODE_SECRET_BYTES]);

/** Read a file named by a record. @return 0; -errno, nothing was printed */
int code_content(const struct code_record *r, const char *path, char **ret,
		 size_t *len);

#endif
