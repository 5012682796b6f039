/**
 * The one way a project run begins: which of the project's tests, and the rows.
 * Requests start project runs, and so do schedules.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_RUN_PROJECT_H
#define OFFHOOK_SERVER_RUN_PROJECT_H

#include "base/str.h"

#include <jansson.h>
#include <stdint.h>

struct schedule_turn;
struct store;

struct project_start {
	int64_t project_id;
	const char *project_name;
	const char *report_mode;
	json_t *test_ids; /* array of ids; NULL or null: all */
	json_t *tags;     /* array of texts, any of which; likewise */
	json_t *callback; /* as store_test_load() has it; NULL: none */
	const struct schedule_turn *schedule; /* NULL: of no schedule */
};

struct project_started {
	int64_t id;
	char uuid[UUID_TEXT_BYTES];
	char kiosk_id[UUID_TEXT_BYTES]; /* "" unless the mode is kiosk */
};

/**
 * Make the rows of a project run. Its first test starts with the next pass of
 * the run engine.
 * @param errors  array; what is wrong with the selection is added as {pointer,
 *                detail}
 * @return 0; -EINVAL errors has the reasons; -EALREADY the turn was taken; -EIO;
 *         -ENOMEM
 */
int project_run_start(struct store *store, const struct project_start *start,
		      json_t *errors, struct project_started *ret);

#endif
