/** What reading runs and listing them share. */
#ifndef OFFHOOK_SERVER_STORE_STORE_RUN_INTERNAL_H
#define OFFHOOK_SERVER_STORE_STORE_RUN_INTERNAL_H

#include "control/server/store/record.h"

/* SQL of `run r`: it is over, and its judge has spoken */
#define RUN_DONE "r.phase = 'done'"

/* What runs can be sorted and filtered by, and listings show (docs/api.md). */
extern const struct table store_run_listed;

#endif
