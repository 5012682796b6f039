/**
 * The calls of a role: placed, taken, or streams without signalling; each is
 * listed until its SIP dialog and its media session are over.
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
	/** The SIP dialog of a call is over: another one may be begun. */
	void (*closed_h)(bool outgoing, void *arg);
	/** A call is fully accounted for. @param generated  a call or stream
	 * action placed it */
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

/** @return 0; -ENOMEM */
int calls_new(struct calls **ret, const struct calls_params *params);
/** Free the list; calls in it stay. @param calls  NULL is allowed */
struct calls *calls_free(struct calls *calls);
/** Set the handlers, before the first call. */
void calls_handle(struct calls *calls, const struct calls_handlers *handlers,
		  void *arg);

/* ---- ceilings ---- */

/**
 * The media sessions a job can hold at a time. A session outlives its SIP call
 * (SIP_CALL_CLOSED) by what is still on its way to it, a fraction of a second;
 * the call's place among max_concurrent_calls is free at once. Room for those:
 * - call: all that were placed within the last second are at most
 *   calls_per_second, and one begun; the others are not above
 *   max_concurrent_calls.
 * - answer: the peers set the rate: as many again as may be up.
 * An answer action stays active beside a call action: their rooms add up.
 * @return 256..CALLS_MAX; calls above it are refused with 486 or wait
 */
uint32_t calls_sessions_wanted(const struct wire_job *job);
/** Whether the media engine has room for one more. */
bool calls_have_room(const struct calls *calls);

/* ---- figures ---- */

/** Calls that are listed: some may be closed and not accounted for yet. */
uint32_t calls_listed(const struct calls *calls);
/** Calls that are begun and not closed. */
uint32_t calls_up(const struct calls *calls, bool outgoing);
/** Calls that hold a port and should not: closed and not accounted for, their
 * BYE not answered, or their planned end is past. */
uint32_t calls_lingering(const struct calls *calls, int64_t now_ns);
/** The parts, 0..1 each, that the calls of an action have lasted of their
 * planned duration, added up. */
double calls_lasted(const struct calls *calls, const struct wire_action *action,
		    int64_t now_ns);
/** Once a second: samples of calls_active and calls_per_sec.
 * @param busy  taken, placed: an action for such calls is active */
void calls_second(struct calls *calls, const bool busy[static 2],
		  int64_t now_ns);
/** A call was never accounted for: the user agents and the media engine cannot
 * be freed. */
bool calls_abandoned(const struct calls *calls);

/* ---- begin ---- */

/** The parameters of an action that the user agent carries out. */
struct sip_call_options calls_options(const struct wire_action *action);
/**
 * Place a call.
 * @param n  its number within its action, from 0
 * @return 0; -EADDRINUSE no port is free, nothing was placed; -errno (reported
 *         as a call that failed, unless it is our own fault: then the job was
 *         ended)
 */
int calls_place(struct calls *calls, const struct wire_action *action,
		struct account *account, const char *uri, unsigned n);
/** Begin a stream without signalling, number n of its action: a call that is up
 * at once. @return as calls_place() */
int calls_place_stream(struct calls *calls, const struct wire_action *action,
		       unsigned n);
/** Take an incoming call; one that replaces another is answered at once. */
void calls_take(struct calls *calls, const struct wire_action *action,
		struct account *account, struct sip_call *sip);
/** Take a call that replaces one of ours (RFC 3891); it gets the action of the
 * replaced one. @return false: it replaces none */
bool calls_take_replacing(struct calls *calls, struct sip_call *sip);
/** A REFER came to an account outside of a dialog: place the call that it asks
 * for, if an answer action is active. */
void calls_referred(struct calls *calls, struct account *account,
		    struct sip_referral *referral,
		    const struct sip_refer_info *info);

/* ---- end ---- */

/** Hang up all calls. */
void calls_hangup(struct calls *calls);
/** The dialogs did not end in time: go on without them. */
void calls_overdue(struct calls *calls);
/** The media engine did not account for them either: report them as they are. */
void calls_abandon(struct calls *calls);

/* ---- media ---- */

struct calls_media_files {
	char prompt[ENGINE_PATH_BYTES * 2];
	char expected[ENGINE_PATH_BYTES * 2];
};

/** The media parameters that the calls of an action have in common: all but
 * NATs and encryption.
 * @param files  what *ret points to, as long as that
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
