#include "sip/baresip/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Tokens of commands, by what waits for their answer; the call's number
 * follows. */
#define TOKEN_DIAL     "dial"
#define TOKEN_CHANGE   "change "
#define TOKEN_TRANSFER "transfer "
#define TOKEN_DIGIT    "digit "

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
	tmr_init(&c->tmr);
	tmr_init(&c->tmr_play);
	list_append(&a->calls, &c->le, c);
	if (!c->local || !c->remote)
		return baresip_call_release(c);
	return c;
}

struct baresip_call *baresip_call_release(struct baresip_call *c)
{
	list_unlink(&c->le);
	tmr_cancel(&c->tmr);
	tmr_cancel(&c->tmr_play);
	if (c->local)
		explicit_bzero(c->local, sizeof(*c->local));
	if (c->remote)
		explicit_bzero(c->remote, sizeof(*c->remote));
	free(c->local);
	free(c->remote);
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
	tmr_cancel(&c->tmr);
	list_unlink(&c->le);
	c->account = NULL;
	/* a transfer that succeeded: baresip ends the call itself */
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
		tmr_start(&c->tmr, BARESIP_END_MS, ending_over, c);
	}
}

void baresip_call_bye_answered(struct baresip_call *c)
{
	c->bye_answered = true;
	if (c->ending && !c->closed)
		finish(c, NULL);
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

static void change_failed(struct baresip_call *c, const char *why)
{
	struct sip_call_info info = {.mono_ns = clock_mono_ns(), .reason = why};

	c->change = BARESIP_CHANGE_NONE;
	baresip_call_emit(c, SIP_CALL_REINVITE_FAIL, &info);
}

void baresip_call_answered(struct baresip_account *a,
			   const struct baresip_message *m)
{
	struct sip_call_info info = {.mono_ns = clock_mono_ns()};
	struct baresip_call *c;

	info.reason = m->text;
	if (baresip_sound_answered(a, m))
		return;
	if (strcmp(m->token, TOKEN_DIAL) == 0) {
		c = m->ok ? NULL : baresip_call_dialled(a);
		if (c)
			baresip_call_close(c, m->text);
	} else if (baresip_token_is(m, TOKEN_CHANGE)) {
		c = m->ok ? NULL : baresip_token_call(a, m, TOKEN_CHANGE);
		if (c && c->change != BARESIP_CHANGE_NONE)
			change_failed(c, m->text);
	} else if (baresip_token_is(m, TOKEN_TRANSFER)) {
		c = m->ok ? NULL : baresip_token_call(a, m, TOKEN_TRANSFER);
		if (c && c->transferring) {
			c->transferring = false;
			baresip_call_emit(c, SIP_CALL_TRANSFER_FAIL, &info);
		}
	} else if (baresip_token_is(m, TOKEN_DIGIT)) {
		c = baresip_token_call(a, m, TOKEN_DIGIT);
		info.method = "DTMF";
		info.code = m->ok ? 200 : 0;
		if (c)
			baresip_call_emit(c, SIP_CALL_ANSWER_TO, &info);
	}
}

int baresip_call_dial(struct sip_call **ret, struct sip_account *account,
		      const struct sip_call_params *params)
{
	struct baresip_account *a = (struct baresip_account *)account;
	char uri[BARESIP_URI_BYTES];
	struct baresip_call *c;
	int err;

	if (params->replaces)
		return -ENOTSUP;
	if (list_count(&a->calls) >= BARESIP_CALLS_MAX)
		return -EBUSY;
	if (strpbrk(params->uri, " \t\r\n<>\""))
		return -EINVAL;
	if (strncasecmp(params->uri, "sip:", 4) == 0)
		err = str_copy(uri, sizeof(uri), params->uri);
	else
		err = str_print(uri, sizeof(uri), "sip:%s%s", params->uri,
				strchr(a->aor, '@')) < 0
			      ? -ENAMETOOLONG
			      : 0;
	if (!err)
		err = baresip_account_start(a);
	if (err)
		return err;
	c = baresip_call_make(a, true);
	if (!c)
		return -ENOMEM;
	c->peer = strdup(uri);
	c->handler = params->call_h;
	c->arg = params->arg;
	err = baresip_process_command(a->process, "dial", uri, TOKEN_DIAL);
	if (err) {
		baresip_call_release(c);
		return err;
	}
	*ret = (struct sip_call *)c;
	return 0;
}

/* What came before somebody listened. */
static void adopted(void *arg)
{
	struct baresip_call *c = arg;
	struct sip_call_info offered = {.mono_ns = c->offered_ns};
	struct sip_call_info rang = {
		.mono_ns = c->rang_ns, .code = 180, .reason = "Ringing"};

	if (c->has_remote)
		baresip_call_emit(c, SIP_CALL_REMOTE_SDP, &offered);
	if (c->rang_ns && !c->closed)
		baresip_call_emit(c, SIP_CALL_RINGING, &rang);
}

int baresip_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg)
{
	struct baresip_call *c = (struct baresip_call *)call;

	c->handler = handler;
	c->arg = arg;
	tmr_start(&c->tmr, 0, adopted, c);
	return 0;
}

int64_t baresip_call_came_ns(const struct sip_call *call)
{
	return ((const struct baresip_call *)call)->offered_ns;
}

int baresip_call_answer(struct sip_call *call, const struct media_local *m)
{
	(void)m; /* baresip answers with what its account says */
	return baresip_call_command((struct baresip_call *)call, "accept", NULL,
				    "accept ");
}

int baresip_call_reject(struct sip_call *call, uint16_t code,
			const char *reason)
{
	struct baresip_call *c = (struct baresip_call *)call;
	int err;

	(void)reason;
	/* whoever refuses a call that it has not taken has no choice */
	if (c->handler && code != 486)
		return -ENOTSUP;
	err = baresip_call_command(c, "hangup", NULL, "hangup ");
	if (err && !c->handler)
		baresip_call_release(c);
	return err;
}

void baresip_call_hangup(struct sip_call *call)
{
	struct baresip_call *c = (struct baresip_call *)call;

	if (c->closed || c->hung_up)
		return;
	c->hung_up = true;
	if (baresip_call_command(c, "hangup", NULL, "hangup ") == 0)
		return;
	/* its INVITE was never seen, or there is no process: it is over */
	baresip_call_close(c, "it was ended before it began");
}

static int change(struct sip_call *call, enum baresip_change wanted,
		  const char *name)
{
	struct baresip_call *c = (struct baresip_call *)call;
	int err;

	if (!c->established)
		return -ENOTCONN;
	if (c->change != BARESIP_CHANGE_NONE)
		return -EBUSY;
	err = baresip_call_command(c, name, NULL, TOKEN_CHANGE);
	if (!err)
		c->change = wanted;
	return err;
}

int baresip_call_hold(struct sip_call *call)
{
	if (((struct baresip_call *)call)->held)
		return -EALREADY;
	return change(call, BARESIP_CHANGE_HOLD, "hold");
}

int baresip_call_resume(struct sip_call *call)
{
	if (!((struct baresip_call *)call)->held)
		return -EALREADY;
	return change(call, BARESIP_CHANGE_RESUME, "resume");
}

int baresip_call_reinvite(struct sip_call *call)
{
	return change(call, BARESIP_CHANGE_REINVITE, "reinvite");
}

int baresip_call_transfer(struct sip_call *call, const char *uri, bool silent)
{
	struct baresip_call *c = (struct baresip_call *)call;
	char whole[BARESIP_URI_BYTES];
	int err;

	if (silent)
		return -ENOTSUP;
	if (!c->established || !c->account)
		return -ENOTCONN;
	if (c->transferring)
		return -EBUSY;
	if (str_print(whole, sizeof(whole),
		      strncasecmp(uri, "sip:", 4) == 0 ? "%s%s" : "sip:%s%s",
		      uri,
		      strncasecmp(uri, "sip:", 4) == 0
			      ? ""
			      : strchr(c->account->aor, '@')) < 0)
		return -ENAMETOOLONG;
	err = baresip_call_command(c, "transfer", whole, TOKEN_TRANSFER);
	c->transferring = !err;
	return err;
}

int baresip_call_digit(struct sip_call *call, char digit)
{
	struct baresip_call *c = (struct baresip_call *)call;
	const char text[2] = {digit, '\0'};

	if (!c->established)
		return -ENOTCONN;
	return baresip_call_command(c, "sndcode", text, TOKEN_DIGIT);
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
