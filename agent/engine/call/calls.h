/**
 * The calls of a role: outgoing, incoming, or streams without signalling. Each is
 * listed until its SIP dialog and its media session have ended.
 * Thread: the loop's, all of it.
 */
#ifndef OFFHOOK_AGENT_ENGINE_CALL_CALLS_H
#define OFFHOOK_AGENT_ENGINE_CALL_CALLS_H

#include "agent/engine/account/accounts.h"
#include "control/wire/job.h"
#include "sip/ua.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLS_MAX 10000u

struct calls;

/** What the calls of a role report. */
struct calls_handlers {
	/** The SIP dialog of a call has ended: another call may begin. Not of calls
	 * that a script or a REFER placed. */
	void (*closed_h)(bool outgoing, void *arg);
	/** All figures of a call were reported. @param generated  a call or
	 * stream action placed it */
	void (*ended_h)(bool generated, void *arg);
};

/* All borrowed for the life of the calls. */
struct calls_params {
	const struct wire_job *job;
	const struct engine_settings *settings;
	struct report *report;
	struct accounts *accounts;
	struct media_engine *media;
	uint32_t sessions_max; /* of the media engine */
	uint64_t seed;         /* of the durations */
};

/** Make an empty list. @return 0; -ENOMEM */
int calls_new(struct calls **ret, const struct calls_params *params);
/** Free the list, not the calls in it. @param calls  NULL is allowed
 * @return NULL */
struct calls *calls_free(struct calls *calls);
/** Set the handlers, before the first call. */
void calls_handle(struct calls *calls, const struct calls_handlers *handlers,
		  void *arg);

/* ---- ceilings ---- */

/**
 * How many media sessions an engine's share of a job may need at a time. A session outlives its SIP call
 * by a fraction of a second, in which it receives what is still under way; the
 * call's place among max_concurrent_calls is free at SIP_CALL_CLOSED. So there are
 * more sessions than calls:
 * - call action: up to calls_per_second and one more, which were placed within the
 *   last second;
 * - answer action: as many as calls may be up, since the peers set the rate.
 * An answer action stays active beside a call action: both are added.
 * @return 256..CALLS_MAX; calls above it are refused with 486 or wait
 */
uint32_t calls_sessions_wanted(const struct wire_job *job,
			       const struct wire_share *share);
/** Whether the media engine has room for one more. */
bool calls_have_room(const struct calls *calls);

/* ---- figures ---- */

/** Listed calls: some may be closed and not reported yet. */
uint32_t calls_listed(const struct calls *calls);
/** Calls that have begun and are not closed. */
uint32_t calls_up(const struct calls *calls, bool outgoing);
/** Most of them at once, of both directions. */
uint32_t calls_up_most(const struct calls *calls);
/** Calls that hold an RTP port longer than planned: closed and not reported yet,
 * BYE not answered, or the planned end is past. */
uint32_t calls_lingering(const struct calls *calls, int64_t now_ns);
/** Sum over the calls of an action of the part of its planned duration, 0..1, that
 * each has lasted. */
double calls_lasted(const struct calls *calls, const struct wire_action *action,
		    int64_t now_ns);
/** Once a second: samples of calls_active and calls_per_sec.
 * @param busy  taken, placed: an action for such calls is active */
void calls_second(struct calls *calls, const bool busy[static 2],
		  int64_t now_ns);
/** Whether a call was abandoned, so that the user agents and the media engine
 * cannot be freed. */
bool calls_abandoned(const struct calls *calls);

/* ---- begin ---- */

/** The parameters of an action that are for the user agent. */
struct sip_call_options calls_options(const struct wire_action *action);
/**
 * Place a call.
 * @param n  its number within its action, from 0
 * @return 0; -EADDRINUSE no port is free, nothing was placed; -errno: a failed
 *         call was reported, or, for a fault of the agent, the job was ended
 */
int calls_place(struct calls *calls, const struct wire_action *action,
		struct account *account, const char *uri, unsigned n);
/** Begin a stream without signalling, number n of its action: a call that is up
 * at once. @return as calls_place() */
int calls_place_stream(struct calls *calls, const struct wire_action *action,
		       unsigned n);
/** Report a call that a client places or takes by itself (sip/sipp/sipp.h): it is measured
 * by a tap and ends by itself.
 * @return 0; -EBUSY there is no room; -ENOMEM; -errno of media_session_new() */
int calls_observe(struct calls *calls, const struct wire_action *action,
		  struct sip_call *sip, bool outgoing);
/** Take an incoming call. One that replaces another is answered at once. */
void calls_take(struct calls *calls, const struct wire_action *action,
		struct account *account, struct sip_call *sip);
/** Take an incoming call that replaces a listed one (RFC 3891), with the action of
 * the replaced one. @return false: it replaces none */
bool calls_take_replacing(struct calls *calls, struct sip_call *sip);
/** A REFER came to an account outside of a dialog: place the call that it asks
 * for, if an answer action is active. */
void calls_referred(struct calls *calls, struct account *account,
		    struct sip_referral *referral,
		    const struct sip_refer_info *info);

/* ---- end ---- */

/** Hang up all calls. */
void calls_hangup(struct calls *calls);
/** The dialogs did not end in time: end the calls without them. */
void calls_overdue(struct calls *calls);
/** The media engine did not report their ends either: report the calls with what is
 * known. */
void calls_abandon(struct calls *calls);

/* ---- media ---- */

struct calls_media_files {
	char prompt[ENGINE_PATH_BYTES * 2];
	char expected[ENGINE_PATH_BYTES * 2];
};

/** The media parameters that are common to the calls of an action: all but NAT
 * and encryption.
 * @param files  filled; *ret points to it
 * @return 0; -errno as of engine_prompt() */
int calls_media_params(const struct calls *calls, const struct wire_action *a,
		       struct calls_media_files *files,
		       struct media_session_params *ret);
/** Path of a prompt that a script plays. @return as engine_prompt() */
int calls_play_path(const struct calls *calls, const struct wire_action *action,
		    const char *name, char *dst, size_t size);
/** media_record_h: a record of a call's session. @param arg  not used */
void calls_media_record(const struct media_record *record, void *arg);

#endif
