/**
 * The figures by role of a run with more calls than its report has.
 * Thread: worker threads; reads the store only.
 */
#ifndef OFFHOOK_SERVER_REPORT_RUN_FIGURES_H
#define OFFHOOK_SERVER_REPORT_RUN_FIGURES_H

#include <jansson.h>
#include <stdint.h>

struct store;

/**
 * Read all calls and registrations of a run, up to REPORT_FIGURES_MAX each. Of their
 * text only what is counted is parsed.
 * @param ret  new reference: the member `figures` of a report (control/render/render.h)
 * @return 0; -ENOMEM; -EIO
 */
int run_figures(struct store *store, int64_t run_id, json_t **ret);

#endif
