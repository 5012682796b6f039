/**
 * The records that stand in YAML files: what they may hold. The schema is that
 * of docs/reference/offhook.schema.json, which is made from the description of
 * the API.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CODE_CODE_SCHEMA_H
#define OFFHOOK_CONTROL_CLI_CODE_CODE_SCHEMA_H

#include <jansson.h>
#include <stddef.h>

#define CODE_KINDS         8
#define CODE_POINTER_BYTES 512
#define CODE_REASON_BYTES  512

/** Kinds in the order in which they depend on each other. */
struct code_kind {
	const char *plural;   /* in files: "credential_pools" */
	const char *path;     /* of the API: "/credential-pools" */
	const char *singular; /* member of answers: "credential_pool" */
	const char *title;    /* "credential pool" */
};

extern const struct code_kind code_kinds[CODE_KINDS];

enum code_kind_index {
	CODE_PROJECT,
	CODE_TARGET,
	CODE_CREDENTIAL_POOL,
	CODE_AGENT_POOL,
	CODE_CALLBACK_TEMPLATE,
	CODE_APPIMAGE,
	CODE_TEST,
	CODE_SCHEDULE,
};

/** Read the schema. @return new reference; NULL: out of memory */
json_t *code_schema_new(void);

/** What a misfit is reported to. @param pointer  of the value that does not fit */
typedef void code_misfit_h(void *arg, const char *pointer, const char *reason);

/**
 * Check a document against the schema: unknown and missing members, and values
 * of another type. Whole numbers where texts are wanted become texts.
 * @param document  changed in place
 */
void code_schema_check(json_t *schema, json_t *document, code_misfit_h *misfit,
		       void *arg);

/** Make a copy of a record without the members that have no effect: those equal
 * to their default, null and empty ones. Actions and conditions are copied whole.
 * Members that the schema does not know are left out; 0 and 1 become false and
 * true where it wants a truth value.
 * @return new reference; NULL: out of memory */
json_t *code_schema_reduce(json_t *schema, enum code_kind_index kind,
			   json_t *record);

/** The first kind with this name in files. @return CODE_KINDS: there is none */
size_t code_kind_find(const char *plural);

#endif
