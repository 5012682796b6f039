#include "agent/engine/internal.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNREGISTERED_USER "offhook"

static void account_handler(struct sip_account *sip,
			    enum sip_account_event event,
			    const struct sip_account_info *info, void *arg);

const char *account_name(const struct account *a)
{
	return a->credential ? a->credential->username : UNREGISTERED_USER;
}

static const char *transport_name(enum wire_transport t)
{
	return t == WIRE_UDP ? "UDP" : t == WIRE_TCP ? "TCP" : "TLS";
}

static enum sip_transport sip_transport_of(enum wire_transport t)
{
	return t == WIRE_UDP   ? SIP_TRANSPORT_UDP
	       : t == WIRE_TCP ? SIP_TRANSPORT_TCP
			       : SIP_TRANSPORT_TLS;
}

/** "1002 at 127.0.0.1:5070 over UDP" */
static void account_where(const struct account *a, char *dst, size_t size)
{
	const struct wire_host *h = a->origin->hosts;
	char port[8] = "";

	if (a->origin->host_count == 0) {
		snprintf(dst, size, "%s", account_name(a));
		return;
	}
	if (h->port)
		snprintf(port, sizeof(port), ":%u", h->port);
	snprintf(dst, size, "%s at %s%s over %s", account_name(a), h->host,
		 port, transport_name(h->transport));
}

static enum sip_header_scope scope_of(const char *message_type)
{
	static const struct {
		const char *name;
		enum sip_header_scope scope;
	} scopes[] = {
		{"registers", SIP_SCOPE_REGISTERS},
		{"calls", SIP_SCOPE_CALLS},
		{"presence", SIP_SCOPE_PRESENCE},
		{"invites", SIP_SCOPE_INVITES},
		{"updates", SIP_SCOPE_UPDATES},
		{"refers", SIP_SCOPE_REFERS},
	};

	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		if (strcmp(scopes[i].name, message_type) == 0)
			return scopes[i].scope;
	}
	return SIP_SCOPE_ANY;
}

struct headers {
	struct sip_custom_header *list;
	size_t count;
	size_t size;
};

/**
 * Append the headers of an action. Those of an answer or call action never go
 * on a REGISTER, which is another action's request.
 */
static int headers_append(struct headers *h, const struct wire_action *action)
{
	bool registers = action->type == WIRE_ACTION_REGISTER;

	for (size_t i = 0; i < action->header_count; i++) {
		const struct wire_header *from = &action->headers[i];
		enum sip_header_scope scope = scope_of(from->message_type);

		if (!registers && scope == SIP_SCOPE_REGISTERS)
			continue;
		if (!registers && scope == SIP_SCOPE_ANY)
			scope = SIP_SCOPE_NOT_REGISTERS;
		if (h->count == h->size) {
			size_t size = h->size + WIRE_HEADERS_MAX;
			void *list = realloc(h->list, size * sizeof(*h->list));

			if (!list)
				return -ENOMEM;
			h->list = list;
			h->size = size;
		}
		h->list[h->count++] = (struct sip_custom_header){
			.name = from->name,
			.value = from->value,
			.scope = scope,
		};
	}
	return 0;
}

/**
 * The headers of an account: its action's, and for a registered account those
 * of the job's answer actions too, since it is the one that takes the calls.
 */
static int headers_build(const struct engine *e,
			 const struct wire_action *action, struct headers *h)
{
	int err = headers_append(h, action);

	if (action->type != WIRE_ACTION_REGISTER)
		return err;
	for (size_t s = 0; !err && s < e->job->step_count; s++) {
		const struct wire_step *step = &e->job->steps[s];

		for (size_t i = 0; !err && i < step->action_count; i++) {
			if (step->actions[i].type == WIRE_ACTION_ANSWER)
				err = headers_append(h, &step->actions[i]);
		}
	}
	return err;
}

static struct sip_host host_of(const struct wire_host *h)
{
	return (struct sip_host){
		.host = h->host,
		.port = h->port,
		.transport = sip_transport_of(h->transport),
	};
}

static int account_sip_new(struct account *a, char reason[SIP_REASON_BYTES])
{
	const struct wire_action *action = a->origin;
	const struct wire_credential *c = a->credential;
	struct sip_host more[WIRE_HOSTS_MAX];
	const struct engine_settings *s = &a->engine->settings;
	const struct sip_tls tls = {
		.verify = action->tls.verify,
		.ca = action->tls.ca,
		.server_name = action->tls.server_name,
		.cert_file = s->tls_certificate[0] ? s->tls_certificate : NULL,
		.key_file = s->tls_key[0] ? s->tls_key : NULL,
	};
	struct headers headers = {0};
	struct sip_account_params params = {
		.username = account_name(a),
		.auth_username = c ? c->auth_username : NULL,
		.password = c ? c->password : NULL,
		.domain = c && c->domain ? c->domain : action->domain,
		.display_name = c ? c->display_name : NULL,
		.outbound_proxy = action->outbound_proxy,
		.tls = &tls,
		.regexpire_s = action->regexpire_s,
		.account_h = account_handler,
		.incoming_h = answering_incoming,
		.arg = a,
		.reason = reason,
	};
	int err;

	if (action->host_count) {
		params.target = host_of(&action->hosts[0]);
		/* One that fails leads to the next (RFC 3263 4.3). */
		for (size_t i = 1; i < action->host_count; i++)
			more[params.more_count++] = host_of(&action->hosts[i]);
		params.more = more;
	} else {
		/* Takes calls: what it sends goes where its URI leads. */
		params.target.host = a->engine->settings.bind;
		params.direct = true;
	}
	err = headers_build(a->engine, action, &headers);
	params.headers = headers.list;
	params.header_count = headers.count;
	if (!err)
		err = sip_account_new(&a->sip, a->engine->ua, &params);
	free(headers.list);
	if (!err)
		sip_account_accept_calls(a->sip, false);
	return err;
}

struct account *account_new(struct engine *e, const struct wire_action *action,
			    const struct wire_credential *credential,
			    int *ret_err)
{
	struct account *a = calloc(1, sizeof(*a));
	char where[WIRE_REASON_BYTES];
	char reason[SIP_REASON_BYTES] = "";

	*ret_err = -ENOMEM;
	if (!a)
		return NULL;
	a->engine = e;
	a->origin = action;
	a->credential = credential;
	*ret_err = account_sip_new(a, reason);
	if (*ret_err) {
		account_where(a, where, sizeof(where));
		engine_end(e, "error", "role %s: account %s: %s", e->job->role,
			   where, reason[0] ? reason : strerror(-*ret_err));
		free(a);
		return NULL;
	}
	list_append(&e->accounts, &a->le, a);
	return a;
}

int accounts_make(struct engine *e, const struct wire_action *action)
{
	int err = 0;

	if (action->credential_count == 0)
		account_new(e, action, NULL, &err);
	for (size_t i = 0; !err && i < action->credential_count; i++)
		account_new(e, action, &action->credentials[i], &err);
	return err;
}

unsigned accounts_in_state(const struct engine *e, enum account_state state)
{
	unsigned count = 0;
	struct le *le;

	LIST_FOREACH(&e->accounts, le)
	{
		const struct account *a = le->data;

		count += a->state == state;
	}
	return count;
}

static void register_refused(struct account *a,
			     const struct sip_account_info *info)
{
	struct engine *e = a->engine;
	char where[WIRE_REASON_BYTES / 2];

	account_where(a, where, sizeof(where));
	if (info->code)
		engine_end(e, "failed",
			   "role %s: registration of %s was refused: %u %s",
			   e->job->role, where, info->code, info->reason);
	else
		engine_end(e, "failed",
			   "role %s: registration of %s failed: %s",
			   e->job->role, where, info->reason);
}

/** Start as many registrations as may run at a time. */
static void register_more(struct engine *e)
{
	unsigned trying = accounts_in_state(e, ACCOUNT_TRYING);
	struct le *le;

	LIST_FOREACH(&e->accounts, le)
	{
		struct account *a = le->data;
		int err;

		if (a->state != ACCOUNT_WAITING)
			continue;
		if (trying >= ENGINE_REGISTERS_MAX)
			return;
		a->state = ACCOUNT_TRYING;
		err = sip_account_register(a->sip);
		if (err) {
			const struct sip_account_info info = {
				.reason = strerror(-err),
			};

			a->state = ACCOUNT_IDLE;
			register_refused(a, &info);
			return;
		}
		trying++;
	}
	if (trying == 0)
		steps_done(e);
}

void accounts_register(struct engine *e, const struct wire_action *action)
{
	for (size_t i = 0; i < action->credential_count; i++) {
		struct account *a;
		int err;

		a = account_new(e, action, &action->credentials[i], &err);
		if (!a)
			return;
		a->state = ACCOUNT_WAITING;
		a->registers = true;
	}
	register_more(e);
}

static void report_register(struct account *a, bool ok,
			    const struct sip_account_info *info)
{
	const struct wire_event_register r = {
		.account = account_name(a),
		.ok = ok,
		.code = info->code,
		.reason = info->reason,
		.ms = (double)info->took_ns / (double)NS_PER_MS,
		.expires_s = info->expires_s,
	};
	struct engine *e = a->engine;
	char text[192];

	snprintf(text, sizeof(text), "%u %s", info->code, info->reason);
	report_state(e, info->mono_ns, ok ? UA_REGISTER_OK : UA_REGISTER_FAIL,
		     account_name(a), NULL, info->code ? text : info->reason);
	report_event(e, wire_event_register(report_time(e, info->mono_ns), &r));
	if (ok)
		report_sample(e, true, MEASURE_sip_register_time, info->mono_ns,
			      r.ms);
}

static void account_registered(struct account *a)
{
	struct engine *e = a->engine;
	bool first = a->state == ACCOUNT_TRYING;

	/* A removal may be under way already. */
	if (a->state != ACCOUNT_REMOVING)
		a->state = ACCOUNT_REGISTERED;
	if (first && engine_working(e))
		register_more(e);
}

static void account_refused(struct account *a,
			    const struct sip_account_info *info)
{
	bool first = a->state == ACCOUNT_TRYING;

	if (first) {
		a->state = ACCOUNT_IDLE;
		register_refused(a, info);
		engine_end_check(a->engine);
	}
	/* A refresh that failed is an event: the user agent goes on trying and
	 * the judge knows. */
}

static void account_removed(struct account *a)
{
	struct engine *e = a->engine;

	a->state = ACCOUNT_IDLE;
	if (accounts_in_state(e, ACCOUNT_REMOVING))
		return;
	if (engine_working(e))
		steps_done(e);
	else
		engine_end_check(e);
}

static void account_handler(struct sip_account *sip,
			    enum sip_account_event event,
			    const struct sip_account_info *info, void *arg)
{
	struct account *a = arg;

	(void)sip;
	switch (event) {
	case SIP_ACCOUNT_REGISTERING:
		report_state(a->engine, info->mono_ns, UA_REGISTERING,
			     account_name(a), NULL, NULL);
		break;
	case SIP_ACCOUNT_REGISTER_OK:
		report_register(a, true, info);
		account_registered(a);
		break;
	case SIP_ACCOUNT_REGISTER_FAIL:
		report_register(a, false, info);
		account_refused(a, info);
		break;
	case SIP_ACCOUNT_UNREGISTERED:
		account_removed(a);
		break;
	}
}

void accounts_unregister(struct engine *e)
{
	int64_t now_ns = clock_mono_ns();
	struct le *le;

	LIST_FOREACH(&e->accounts, le)
	{
		struct account *a = le->data;
		bool bound = a->state == ACCOUNT_REGISTERED ||
			     a->state == ACCOUNT_TRYING;

		if (a->state == ACCOUNT_WAITING)
			a->state = ACCOUNT_IDLE;
		if (!bound)
			continue;
		report_state(e, now_ns, UA_UNREGISTERING, account_name(a), NULL,
			     NULL);
		if (sip_account_unregister(a->sip) == 0)
			a->state = ACCOUNT_REMOVING;
		else
			a->state = ACCOUNT_IDLE;
	}
	if (engine_working(e) && accounts_in_state(e, ACCOUNT_REMOVING) == 0)
		steps_done(e);
}

void accounts_free(struct engine *e)
{
	while (e->accounts.head) {
		struct account *a = e->accounts.head->data;

		list_unlink(&a->le);
		sip_account_free(a->sip);
		free(a);
	}
}
