/**
 * Whether a run asks its agents for more calls at once than their hosts are calibrated for
 * (docs/reference/calibration.md).
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_RUN_CALIBRATED_H
#define OFFHOOK_SERVER_RUN_CALIBRATED_H

#include <stddef.h>
#include <stdint.h>

struct plan;
struct store;

#define CALIBRATED_TEXT_BYTES 256

/**
 * Compare a plan with the calibrations of a pool's agents. Which agents take its roles is not
 * known yet: it asks for too much only if no choice of them is calibrated for it. Nothing is
 * said about a pool with an agent that is not calibrated, or without agents.
 * @param text  the sentence; "": it does not ask for too much, or nothing is known
 * @return 0; -EIO; -ENOMEM
 */
int calibrated_check(struct store *store, int64_t pool_id,
		     const struct plan *plan,
		     char text[static CALIBRATED_TEXT_BYTES]);

#endif
