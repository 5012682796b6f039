/**
 * The data behind a report page, as one JSON document (docs/reference/report.md).
 * Thread: worker threads; reads the store only.
 */
#ifndef OFFHOOK_SERVER_REPORT_REPORT_DATA_H
#define OFFHOOK_SERVER_REPORT_REPORT_DATA_H

#include <stddef.h>

struct buf;
struct controller_conf;
struct store;

/* Far above the size that the ceilings of store_report.h allow. */
#define REPORT_DATA_BYTES ((size_t)1 << 30)

/**
 * Collect what the page shows of one run. Events and points are not parsed:
 * their stored text becomes the answer's, real numbers in 15 digits.
 * @param session_id  UUID text
 * @param kiosk_id    the public half of the link, or NULL for a reader who
 *                    is signed in; a public report carries no SIP bodies,
 *                    and its digits are masked (public.h)
 * @param text        empty; the document, with the HTTP status 200 in it
 * @return 0; -ENOENT no such run, or the kiosk id is not its own; -ENOMEM;
 *         -EMSGSIZE; -EIO (text holds nothing of use)
 */
int report_data(struct store *store, const struct controller_conf *conf,
		const char *session_id, const char *kiosk_id, struct buf *text);

#endif
