/**
 * The data behind a report page, as one JSON document (docs/reference/report.md).
 * Thread: worker threads; reads the store only.
 */
#ifndef OFFHOOK_SERVER_REPORT_REPORT_DATA_H
#define OFFHOOK_SERVER_REPORT_REPORT_DATA_H

#include <jansson.h>
#include <stdbool.h>

struct controller_conf;
struct store;

/**
 * Collect what the page shows of one run.
 * @param session_id  UUID text
 * @param kiosk_id    the public half of the link, or NULL for a reader who
 *                    is signed in; a public report carries no SIP bodies,
 *                    and its digits are masked (public.h)
 * @param ret         new reference, written on success only
 * @return 0; -ENOENT no such run, or the kiosk id is not its own; -ENOMEM;
 *         -EIO
 */
int report_data(struct store *store, const struct controller_conf *conf,
		const char *session_id, const char *kiosk_id, json_t **ret);

#endif
