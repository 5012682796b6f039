/**
 * A run with everything that its report page shows, for commands.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_REPORT_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_REPORT_H

#include <jansson.h>

struct client;

/** Read `run` of GET /runs/ID.
 * @param id   number or session id, as given by the user; NULL: none
 * @param ret  new reference
 * @return 0; exit status, the complaint was printed */
int run_report_run(struct client *c, const char *id, json_t **ret);

/** Read the data of the report (docs/reference/report.md).
 * @return as run_report_run() */
int run_report_read(struct client *c, const char *id, json_t **ret);

#endif
