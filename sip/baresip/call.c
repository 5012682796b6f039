/* The calls of a baresip: list, commands, end. */
#include "sip/baresip/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct baresip_call *baresip_call_make(struct baresip_account *a, bool outgoing)
{
	struct baresip_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->object.ops = &baresip_ops;
	c->account = a;
	c->outgoing = outgoing;
	c->number = ++a->call_count;
	c->local = calloc(1, sizeof(*c->local));
	c->remote = calloc(1, sizeof(*c->remote));
	list_append(&a->calls, &c->le, c);
	if (!c->local || !c->remote)
		return baresip_call_release(c);
	return c;
}

struct baresip_call *baresip_call_release(struct baresip_call *c)
{
	list_unlink(&c->le);
	mono_timer_cancel(&c->tmr);
	mono_timer_cancel(&c->tmr_play);
	if (c->local) {
		explicit_bzero(c->local, sizeof(*c->local));
		free(c->local);
	}
	if (c->remote) {
		explicit_bzero(c->remote, sizeof(*c->remote));
		free(c->remote);
	}
	free(c->peer);
	free(c);
	return NULL;
}

struct baresip_call *baresip_call_find(const struct baresip_account *a,
				       const char *id)
{
	struct le *le;

	LIST_FOREACH(&a->calls, le)
	{
		struct baresip_call *c = le->data;

		if (strcmp(c->id, id) == 0)
			return c;
	}
	return NULL;
}

void baresip_call_emit(struct baresip_call *c, enum sip_call_event event,
		       struct sip_call_info *info)
{
	if (!info->reason)
		info->reason = "";
	if (c->handler)
		c->handler((struct sip_call *)c, event, info, c->arg);
}

/* ---- commands ---- */

int baresip_call_command(struct baresip_call *c, const char *name,
			 const char *params, const char *token)
{
	char text[BARESIP_WORD_BYTES];
	int err;

	if (!c->account || !c->account->process || c->closed || c->ending ||
	    !c->id[0])
		return -ENOTCONN;
	snprintf(text, sizeof(text), "%s%u", token, c->number);
	err = baresip_process_command(c->account->process, "callfind", c->id,
				      "callfind");
	return err ? err
		   : baresip_process_command(c->account->process, name, params,
					     text);
}

bool baresip_token_is(const struct baresip_message *m, const char *token)
{
	return strncmp(m->token, token, strlen(token)) == 0;
}

struct baresip_call *baresip_token_call(const struct baresip_account *a,
					const struct baresip_message *m,
					const char *token)
{
	uint64_t number;
	struct le *le;

	if (str_to_u64(m->token + strlen(token), UINT32_MAX, &number))
		return NULL;
	LIST_FOREACH(&a->calls, le)
	{
		struct baresip_call *c = le->data;

		if (c->number == number)
			return c;
	}
	return NULL;
}

/* ---- the end ---- */

static enum sip_call_end end_of(const struct baresip_call *c)
{
	if (c->established || c->answered)
		return c->bye_received ? SIP_END_REMOTE
		       : c->hung_up    ? SIP_END_LOCAL
				       : SIP_END_FAILED;
	if (c->cancelled || (c->outgoing && c->hung_up))
		return SIP_END_CANCELLED;
	return c->code >= 300 ? SIP_END_REJECTED : SIP_END_FAILED;
}

static void finish(struct baresip_call *c, const char *why)
{
	struct sip_call_info info = {
		.mono_ns =
			c->hung_up && c->bye_ns ? c->bye_ns : clock_mono_ns(),
		.end = end_of(c),
		.local = c->hung_up,
		.reason = why ? why : "",
	};

	baresip_sound_end(c);
	c->closed = true;
	mono_timer_cancel(&c->tmr);
	list_unlink(&c->le);
	c->account = NULL;
	/* after a successful transfer baresip ends the call itself */
	if (info.end == SIP_END_FAILED && (c->established || c->answered) &&
	    strstr(info.reason, "transfer"))
		info.end = SIP_END_LOCAL;
	if (info.end == SIP_END_REJECTED) {
		info.code = c->code;
		info.reason = c->reason;
	} else if (info.end != SIP_END_FAILED) {
		info.reason = "";
	}
	if (c->handler)
		baresip_call_emit(c, SIP_CALL_CLOSED, &info);
	else
		baresip_call_release(c);
}

static void ending_over(void *arg)
{
	struct baresip_call *c = arg;

	c->bye_ns = c->bye_ns ? c->bye_ns : clock_mono_ns();
	finish(c, NULL);
}

static bool awaits_answer(const struct baresip_call *c)
{
	return c->account && c->account->process && c->established &&
	       c->hung_up && c->bye_ns && !c->bye_received && !c->bye_answered;
}

void baresip_call_close(struct baresip_call *c, const char *why)
{
	if (c->closed)
		return;
	if (!awaits_answer(c)) {
		finish(c, why);
	} else if (!c->ending) {
		c->ending = true;
		mono_timer_start(&c->tmr, BARESIP_END_MS, ending_over, c);
	}
}

void baresip_call_bye_answered(struct baresip_call *c)
{
	c->bye_answered = true;
	if (c->ending && !c->closed)
		finish(c, NULL);
}

void baresip_call_hangup(struct sip_call *call)
{
	struct baresip_call *c = (struct baresip_call *)call;

	if (c->closed || c->hung_up)
		return;
	c->hung_up = true;
	if (baresip_call_command(c, "hangup", NULL, "hangup ") == 0)
		return;
	/* without INVITE or process there is nothing to end */
	baresip_call_close(c, "it was ended before it began");
}

struct sip_call *baresip_call_free(struct sip_call *call)
{
	struct baresip_call *c = (struct baresip_call *)call;

	c->handler = NULL;
	if (c->account && !c->closed) {
		baresip_call_hangup(
			call); /* baresip_call_close() releases it */
		return NULL;
	}
	baresip_call_release(c);
	return NULL;
}

struct baresip_call *baresip_call_dialled(const struct baresip_account *a)
{
	struct le *le;

	LIST_FOREACH(&a->calls, le)
	{
		struct baresip_call *c = le->data;

		if (c->outgoing && !c->id[0])
			return c;
	}
	return NULL;
}

const char *baresip_call_id(const struct sip_call *call)
{
	return ((const struct baresip_call *)call)->id;
}

const char *baresip_call_peer(const struct sip_call *call)
{
	const struct baresip_call *c = (const struct baresip_call *)call;

	return c->peer ? c->peer : "";
}
