/**
 * One call of a role: what is known of it, its life and its end (call.c), and
 * how it begins (call_place.c, call_take.c). What else is done to calls is in
 * call_media.h and call_script.h, file by file.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_CALL_CALL_H
#define OFFHOOK_AGENT_ENGINE_CALL_CALL_H

#include "agent/engine/call/script.h"
#include "agent/engine/libre.h"
#include "base/buf.h"
#include "control/wire/job.h"
#include "media/media.h"
#include "sip/ua.h"

#include <jansson.h>

#define ENGINE_NAME_BYTES 64

struct account;
struct engine;

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

/* An attended transfer under way (attended_transfer.c). */
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
	struct engine *engine;
	const struct wire_action *action;
	char name[ENGINE_NAME_BYTES];
	char account[ENGINE_NAME_BYTES * 4];
	bool outgoing;
	unsigned number; /* {{n}}: of those its action placed, from 0 */
	struct account *origin;
	/* Placed for a transfer of this one, not by a generator; "" else. */
	char placed_for[ENGINE_NAME_BYTES];
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
	const struct srtp_suite_info *suite; /* valid if encrypted */
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
struct call *call_make(struct engine *e, const struct wire_action *action,
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
int call_dial(struct call *c);
/** Answer it as its action says, now or when its media is ready: a timer's
 * handler. */
void call_answer_due(void *call);
/** What the action's parameters ask of the user agent. */
struct sip_call_options call_options(const struct wire_action *action);
/** Place a call, number n of its action. @return 0; -EADDRINUSE no port is free,
 * nothing was placed; -errno (reported as a call that failed, unless it is our
 * own fault: then the job was ended) */
int call_place(struct engine *e, const struct wire_action *action,
	       struct account *account, const char *uri, unsigned n);
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
int call_place_referred(struct call **ret, const struct wire_action *action,
			struct account *account, const char *uri,
			const char *replaces);
/** Take an incoming call; one that replaces another is answered at once. */
void call_take(struct engine *e, const struct wire_action *action,
	       struct account *account, struct sip_call *sip);
/** Its media's addresses are known: dial, or answer, if that waits. */
void call_ready(struct call *c);
/** End a call that cannot go on: it ends failed, with this reason. */
void call_give_up(struct call *c, const char *reason);
/** Whether it ended by what the test asked for (docs/reference/conditions.md). Closed
 * calls only. */
bool call_ended_as_asked(const struct call *c);
void call_hangup(struct call *c);
/** At the end of the job: the dialog did not end in time, go on without it. */
void call_overdue(struct call *c);
/** The media engine did not account for it either: report it as it is. */
void call_abandon(struct call *c);
/** Accounted for: report it and release it. */
void call_finish(void *call);

#endif
