/**
 * Callbacks (docs/reference/callbacks.md): templates, deliveries, and the keys
 * of a run start.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_CALLBACKS_H
#define OFFHOOK_SERVER_API_CALLBACKS_H

#include "control/server/request/request.h"

/* Keys of a start's body that callback_override() reads. */
#define CALLBACK_KEYS                                             \
	"callback_on_failure", "callback_url", "callback_secret", \
		"callback_template_name"

/**
 * Override the test's callback by the keys of a run start. A URL alone switches
 * the callback on.
 * @param test    callback_on_failure and callback are changed
 * @param errors  array; what is wrong is added
 * @return 0; -EIO; -ENOMEM
 */
int callback_override(struct request *req, json_t *test, json_t *errors);

/** A field_check_h: checks the form of a callback's URL; "" is valid. */
void callback_check_url(struct request *req, json_t *value, const char *pointer,
			struct reply *rep);

/** GET /runs/:id/callbacks */
void run_callbacks(struct request *req, struct reply *rep);

#endif
