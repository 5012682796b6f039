/**
 * The media of calls.
 * Thread: the loop's.
 *
 * call_media.c     their sessions
 * call_audio.c     what they sound like
 * call_play.c      what their scripts play
 * call_record.c    their recordings
 * call_dtmf.c      their digits
 * call_security.c  their encryption
 * call_nat.c       their way through NATs
 */
#ifndef OFFHOOK_AGENT_ENGINE_CALL_CALL_MEDIA_H
#define OFFHOOK_AGENT_ENGINE_CALL_CALL_MEDIA_H

#include "agent/engine/call/call.h"
#include "agent/engine/engine_settings.h"

/* ---- call_media.c ---- */

struct call_media_files {
	char prompt[ENGINE_PATH_BYTES * 2];
	char expected[ENGINE_PATH_BYTES * 2];
};
/** What the sessions of an action have in common: all but NATs and encryption.
 * @param files  what *ret points to, as long as that
 * @return 0; -errno as of engine_prompt() */
int call_media_params(const struct engine *e, const struct wire_action *a,
		      struct call_media_files *files,
		      struct media_session_params *ret);
/** @return 0; -errno as of media_session_new() and engine_prompt() */
int call_media_new(struct call *c);
/** Where the client of the call receives, if its media are its own. */
void call_media_tap(struct call *c, const struct sip_call_info *info);
/** What offer and answer settled.
 * @param at_ns  what settled it was sent, or came */
void call_media_apply(struct call *c, const struct media_negotiated *negotiated,
		      int64_t at_ns);
/** The planned end of an established call with a duration. */
int64_t call_end_ns(const struct call *c);
/** Send until the planned end, to the packet. */
void call_media_deadline(struct call *c);
void call_media_record(struct call *c, const struct media_record *record);
/** CALL_ESTABLISHED was reported: report what waited for it. */
void call_media_established(struct call *c);
/** The call ends: report what still waits. */
void call_media_closed(struct call *c);

/* ---- call_audio.c ---- */

/** What the media of an action's calls is to be decoded for: enum media_audio. */
unsigned call_audio_wanted(const struct engine *e,
			   const struct wire_action *action);
/** MEDIA_RECORD_AUDIO_... */
void call_audio_record(struct call *c, const struct media_record *record);
/** The assert_audio action. @return as the act of script_ops */
int call_audio_assert(struct call *c, const char *argument);

/* ---- call_play.c ---- */

/** Path of a prompt that a script plays. @return as engine_prompt() */
int engine_play(const struct engine *e, const struct wire_action *action,
		const char *name, char *dst, size_t size);
/** The play action. @return as the act of script_ops */
int call_play(struct call *c, const char *name);
/** The mute and unmute actions. @return as the act of script_ops */
int call_mute(struct call *c, bool mute);
/** MEDIA_RECORD_PLAYED */
void call_played(struct call *c, const struct media_record *record);

/* ---- call_record.c ---- */

/** The action, or the job, wants every call recorded. */
bool call_record_wanted(const struct engine *e,
			const struct wire_action *action);
/** Begin where that is so; what is not to be had is said to the run. */
void call_record_begin_all(struct call *c);
/** The record_start action. @return 0; -errno */
int call_record_begin(struct call *c);
/** And record_stop. */
int call_record_end(struct call *c);
/** A file is closed. */
void call_recorded(struct call *c, const struct media_record *record);
/** With store_artifacts: keep the call's event as CALL.json, or say that it is
 * lost. @param text  the event, len bytes of JSON, borrowed */
void call_record_figures(struct call *c, const char *text, size_t len);

/* ---- call_dtmf.c ---- */

/** The dtmf action. @return as the act of script_ops */
int call_dtmf_send(struct call *c, const char *argument);
/** An INFO of it was answered. @param refusal  NULL: 2xx */
void call_dtmf_answered(struct call *c, const char *refusal);
/** A digit in the audio stream, either way. */
void call_dtmf_media(struct call *c, const struct media_record *record);
/** A digit by INFO. */
void call_dtmf_info(struct call *c, const struct sip_call_info *info);

/* ---- call_security.c ---- */

/** @return 0; -EINVAL */
int call_security_params(const struct call *c,
			 struct media_session_params *params);
/** Before a re-INVITE: new keys, if the call is encrypted. @return 0; -errno */
int call_security_rekey(struct call *c);
/** Offer and answer settled: CALL_MENC where encryption is new. */
void call_security_applied(struct call *c,
			   const struct media_negotiated *negotiated,
			   int64_t at_ns);
/** A client with media of its own has keys. */
void call_security_client(struct call *c, const struct sip_call_info *info);
/** The DTLS handshake ended: CALL_MENC, or the end of the call. */
void call_security_dtls(struct call *c, const struct media_record *record);

/* ---- call_nat.c ---- */

/** Find the addresses of all STUN and TURN servers of the job; may block, so
 * before anything else. @return 0; -errno: the job was ended */
int call_nat_servers(struct engine *e);
/** We ask servers for addresses of its calls before there is SDP. */
bool call_nat_asks(const struct wire_action *action);
/** They have answered. */
void call_nat_gathered(struct call *c, const struct media_record *record);
/** What the action says, with the servers' addresses. */
void call_nat_of(struct media_nat_params *ret, const struct engine *e,
		 const struct wire_action *a);
/** ICE selected pairs: a path event; or failed: the end of the call. */
void call_nat_path(struct call *c, const struct media_record *record);

#endif
