/**
 * A call, for the files of this folder.
 * Thread: the loop's, all of it.
 *
 * call_list.c          the list of calls and its figures
 * call.c               life and end of a call; what the user agent and the
 *                      media engine report of it
 * call_setup.c         how a call begins
 * call_media.c         the media session
 * call_audio.c         assert_audio, play, recordings
 * call_dtmf.c          digits
 * call_nat.c           the path of the media
 * call_security.c      SRTP keys
 * call_script.c        the script's view of the call
 * script_actions.c     script actions that are signalling; transfers
 */
#ifndef OFFHOOK_AGENT_ENGINE_CALL_CALL_INTERNAL_H
#define OFFHOOK_AGENT_ENGINE_CALL_CALL_INTERNAL_H

#include "agent/engine/account/accounts.h"
#include "agent/engine/account/libre.h"
#include "agent/engine/call/calls.h"
#include "agent/engine/call/duration_draw.h"
#include "agent/engine/call/script.h"
#include "base/buf.h"
#include "base/clock.h"

#define CALL_NAME_BYTES   64
#define CALL_REASON_BYTES 1024

struct calls {
	/* constant after calls_new() */
	const struct wire_job *job;
	const struct engine_settings *settings;
	struct report *report;
	struct accounts *accounts;
	struct media_engine *media;
	uint32_t sessions_max;
	struct calls_handlers handlers;
	void *arg;

	struct duration_draw draw;
	struct list list;  /* calls until they are reported */
	uint32_t listed;   /* length of the list */
	unsigned count;    /* for their names */
	uint32_t up[2];    /* taken, placed: begun and not closed */
	uint32_t up_most;  /* both, at a time */
	uint32_t begun[2]; /* since calls_second() */
	int64_t second_ns; /* of the last calls_second() */
	bool abandoned;    /* a call was abandoned */
};

/* Digits that are sent by INFO, one request after the other. */
struct call_info_dtmf {
	struct wire_dtmf order; /* digits "": none is under way */
	size_t at;
	bool answered; /* the INFO of digit `at` */
	int64_t next_ns;
	struct mono_timer tmr;
};

/* An assert_audio under way. */
struct call_listening {
	unsigned id; /* of the order; 0: none is under way */
	unsigned ids;
	struct wire_audio_expect expect;
	int64_t begin_ns;
	int64_t end_ns;
	struct mono_timer tmr;
};

/* An attended transfer under way (script_actions.c). */
struct consult {
	enum consult_phase {
		CONSULT_NONE,
		CONSULT_HOLDING,
		CONSULT_CALLING,
		CONSULT_REFERRING,
		CONSULT_RESUMING,
	} phase;
	struct call *second; /* the other call, while there is one */
	bool holds;          /* the call was put on hold for it */
	bool done;           /* the transfer succeeded */
	char uri[512];
};

/** The first RTP or RTCP packet of a session, not yet reported as a state. */
struct first_packet {
	int64_t mono_ns; /* when it came */
	bool waits;      /* until the call is established */
};

struct call {
	struct le le;
	struct calls *calls;
	const struct wire_action *action;
	char name[CALL_NAME_BYTES];
	char account[CALL_NAME_BYTES * 4];
	bool outgoing;
	unsigned number; /* {{n}}: among the calls of its action, from 0 */
	struct account *origin;
	/* name of the call for whose transfer it was placed; "": none */
	char placed_for[CALL_NAME_BYTES];
	struct call *referrer;         /* call whose REFER placed it; or NULL */
	struct le le_referred;         /* in its `referred` */
	struct list referred;          /* calls whose referrer this one is */
	struct sip_referral *referral; /* REFER outside of calls; or NULL */
	struct consult consult;
	struct call *consults_for; /* whose second call it is, or NULL */
	bool replaces;             /* replaces another one: answer at once */
	struct sip_call *sip;      /* NULL: not dialled yet, or over */
	struct media_session *media;
	/* what waits until STUN and TURN servers have answered */
	char *dial_uri; /* NULL: nothing is to be dialled */
	char *dial_replaces;
	bool progress_waits;
	bool answer_waits;
	bool encrypted;
	const char *suite; /* its name in SDP; valid if encrypted */
	bool media_applied;
	int64_t settled_ns; /* first completed offer/answer; 0: none yet */
	struct first_packet first_rtp;
	struct first_packet first_rtcp;
	bool media_stopped; /* the session reports nothing more */
	bool closed;        /* SIP_CALL_CLOSED came */
	struct script script;
	struct wire_client_action *filled; /* script actions with placeholders
					    * replaced; NULL: there were none */
	int64_t duration_ns; /* planned; INT64_MAX: until the peer ends it */
	struct call_info_dtmf info_dtmf;
	struct mono_timer tmr_script;
	struct mono_timer tmr_duration;
	struct mono_timer tmr_answer;
	struct mono_timer tmr_finish;

	struct call_listening listening;
	struct audio_second heard; /* the last second received */
	unsigned recordings;       /* begun */
	unsigned recorded[2];      /* closed: in, out */
	json_t *audio[2];          /* totals: in, out; NULL: not decoded */

	int64_t invite_ns; /* this and the next: 0: did not happen */
	int64_t first_18x_ns;
	int64_t answered_ns;
	int64_t established_ns;
	int64_t closed_ns;
	int64_t hangup_ns;
	enum sip_call_end end;
	unsigned code;
	char reason[192];
	bool refusal_asked; /* the action or its script refused the call */
	char failure[192];  /* why call_give_up() ended it; "": it did not */
	char warning[SIP_WARNING_BYTES]; /* of a peer that refused it, or "" */
	char *peer; /* set when closed; NULL: out of memory */
	char *call_id;
	struct buf streams[2]; /* in, out: of wire_stream_begin() */
	struct buf sources;    /* of the received stream, until its total */
	json_t *path;          /* NULL: ICE did not end */
};

/** Make a call that has not begun and is not listed. @return NULL: out of memory */
struct call *call_make(struct calls *calls, const struct wire_action *action,
		       struct account *account, bool outgoing);
/** Free the call made last, which did not begin; the next one gets its name. */
void call_unmake(struct call *c);
/** Free a call, and clear the pointers of other calls to it. */
void call_release(struct call *c);
/** List the call and count it. */
void call_begun(struct call *c);
/** The agent itself failed: end the job with outcome error.
 * @param what  what failed @param err  -errno */
void call_fault(struct call *c, const char *what, int err);
/** Send the INVITE; the media's addresses are known. @return 0; -errno */
int call_setup_dial(struct call *c);
/** Answer as its action says, now or when its media is ready. A timer's handler. */
void call_answer_due(void *call);
/**
 * Place a call on behalf of another one, with its action, without a script. It does
 * not count for the generator.
 * @param replaces  value of a Replaces header, or NULL
 * @return 0; -errno
 */
int call_place_extra(struct call **ret, struct call *of, const char *uri,
		     const char *replaces);
/**
 * Place a call for a REFER that an account received outside of calls, likewise.
 * @param action  the account's
 */
int call_place_referred(struct call **ret, struct calls *calls,
			const struct wire_action *action,
			struct account *account,
			const struct sip_refer_info *info);
/** Its media's addresses are known: dial or answer, if that waits for them. */
void call_ready(struct call *c);
/** End a call with `end` failed and this reason. */
void call_give_up(struct call *c, const char *reason);
/** Whether the test asked for the end that it had (docs/reference/conditions.md).
 * Only for closed calls. */
bool call_ended_as_asked(const struct call *c);
/** Hang up, and stop its media. */
void call_end(struct call *c);
/** The dialog did not end in time: end the call without it. */
void call_overdue(struct call *c);
/** The media engine did not report its end either: report the call with what is
 * known. */
void call_abandon(struct call *c);
/** Report the call and free it: SIP and media have ended. A timer's handler. */
void call_finish(void *call);

/* ---- call_media.c ---- */

struct call_media_files {
	char prompt[ENGINE_PATH_BYTES * 2];
	char expected[ENGINE_PATH_BYTES * 2];
};
/** Make its media session. @return 0; -errno as of media_session_new() and
 * engine_prompt() */
int call_media_new(struct call *c);
/** Tap the address where the client receives, if it has media of its own. */
void call_media_tap(struct call *c, const struct sip_call_info *info);
/** Report that the agent could not put media in force, for want of memory or
 * descriptors. @param err  negative errno */
void call_media_flaw(struct call *c, int err);
/** Apply what offer and answer settled.
 * @param at_ns  when the message that settled it was sent or received
 * @return 0; -errno: media cannot be sent as the peer's SDP asks */
int call_media_apply(struct call *c, const struct media_negotiated *negotiated,
		     int64_t at_ns);
/** The first RTP or RTCP packet came: MEDIA_RECORD_FIRST_RTP, _RTCP */
void call_media_first(struct call *c, const struct media_record *record);
/** Keep figures for the call's event: MEDIA_RECORD_SOURCE, _TOTAL */
void call_media_figures(struct call *c, const struct media_record *record);
/** The planned end of an established call with a duration. */
int64_t call_planned_end_ns(const struct call *c);
/** Let the media engine send exactly until the planned end. */
void call_media_deadline(struct call *c);
/** CALL_ESTABLISHED was reported: report the first packets that waited for it. */
void call_media_established(struct call *c);
/** The call ends: report the first packets that still wait. */
void call_media_closed(struct call *c);

/* ---- call_audio.c ---- */

/** Why audio of the action's calls is decoded: bits of enum media_audio; 0: it is
 * not. */
unsigned call_audio_wanted(const struct calls *calls,
			   const struct wire_action *action);
/** Handle MEDIA_RECORD_AUDIO_... */
void call_audio_record(struct call *c, const struct media_record *record);
/** The assert_audio action. @return as the act of script_ops */
int call_audio_assert(struct call *c, const char *argument);

/** The play action. @return as the act of script_ops */
int call_audio_play(struct call *c, const char *name);
/** The mute and unmute actions. @return as the act of script_ops */
int call_audio_mute(struct call *c, bool mute);
/** Handle MEDIA_RECORD_PLAYED. */
void call_audio_played(struct call *c, const struct media_record *record);

/** Whether the action or the job records every call. */
bool call_record_wanted(const struct calls *calls,
			const struct wire_action *action);
/** Begin recording if call_record_wanted(); a failure is reported as an event
 * artifact_lost. */
void call_record_begin_all(struct call *c);
/** The record_start action. @return 0; -errno */
int call_record_begin(struct call *c);
/** The record_stop action. @return 0; -errno */
int call_record_end(struct call *c);
/** A file of a recording was closed: hand it over. */
void call_recorded(struct call *c, const struct media_record *record);
/** With store_artifacts: write the call's event as CALL.json, or report the file as
 * lost. @param text  the event, len bytes of JSON, borrowed */
void call_record_figures(struct call *c, const char *text, size_t len);

/* ---- call_dtmf.c ---- */

/** The dtmf action. @return as the act of script_ops */
int call_dtmf_send(struct call *c, const char *argument);
/** An INFO with a digit was answered. @param refusal  NULL: 2xx */
void call_dtmf_answered(struct call *c, const char *refusal);
/** A digit was sent or received in the RTP stream. */
void call_dtmf_media(struct call *c, const struct media_record *record);
/** A digit was received by INFO. */
void call_dtmf_info(struct call *c, const struct sip_call_info *info);

/* ---- call_security.c ---- */

/** Set the SRTP and DTLS parameters of the session. @return 0; -EINVAL */
int call_security_params(const struct call *c,
			 struct media_session_params *params);
/** Before a re-INVITE: make new keys, if the call is encrypted.
 * @return 0; -errno */
int call_security_rekey(struct call *c);
/** The peer offers a new key: keep what it encrypts with it until the answer is
 * sent and call_media_apply() puts it in force. */
void call_security_expect_key(struct call *c);
/** Offer and answer are complete: report CALL_MENC where encryption is new. */
void call_security_applied(struct call *c,
			   const struct media_negotiated *negotiated,
			   int64_t at_ns);
/** A client with media of its own has agreed on keys: report CALL_MENC. */
void call_security_client(struct call *c, const struct sip_call_info *info);
/** The DTLS handshake ended: report CALL_MENC, or a failed assertion.
 * @return false: the call cannot go on, for this reason */
bool call_security_dtls(struct call *c, const struct media_record *record,
			char reason[static CALL_REASON_BYTES]);

/* ---- call_nat.c ---- */

/** Whether STUN or TURN servers are asked before the SDP of the action's calls. */
bool call_nat_asks(const struct wire_action *action);
/** The servers have answered, or failed; a failure is reported.
 * @return false: the call cannot go on, for this reason */
bool call_nat_gathered(struct call *c, const struct media_record *record,
		       char reason[static CALL_REASON_BYTES]);
/** ICE selected pairs, or failed: report the path. */
void call_nat_path(struct call *c, const struct media_record *record);

/* ---- call_script.c ---- */

extern const struct script_ops call_script_ops;
/**
 * Replace the placeholders in the script's arguments, before it begins.
 * @param n  {{n}}: the number of an outgoing call, or of an incoming call's
 *           account
 * @return 0; -ENOMEM; as of wire_expand_dial()
 */
int call_script_fill(struct call *c, unsigned n);
/** Report a state, and tell the script. @param mono_ns  when
 * @param text  NULL: none */
void call_state(struct call *c, int64_t mono_ns, enum ua_state state,
		const char *text);
/** Run the script, and start the timer for its next run. */
void call_go_on(struct call *c);

/* ---- call.c: reports of the user agent ---- */

/** Apply what offer and answer settled; give up a call whose media cannot be sent
 * as they say. @param at_ns  when it was settled */
void call_apply(struct call *c, const struct media_negotiated *negotiated,
		int64_t at_ns);
/** sip_call_h of every call. */
void call_handler(struct sip_call *sip, enum sip_call_event event,
		  const struct sip_call_info *info, void *arg);
/** The call is established: its duration begins. */
void call_is_up(struct call *c, int64_t mono_ns);
/** The SIP call has ended, for the reason in info. */
void call_closed(struct call *c, const struct sip_call_info *info,
		 const char *text);
/** If SIP and media have ended: call_finish() in a later turn of the loop. */
void call_finish_soon(struct call *c);

/* ---- script_actions.c ---- */

/** The act of script_ops. */
int script_actions_do(const struct wire_client_action *action, void *arg);
/** Whether the script rejects or redirects the call, so that it is not answered. */
bool script_actions_refuses(const struct wire_action *action);
/** A request of script_actions_do() was answered. */
void script_actions_answered(struct call *c, enum sip_call_event event,
			     const struct sip_call_info *info,
			     const char *text);
/** The peer sent a REFER: place the call that it asks for. */
void script_actions_referred(struct call *c, const struct sip_call_info *info);
/** A call placed for a REFER got this response: notify the referrer. */
void script_actions_progress(struct call *c, uint16_t code, const char *reason);

/** Our hold or resume has ended. @param refusal  NULL: accepted */
void attended_transfer_reinvited(struct call *c, const char *refusal);
/** The second call is established: refer the first one's peer to it. */
void attended_transfer_established(struct call *second);
/** One of the two calls has ended. */
void attended_transfer_closed(struct call *closed, const char *text);

#endif
