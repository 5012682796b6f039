/**
 * The sipclient_actions of one call, run in order. The script knows neither
 * SIP nor timers: it is told what the call reached and what time it is, and
 * it says when it wants to be asked again.
 *
 * assert_established  waits until the call is established; the argument is
 *                     the longest wait in ms, without one until it closes
 * assert_state        holds if the call reached the state since it began, or
 *                     does within SCRIPT_STATE_WAIT_NS
 * hold, resume        wait until the call is established, then for the end of
 *                     the re-INVITE
 * wait                ms
 * sndcode, reject, redirect  at once, before the call is answered
 * reinvite, transfer, transfer_attended, message, options  wait until the call is established,
 *                     then for the answer; options with a URI does not wait
 *                     for the call
 * dtmf                waits until the call is established, then for the last
 *                     digit to be sent
 * assert_dtmf         holds if the digits came in a row since the last
 *                     assert_dtmf, or do within SCRIPT_STATE_WAIT_NS (or the ms
 *                     of the argument)
 * assert_audio        waits for CALL_PROGRESS, CALL_RTPESTAB or
 *                     CALL_ESTABLISHED, then until the sound is heard, or the
 *                     silence is over
 * play                waits like assert_audio, then for the end of the file
 * mute, unmute        at once
 * hangup              ends the call
 *
 * An action that does not hold is reported once and ends the script; the call
 * goes on, but for an assert_established, which hangs up.
 * Thread: the owner of the call.
 */
#ifndef OFFHOOK_AGENT_ENGINE_CALL_SCRIPT_H
#define OFFHOOK_AGENT_ENGINE_CALL_SCRIPT_H

#include "base/clock.h"
#include "base/state.h"
#include "control/wire/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64*T1 (RFC 3261 17.1.1.2): no INVITE transaction lasts longer. */
#define SCRIPT_STATE_WAIT_NS (32 * NS_PER_S)

/* Digits kept for assert_dtmf; the oldest make room. */
#define SCRIPT_DIGITS_MAX 256

struct script_ops {
	int (*hold)(void *arg); /* 0: script_reinvite() follows; -errno */
	int (*resume)(void *arg);
	void (*hangup)(void *arg);
	/* Any other one. 0: carried out; 1: script_acted() follows; -errno */
	int (*act)(const struct wire_client_action *action, void *arg);
	/* The action did not hold; text says why. */
	void (*failed)(const struct wire_client_action *action,
		       const char *text, void *arg);
};

struct script {
	/* constant after script_init() */
	const struct wire_client_action *actions;
	size_t count;
	const struct script_ops *ops;
	void *arg;

	size_t next;
	bool begun; /* the action at next was started */
	bool reinvite_done;
	bool acted;
	bool closed;
	bool over;
	int64_t deadline_ns;                /* of the action at next */
	uint64_t reached;                   /* bit a state */
	char digits[SCRIPT_DIGITS_MAX + 1]; /* heard, not asserted yet */
	size_t digit_count;
};

/** @param actions  borrowed for the script's life */
void script_init(struct script *s, const struct wire_client_action *actions,
		 size_t count, const struct script_ops *ops, void *arg);

/** The call reached a state. script_run() shall follow. */
void script_state(struct script *s, enum ua_state state);

/** A digit was received to its end. script_run() shall follow. */
void script_digit(struct script *s, char digit);

/** Our own re-INVITE ended. @param refusal  NULL: it was accepted */
void script_reinvite(struct script *s, const char *refusal);

/** What act() began has ended. @param type  of the action
 * @param refusal  NULL: as it should */
void script_acted(struct script *s, enum wire_script_action type,
		  const char *refusal);

/** Go on as far as possible. @return when to come again; INT64_MAX: not */
int64_t script_run(struct script *s, int64_t now_ns);

/** The call is over: reports the first action that could not be carried
 * out, waits and hang-ups excepted. */
void script_close(struct script *s);

#endif
