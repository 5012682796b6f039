/**
 * Runs as the API shows them (docs/reference/api.md).
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_RUN_H
#define OFFHOOK_SERVER_STORE_STORE_RUN_H

#include <jansson.h>
#include <stdint.h>

struct page;
struct store;

/**
 * Read a run with `attempt`, `retry_of`, `retried_by`, `phase`, `progress`,
 * `verdicts`, `report_mode` and `kiosk_id` (which only the run's owner may
 * see).
 * @param id_or_uuid  numeric id or session id
 * @return 0; -ENOENT; -EIO; -ENOMEM
 */
int store_run_get(struct store *s, const char *id_or_uuid, json_t **ret);

/**
 * Map a status for session_status_alias: for clients that know only `running`,
 * `passed` and `failed`.
 * @return status, or "failed" for `errored` and `stopped`
 */
const char *run_status_alias(const char *status);

/** Read the conditions of a run, overrides applied. @return 0; -ENOENT; -EIO */
int store_run_conditions(struct store *s, int64_t run_id, json_t **ret);

/** Read the latest run of a test as a listing has it, with `attempt` and
 * `retry_of`. It is `running` while a further attempt is due.
 * @return 0; -ENOENT; -EIO; -ENOMEM */
int store_run_last(struct store *s, int64_t test_id, json_t **ret);

/** Read the runs of a project run, as listings have them and with `attempt` and
 * `retry_of`, in the order of their start; page and total as in
 * record_list_of(). @return 0; -EIO; -ENOMEM */
int store_run_of_project_run(struct store *s, int64_t project_run_id,
			     const struct page *page, json_t **ret,
			     int64_t *total);

/** Give a run a public link. One that it has stays.
 * @param kiosk_id  the second half of a new link, UUID text
 * @return 0; -ENOENT; -EIO */
int store_run_share(struct store *s, int64_t run_id, const char *kiosk_id);

/** End a run's public link; further attempts get none. @return 0; -ENOENT it
 * has none; -EIO */
int store_run_revoke(struct store *s, int64_t run_id);

#endif
