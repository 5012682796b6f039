/**
 * A call, and what the files of the room do with it.
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
	struct list list;  /* until accounted for */
	uint32_t listed;   /* length of the list */
	unsigned count;    /* for their names */
	uint32_t up[2];    /* taken, placed: begun and not closed */
	uint32_t begun[2]; /* since calls_second() */
	int64_t second_ns; /* of the last calls_second() */
	bool abandoned;    /* a call was never accounted for */
};

/* Digits that go out by INFO, one request after the other. */
struct call_info_dtmf {
	struct wire_dtmf order; /* digits "": none is under way */
	size_t at;
	bool answered; /* the one at `at` */
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

/** Of a session, on its way to be a state of the call. */
struct first_packet {
	int64_t mono_ns; /* it came */
	bool waits;      /* for the call to be established */
};

struct call {
	struct le le;
	struct calls *calls;
	const struct wire_action *action;
	char name[CALL_NAME_BYTES];
	char account[CALL_NAME_BYTES * 4];
	bool outgoing;
	unsigned number; /* {{n}}: of those its action placed, from 0 */
	struct account *origin;
	/* Placed for a transfer of this one, not by a generator; "" else. */
	char placed_for[CALL_NAME_BYTES];
	struct call *referrer; /* wants to know how it goes; NULL: nobody */
	struct le le_referred; /* in its `referred` */
	struct list referred;  /* calls whose referrer this one is */
	struct sip_referral *referral; /* the same, outside of calls */
	struct consult consult;
	struct call *consults_for; /* whose second call it is, or NULL */
	bool replaces;             /* takes another one's place: at once */
	struct sip_call *sip;      /* NULL: not dialled yet, or over */
	struct media_session *media;
	/* what waits until the media's addresses are known */
	char *dial_uri; /* NULL: nothing is to be dialled */
	char *dial_replaces;
	bool progress_waits;
	bool answer_waits;
	bool encrypted;
	const char *suite; /* its name in SDP; valid if encrypted */
	bool media_applied;
	int64_t settled_ns; /* offer and answer first did; 0: they have not */
	struct first_packet first_rtp;
	struct first_packet first_rtcp;
	bool media_stopped; /* nothing is left to come */
	bool closed;        /* SIP_CALL_CLOSED came */
	struct script script;
	struct wire_client_action *filled; /* its actions; NULL: as they are */
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
	json_t *audio[2];          /* totals of in and out; NULL: not decoded */

	int64_t invite_ns; /* 0: did not happen */
	int64_t first_18x_ns;
	int64_t answered_ns;
	int64_t established_ns;
	int64_t closed_ns;
	int64_t hangup_ns;
	enum sip_call_end end;
	unsigned code;
	char reason[192];
	bool refusal_asked; /* the action or its script refused the call */
	char failure[192];  /* why the engine gave it up; "": it did not */
	char warning[SIP_WARNING_BYTES]; /* of a peer that refused it, or "" */
	char *peer; /* set when closed; NULL: out of memory */
	char *call_id;
	struct buf streams[2]; /* in, out: of wire_stream_begin() */
	struct buf sources;    /* of the received stream, until its total */
	json_t *path;          /* NULL: ICE did not end */
};

/** A call not begun, of no list. @return NULL: out of memory */
struct call *call_make(struct calls *calls, const struct wire_action *action,
		       struct account *account, bool outgoing);
/** Release a call that was made last and did not begin: the next one gets its
 * name. */
void call_unmake(struct call *c);
/** Who points to it hears of it. */
void call_release(struct call *c);
/** It counts from now on. */
void call_begun(struct call *c);
/** Our own fault: the job cannot go on truthfully. */
void call_fault(struct call *c, const char *what, int err);
/** Dial, now that it is known what the offer says. @return 0; -errno */
int call_setup_dial(struct call *c);
/** Answer it as its action says, now or when its media is ready: a timer's
 * handler. */
void call_answer_due(void *call);
/**
 * Place a call that belongs to another one, as its action says, without a
 * script; no generator counts it.
 * @param replaces  value of a Replaces header, or NULL
 * @return 0; -errno
 */
int call_place_extra(struct call **ret, struct call *of, const char *uri,
		     const char *replaces);
/**
 * The same for a REFER that came to an account outside of calls.
 * @param action  the account's
 */
int call_place_referred(struct call **ret, struct calls *calls,
			const struct wire_action *action,
			struct account *account,
			const struct sip_refer_info *info);
/** Its media's addresses are known: dial, or answer, if that waits. */
void call_ready(struct call *c);
/** End a call that cannot go on: it ends failed, with this reason. */
void call_give_up(struct call *c, const char *reason);
/** Whether it ended by what the test asked for (docs/reference/conditions.md). Closed
 * calls only. */
bool call_ended_as_asked(const struct call *c);
void call_end(struct call *c);
/** The dialog did not end in time: go on without it. */
void call_overdue(struct call *c);
/** The media engine did not account for it either: report it as it is. */
void call_abandon(struct call *c);
/** Accounted for: report it and release it. */
void call_finish(void *call);

/* ---- call_media.c ---- */

struct call_media_files {
	char prompt[ENGINE_PATH_BYTES * 2];
	char expected[ENGINE_PATH_BYTES * 2];
};
/** @return 0; -errno as of media_session_new() and engine_prompt() */
int call_media_new(struct call *c);
/** Where the client of the call receives, if its media are its own. */
void call_media_tap(struct call *c, const struct sip_call_info *info);
/** Apply what offer and answer settled.
 * @param at_ns  when what settled it was sent, or came
 * @return 0; -errno: media cannot be sent as the peer's SDP asks */
int call_media_apply(struct call *c, const struct media_negotiated *negotiated,
		     int64_t at_ns);
/** The first RTP or RTCP packet came: MEDIA_RECORD_FIRST_RTP, _RTCP */
void call_media_first(struct call *c, const struct media_record *record);
/** Keep figures for the call's event: MEDIA_RECORD_SOURCE, _TOTAL */
void call_media_figures(struct call *c, const struct media_record *record);
/** The planned end of an established call with a duration. */
int64_t call_planned_end_ns(const struct call *c);
/** Send until the planned end, to the packet. */
void call_media_deadline(struct call *c);
/** CALL_ESTABLISHED was reported: report what waited for it. */
void call_media_established(struct call *c);
/** The call ends: report what still waits. */
void call_media_closed(struct call *c);

/* ---- call_audio.c ---- */

/** What the media of an action's calls is to be decoded for: enum media_audio. */
unsigned call_audio_wanted(const struct calls *calls,
			   const struct wire_action *action);
/** MEDIA_RECORD_AUDIO_... */
void call_audio_record(struct call *c, const struct media_record *record);
/** The assert_audio action. @return as the act of script_ops */
int call_audio_assert(struct call *c, const char *argument);

/** The play action. @return as the act of script_ops */
int call_audio_play(struct call *c, const char *name);
/** The mute and unmute actions. @return as the act of script_ops */
int call_audio_mute(struct call *c, bool mute);
/** MEDIA_RECORD_PLAYED */
void call_audio_played(struct call *c, const struct media_record *record);

/** The action, or the job, wants every call recorded. */
bool call_record_wanted(const struct calls *calls,
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
/** The DTLS handshake ended: report CALL_MENC, or an assert that failed.
 * @return false: the call cannot go on, for this reason */
bool call_security_dtls(struct call *c, const struct media_record *record,
			char reason[static CALL_REASON_BYTES]);

/* ---- call_nat.c ---- */

/** We ask servers for addresses of its calls before there is SDP. */
bool call_nat_asks(const struct wire_action *action);
/** The servers have answered, or failed, which is reported.
 * @return false: the call cannot go on, for this reason */
bool call_nat_gathered(struct call *c, const struct media_record *record,
		       char reason[static CALL_REASON_BYTES]);
/** ICE selected pairs, or failed: report the path. */
void call_nat_path(struct call *c, const struct media_record *record);

/* ---- call_script.c ---- */

extern const struct script_ops call_script_ops;
/**
 * Fill in the placeholders of the script's arguments, before it begins.
 * @param n  {{n}}: the number of a call that is placed, of one that is taken
 *           its account's
 * @return 0; -ENOMEM; as of wire_expand_dial()
 */
int call_script_fill(struct call *c, unsigned n);
void call_state(struct call *c, int64_t mono_ns, enum ua_state state,
		const char *text);
/** Let the script go on, now and when it wants to. */
void call_go_on(struct call *c);
/* ---- call.c, what is reported of it ---- */

/** Apply what offer and answer settled; a call whose media cannot be sent so is
 * given up. @param at_ns  when it was settled */
void call_apply(struct call *c, const struct media_negotiated *negotiated,
		int64_t at_ns);
/** sip_call_h of every call. */
void call_handler(struct sip_call *sip, enum sip_call_event event,
		  const struct sip_call_info *info, void *arg);
/** It is up: its duration begins. */
void call_is_up(struct call *c, int64_t mono_ns);
/** The SIP call is over, for the reason in info. */
void call_closed(struct call *c, const struct sip_call_info *info,
		 const char *text);
/** call_finish() in a turn of its own, when SIP and media are over. */
void call_finish_soon(struct call *c);

/* ---- script_actions.c ---- */

/** The act of script_ops. */
int script_actions_do(const struct wire_client_action *action, void *arg);
/** The script rejects or redirects: the call is not answered by itself. */
bool script_actions_refuses(const struct wire_action *action);
/** Answers to what script_actions_do() sent. */
void script_actions_answered(struct call *c, enum sip_call_event event,
			     const struct sip_call_info *info,
			     const char *text);
/** The peer wants a transfer. */
void script_actions_referred(struct call *c, const struct sip_call_info *info);
/** A call placed for a transfer came this far. */
void script_actions_progress(struct call *c, uint16_t code, const char *reason);

/** Our hold or resume ended. @param refusal  NULL: accepted */
void attended_transfer_reinvited(struct call *c, const char *refusal);
void attended_transfer_established(struct call *second);
/** Either call is over. */
void attended_transfer_closed(struct call *closed, const char *text);

#endif
