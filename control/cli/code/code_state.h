/**
 * The records of a controller as `offhook apply` and `export` see them: by name.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CODE_CODE_STATE_H
#define OFFHOOK_CONTROL_CLI_CODE_CODE_STATE_H

#include "control/cli/client/client.h"
#include "control/cli/code/code_schema.h"

#define CODE_NAME_BYTES 512

struct code_state;

/** List the records of all kinds. @return 0; exit status, the complaint was
 * printed */
int code_state_new(struct code_state **ret, struct client *client,
		   json_t *schema);
struct code_state *code_state_free(struct code_state *s);

/** Names of a kind with their ids: {"Office": 1}. An appimage with a version is
 * "NAME VERSION". @return borrowed */
json_t *code_state_names(const struct code_state *s, enum code_kind_index kind);

/** Note the id of a record that was created. */
void code_state_add(struct code_state *s, enum code_kind_index kind,
		    const char *name, json_int_t id);

/** The name of a record in a file or answer. */
void code_name(enum code_kind_index kind, json_t *record,
	       char name[static CODE_NAME_BYTES]);

/**
 * Read a record.
 * @param ret   new reference: in the form of files, reduced; secrets are {"env":
 *              NAME} where there is one. An appimage has sha256 and no file.
 * @param etag  filled
 * @return as code_state_new()
 */
int code_state_read(struct code_state *s, enum code_kind_index kind,
		    json_int_t id, json_t **ret,
		    char etag[static REMOTE_ETAG_BYTES]);

/** What code_state_refer() calls for a name that is not known. */
typedef void code_unknown_h(void *arg, const char *pointer,
			    enum code_kind_index kind, const char *name);

/**
 * Replace names by ids, for the API.
 * @param known    more names, {"targets": {"Proxy": 0}}; NULL: none
 * @param unknown  called for each name that is not known
 * @return new reference
 */
json_t *code_state_refer(const struct code_state *s, enum code_kind_index kind,
			 json_t *record, json_t *known, code_unknown_h *unknown,
			 void *arg);

#endif
