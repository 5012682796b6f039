/* Commands to baresip about its calls, and their answers. */
#include "sip/baresip/internal.h"

#include <stdlib.h>
#include <string.h>

/* Tokens of commands; the call's number follows. */
#define TOKEN_DIAL     "dial"
#define TOKEN_TRANSFER "transfer "
#define TOKEN_DIGIT    "digit "

/* Each change has its own token: the SIP response may be seen before the answer to
 * the command, which must not be taken for the answer to the next command. */
static const char *const change_tokens[] = {
	[BARESIP_CHANGE_HOLD] = "hold ",
	[BARESIP_CHANGE_RESUME] = "resume ",
	[BARESIP_CHANGE_REINVITE] = "reinvite ",
};

/* @return BARESIP_CHANGE_NONE: not the answer to a change */
static enum baresip_change change_of(const struct baresip_message *m)
{
	static const enum baresip_change changes[] = {
		BARESIP_CHANGE_HOLD,
		BARESIP_CHANGE_RESUME,
		BARESIP_CHANGE_REINVITE,
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (baresip_token_is(m, change_tokens[changes[i]]))
			return changes[i];
	}
	return BARESIP_CHANGE_NONE;
}

static void change_failed(struct baresip_call *c, const char *why)
{
	struct sip_call_info info = {.mono_ns = clock_mono_ns(), .reason = why};

	c->change = BARESIP_CHANGE_NONE;
	baresip_call_emit(c, SIP_CALL_REINVITE_FAIL, &info);
}

/* baresip 1.1 answers "resume" with "Invalid argument" unless another call is active,
 * but sends the re-INVITE. So the re-INVITE counts, which is in the trace before
 * the answer is read. */
static void change_answered(struct baresip_call *c, enum baresip_change change,
			    const struct baresip_message *m)
{
	if (m->ok || c->change != change || c->change_cseq)
		return;
	change_failed(c, m->text);
}

void baresip_call_answered(struct baresip_account *a,
			   const struct baresip_message *m)
{
	struct sip_call_info info = {.mono_ns = clock_mono_ns()};
	enum baresip_change change = change_of(m);
	struct baresip_call *c;

	info.reason = m->text;
	if (baresip_sound_answered(a, m))
		return;
	if (strcmp(m->token, TOKEN_DIAL) == 0) {
		c = m->ok ? NULL : baresip_call_dialled(a);
		if (c)
			baresip_call_close(c, m->text);
	} else if (change != BARESIP_CHANGE_NONE) {
		c = baresip_token_call(a, m, change_tokens[change]);
		if (c)
			change_answered(c, change, m);
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

/* Report the events that came before the call was adopted. */
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
	mono_timer_start(&c->tmr, 0, adopted, c);
	return 0;
}

int64_t baresip_call_came_ns(const struct sip_call *call)
{
	return ((const struct baresip_call *)call)->offered_ns;
}

int baresip_call_answer(struct sip_call *call, const struct media_local *m)
{
	(void)m; /* baresip answers with the settings of its account */
	return baresip_call_command((struct baresip_call *)call, "accept", NULL,
				    "accept ");
}

int baresip_call_reject(struct sip_call *call, uint16_t code,
			const char *reason)
{
	struct baresip_call *c = (struct baresip_call *)call;
	int err;

	(void)reason;
	/* a call that was not adopted may be refused with any code: it
	 * gets 486 */
	if (c->handler && code != 486)
		return -ENOTSUP;
	err = baresip_call_command(c, "hangup", NULL, "hangup ");
	if (err && !c->handler)
		baresip_call_release(c);
	return err;
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
	err = baresip_call_command(c, name, NULL, change_tokens[wanted]);
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
