/**
 * Decoding of the members of an action, for action.c: one file a subject.
 * Internal to control/wire.
 */
#ifndef OFFHOOK_CONTROL_WIRE_ACTION_MEMBERS_H
#define OFFHOOK_CONTROL_WIRE_ACTION_MEMBERS_H

#include "control/wire/decode.h"
#include "control/wire/job.h"

#define WIRE_NAME_BYTES_MAX 255

/** Decode an array of credentials. *ret is untouched if it is absent.
 * @return 0; -EINVAL; -ENOMEM */
int wire_credentials_decode(struct decoder *d, json_t *object, const char *name,
			    const struct wire_credential **ret,
			    size_t *ret_count);

/** Decode target, and transport, which overrides that of the target.
 * @return 0; -EINVAL; -ENOMEM */
int wire_target_decode(struct decoder *d, json_t *object,
		       struct wire_action *a);

/** Give a call without a target the target of its account's registration.
 * @param registered  the last register action so far, or NULL */
void wire_target_inherit(struct wire_action *a,
			 const struct wire_action *registered);

/** Decode event, expires, presence and mwi. a->type must be set. @return 0;
 * -EINVAL; -ENOMEM */
int wire_notification_decode(struct decoder *d, json_t *object,
			     struct wire_action *a);

/** Decode challenge, challenge_algorithm and the other members of digest
 * authentication as a server. @return 0; -EINVAL; -ENOMEM */
int wire_challenge_decode(struct decoder *d, json_t *object,
			  struct wire_challenge *ret);

/** Decode NAT traversal of media: media_nat, ice_lite and the servers; media_path.
 * @return 0; -EINVAL */
int wire_nat_decode(struct decoder *d, json_t *object, struct wire_action *a);

/** Decode media_encryption and srtp_suites.
 * @return 0; -EINVAL; -ENOMEM */
int wire_security_decode(struct decoder *d, json_t *object,
			 struct wire_action *a);

/** True for a file name of the agent's prompt folder; false for a path. */
bool wire_prompt_name_valid(const char *name);

/** Decode the members about audio: prompts, dtmf_mode, audio_checks.
 * @return 0; -EINVAL; -ENOMEM */
int wire_audio_decode(struct decoder *d, json_t *object, struct wire_action *a);

/** Refuse audio members that contradict each other: a packet time that does not
 * divide the marker period, assert_audio for a prompt that no member names.
 * @return 0; -EINVAL */
int wire_audio_check(struct decoder *d, const struct wire_action *a);

/** Refuse SRTP suites that DTLS-SRTP has no protection profile for, and what shared
 * sockets have no place for. @return 0; -EINVAL */
int wire_security_check(struct decoder *d, const struct wire_action *a);

/** Refuse members that would have no effect beside the others. @return 0;
 * -EINVAL */
int wire_effect_check(struct decoder *d, const struct wire_action *a);

/** Decode dial_destination and local_port of a stream action.
 * @return 0; -EINVAL */
int wire_stream_decode(struct decoder *d, json_t *object,
		       struct wire_action *a);

/** Whether the action names the client sipp. */
bool wire_sipp_asked(json_t *object);
/** Decode the members of an action with client sipp; refuse those that its scenario
 * decides. @return 0; -EINVAL; -ENOMEM */
int wire_sipp_decode(struct decoder *d, json_t *object, struct wire_action *a);
/** Refuse members of client sipp in an action with another client.
 * @return 0; -EINVAL */
int wire_sipp_absent(struct decoder *d, json_t *object);

/**
 * Decode `client`: native, baresip or sipp, and check that this client supports the
 * other members. Called last.
 * @param registered  the last register action so far, or NULL
 * @return 0; -EINVAL
 */
int wire_client_decode(struct decoder *d, json_t *object,
		       const struct wire_action *registered,
		       struct wire_action *a);

#endif
