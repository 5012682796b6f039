/**
 * The sipclient_actions of one call, run in order. The script uses neither SIP nor
 * timers: its owner reports states and the time, and script_run() returns when it
 * must be called again.
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
 * An action that fails is reported once and ends the script. The call continues,
 * but after a failed assert_established it is ended.
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

/* Digits kept for assert_dtmf; the oldest are dropped first. */
#define SCRIPT_DIGITS_MAX 256

struct script_ops {
	int (*hold)(void *arg); /* 0: script_reinvite() follows; -errno */
	int (*resume)(void *arg);
	void (*hangup)(void *arg);
	/* Any other action. 0: done; 1: script_acted() follows; -errno */
	int (*act)(const struct wire_client_action *action, void *arg);
	/* The action failed. @param text  why */
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
	char digits[SCRIPT_DIGITS_MAX + 1]; /* received, not asserted yet */
	size_t digit_count;
};

/** Set a script to its beginning. @param actions  borrowed for its life */
void script_init(struct script *s, const struct wire_client_action *actions,
		 size_t count, const struct script_ops *ops, void *arg);

/** The call entered a state. Call script_run() afterwards. */
void script_state(struct script *s, enum ua_state state);

/** A digit was received to its end. Call script_run() afterwards. */
void script_digit(struct script *s, char digit);

/** Our own re-INVITE has ended. @param refusal  NULL: accepted */
void script_reinvite(struct script *s, const char *refusal);

/** An action for which act() returned 1 has ended. @param type  of the action
 * @param refusal  NULL: it succeeded */
void script_acted(struct script *s, enum wire_script_action type,
		  const char *refusal);

/** Run as many actions as possible now. @param now_ns  monotonic
 * @return when to call it again, monotonic ns; INT64_MAX: not by time */
int64_t script_run(struct script *s, int64_t now_ns);

/** The call has ended: report the first action that was not carried out, other than
 * wait and hangup. */
void script_close(struct script *s);

#endif
