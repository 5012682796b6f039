/**
 * What an agent keeps after it has enrolled, in STATE_DIR/credentials (mode 0600): its
 * id and its secret, and the fingerprint of the controller's certificate.
 * Thread: any.
 */
#ifndef OFFHOOK_AGENT_LINK_IDENTITY_H
#define OFFHOOK_AGENT_LINK_IDENTITY_H

#include "base/key_pin.h"

#define IDENTITY_TEXT_BYTES 256

struct identity {
	char agent_id[IDENTITY_TEXT_BYTES];
	char secret[IDENTITY_TEXT_BYTES];
	char key_pin[KEY_PIN_BYTES]; /* of the controller's certificate; empty:
				      * any that an authority has signed */
};

/**
 * Read the credentials.
 * @return 0; -ENOENT not enrolled yet; -EPERM others may read them; -EBADMSG damaged;
 *         -errno
 */
int identity_load(struct identity *ret, const char *state_dir);

/** Replace the credentials: synced, and atomic in a crash. @return 0; -errno */
int identity_save(const struct identity *identity, const char *state_dir);

/** Delete the credentials: the controller has deleted the agent. */
void identity_forget(const char *state_dir);

#endif
