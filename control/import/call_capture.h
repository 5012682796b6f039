/**
 * Reads the calls of a capture: SIP over UDP and TCP, telephone-events, and
 * the figures of the RTP streams as of `offhook analyze`.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_CALL_CAPTURE_H
#define OFFHOOK_CONTROL_IMPORT_CALL_CAPTURE_H

#include "capture/source.h"
#include "control/import/dialogs.h"

#define CALL_CAPTURE_REASON_BYTES 200

/** What reading may take, where the capture is somebody else's. */
struct call_capture_limits {
	int64_t end_ns;     /* monotonic time; 0: none */
	size_t streams_max; /* RTP streams that are measured; 0: the default */
};

/**
 * Read until the end, or until the capture is damaged.
 * @param limits  NULL: none
 * @param ret     to be freed, also if the capture is damaged
 * @param reason  written with -EBADMSG: where it is damaged
 * @return 0; -EBADMSG (ret has what comes before); -ENOMEM; -ETIME: after
 *         limits->end_ns (ret unchanged)
 */
int call_capture_read(struct source *source,
		      const struct call_capture_limits *limits,
		      struct dialogs **ret,
		      char reason[static CALL_CAPTURE_REASON_BYTES]);

#endif
