#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Attended transfer (RFC 5589 7): the call is put on hold, a second one is
 * placed, and the peer of the first is referred to the peer of the second.
 */

static void consult_ended(struct call *c, const char *refusal)
{
	c->consult.phase = CONSULT_NONE;
	script_acted(&c->script, WIRE_SCRIPT_TRANSFER_ATTENDED, refusal);
}

static int dial(struct call *c)
{
	struct call *second;
	int err = call_place_extra(&second, c, c->consult.uri, NULL);

	if (err)
		return err;
	second->consults_for = c;
	c->consult.second = second;
	c->consult.phase = CONSULT_CALLING;
	return 1;
}

static int start(struct call *c, const char *uri)
{
	int err;

	if (c->consult.second || c->consult.phase != CONSULT_NONE)
		return -EBUSY;
	err = str_copy(c->consult.uri, sizeof(c->consult.uri), uri);
	if (err)
		return err;
	err = sip_call_hold(c->sip);
	if (err == -EALREADY)
		return dial(c);
	if (err)
		return err;
	c->consult.holds = true;
	c->consult.phase = CONSULT_HOLDING;
	return 1;
}

static int execute(struct call *c)
{
	struct call *second = c->consult.second;
	int err;

	if (!second || !second->sip || second->closed)
		return -ENOTCONN;
	err = sip_call_transfer_attended(c->sip, second->sip);
	if (err)
		return err;
	c->consult.phase = CONSULT_REFERRING;
	return 1;
}

static int give_up(struct call *c)
{
	int err;

	if (c->consult.second)
		call_hangup(c->consult.second);
	if (!c->consult.holds)
		return 0;
	c->consult.holds = false;
	err = sip_call_resume(c->sip);
	if (err)
		return err == -EALREADY ? 0 : err;
	c->consult.phase = CONSULT_RESUMING;
	return 1;
}

int attended_transfer_do(struct call *c, const char *argument)
{
	if (strncmp(argument, "start ", 6) == 0)
		return start(c, argument + 6);
	return strcmp(argument, "exec") == 0 ? execute(c) : give_up(c);
}

void attended_transfer_reinvited(struct call *c, const char *refusal)
{
	enum consult_phase phase = c->consult.phase;
	char text[256];
	int err;

	if (phase != CONSULT_HOLDING && phase != CONSULT_RESUMING)
		return;
	if (refusal) {
		snprintf(text, sizeof(text), "its %s %s",
			 phase == CONSULT_HOLDING ? "hold" : "resume", refusal);
		c->consult.holds = false;
		consult_ended(c, text);
	} else if (phase == CONSULT_RESUMING) {
		consult_ended(c, NULL);
	} else {
		err = dial(c);
		if (err < 0) {
			snprintf(text, sizeof(text),
				 "its call could not be placed: %s",
				 strerror(-err));
			consult_ended(c, text);
		}
	}
}

void attended_transfer_transferred(struct call *c, const char *refusal)
{
	if (c->consult.phase != CONSULT_REFERRING)
		return;
	c->consult.done = !refusal;
	consult_ended(c, refusal);
}

void attended_transfer_established(struct call *second)
{
	struct call *c = second->consults_for;

	if (!c || c->consult.phase != CONSULT_CALLING)
		return;
	c->consult.phase = CONSULT_NONE;
	script_acted(&c->script, WIRE_SCRIPT_TRANSFER_ATTENDED, NULL);
	call_go_on(c);
}

void attended_transfer_closed(struct call *closed, const char *text)
{
	struct call *c = closed->consults_for;
	char why[320];

	/* Without the call there is nobody to connect the second one with;
	 * once the transfer was ordered its peer ends it. */
	if (closed->consult.second &&
	    closed->consult.phase != CONSULT_REFERRING && !closed->consult.done)
		call_hangup(closed->consult.second);
	if (!c)
		return;
	c->consult.second = NULL;
	closed->consults_for = NULL;
	if (c->consult.phase != CONSULT_CALLING)
		return;
	snprintf(why, sizeof(why), "its call was not established: %s",
		 text ? text : "it ended");
	consult_ended(c, why);
	call_go_on(c);
}
