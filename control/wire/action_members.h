/**
 * Decoding of the members of an action, for action.c: one file a subject.
 * Internal to control/wire.
 */
#ifndef OFFHOOK_CONTROL_WIRE_ACTION_MEMBERS_H
#define OFFHOOK_CONTROL_WIRE_ACTION_MEMBERS_H

#include "control/wire/decode.h"
#include "control/wire/job.h"

#define WIRE_NAME_BYTES_MAX 255

/** An array of credentials. *ret is untouched where there is none.
 * @return 0; -EINVAL; -ENOMEM */
int wire_credentials_decode(struct decoder *d, json_t *object, const char *name,
			    const struct wire_credential **ret,
			    size_t *ret_count);

/** Where it goes: target, and the transport that overrides the target's.
 * @return 0; -EINVAL; -ENOMEM */
int wire_target_decode(struct decoder *d, json_t *object,
		       struct wire_action *a);

/** A call that names no target goes where its account has registered.
 * @param registered  the last register action so far, or NULL */
void wire_target_inherit(struct wire_action *a,
			 const struct wire_action *registered);

/** event, expires, presence, mwi. a->type is set. @return 0; -EINVAL;
 * -ENOMEM */
int wire_notification_decode(struct decoder *d, json_t *object,
			     struct wire_action *a);

/** challenge and its kin. @return 0; -EINVAL; -ENOMEM */
int wire_challenge_decode(struct decoder *d, json_t *object,
			  struct wire_challenge *ret);

/** How its media gets through NATs: media_nat, ice_lite.
 * @return 0; -EINVAL */
int wire_nat_decode(struct decoder *d, json_t *object, struct wire_action *a);

/** How its media is protected: media_encryption, srtp_suites.
 * @return 0; -EINVAL; -ENOMEM */
int wire_security_decode(struct decoder *d, json_t *object,
			 struct wire_action *a);

/** A name below the agent's prompt folder, never a path. */
bool wire_prompt_name_valid(const char *name);

/** What is heard and said: prompts, dtmf_mode, audio_checks.
 * @return 0; -EINVAL; -ENOMEM */
int wire_audio_decode(struct decoder *d, json_t *object, struct wire_action *a);

/** What does not go together: a packet time that markers do not fit in, a
 * prompt to wait for that is not named. @return 0; -EINVAL */
int wire_audio_check(struct decoder *d, const struct wire_action *a);

/** Suites that DTLS has none of. @return 0; -EINVAL */
int wire_security_check(struct decoder *d, const struct wire_action *a);

/** What would do nothing beside the other members. @return 0; -EINVAL */
int wire_effect_check(struct decoder *d, const struct wire_action *a);

/** Where a stream action sends: dial_destination, local_port.
 * @return 0; -EINVAL */
int wire_stream_decode(struct decoder *d, json_t *object,
		       struct wire_action *a);

/**
 * `client`: native or baresip, which must be able to do all the rest; last.
 * @param registered  the last register action so far, or NULL
 * @return 0; -EINVAL
 */
int wire_client_decode(struct decoder *d, json_t *object,
		       const struct wire_action *registered,
		       struct wire_action *a);

#endif
