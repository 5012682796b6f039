/**
 * Projects, beyond what record.h does.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_PROJECT_H
#define OFFHOOK_SERVER_STORE_STORE_PROJECT_H

#include <jansson.h>
#include <stdint.h>

struct store;

/** Find a project by its name. @return 0; -ENOENT; -EIO */
int store_project_find(struct store *s, const char *name, int64_t *ret_id);

/**
 * Read what the page of a project run shows: {project_name, run_status,
 * created_at, stopped_at, total_tests, runs: [{test_name, status, attempt,
 * session_id, kiosk_id, result_description}]}.
 * @param kiosk_id  from the link; NULL: the reader is signed in
 * @return 0; -ENOENT; -EIO; -ENOMEM
 */
int store_project_run_page(struct store *s, const char *uuid,
			   const char *kiosk_id, json_t **ret);

#endif
