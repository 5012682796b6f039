#include "agent/engine/call/call_media.h"
#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int call_dial(struct call *c)
{
	const struct sip_call_options options = call_options(c->action);
	struct headers headers = {.list = NULL};
	struct sip_call_params params = {
		.uri = c->dial_uri,
		.media = media_session_local(c->media),
		.options = &options,
		.replaces = c->dial_replaces,
		.call_h = call_handler,
		.arg = c,
	};
	int err = 0;

	if (custom_headers_vary(c->origin))
		err = custom_headers_make(&headers, c->origin, c->number);
	if (err)
		return err;
	params.headers = headers.list;
	params.header_count = headers.count;
	err = sip_call_dial(&c->sip, c->origin->sip, &params);
	custom_headers_free(&headers);
	return err;
}

/* Dial, at once or when it can be. @return 0; -errno */
static int dial_soon(struct call *c, const char *uri, const char *replaces)
{
	c->dial_uri = strdup(uri);
	c->dial_replaces = replaces ? strdup(replaces) : NULL;
	if (!c->dial_uri || (replaces && !c->dial_replaces))
		return -ENOMEM;
	return media_session_ready(c->media) ? call_dial(c) : 0;
}

int call_place(struct engine *e, const struct wire_action *action,
	       struct account *account, const char *uri, unsigned n)
{
	struct call *c = call_make(e, action, account, true);
	int err;

	if (!c) {
		report_end_job(e->report, "error", "role %s: out of memory",
			       e->job->role);
		return -ENOMEM;
	}
	err = call_media_new(c);
	if (err == -EADDRINUSE) {
		call_unmake(c);
		return err;
	}
	if (err) {
		call_fault(c, "its audio cannot be set up", err);
		call_release(c);
		return err;
	}
	c->number = n;
	err = call_script_fill(c, n);
	if (err) {
		call_fault(c, "its sipclient_actions cannot be filled in", err);
		call_release(c);
		return err;
	}
	err = dial_soon(c, uri, NULL);
	if (err) {
		call_fault(c, "it cannot be dialled", err);
		call_release(c);
		return err;
	}
	call_begun(c);
	if (c->sip)
		call_go_on(c);
	return 0;
}

/* A call of no generator, without a script. */
static int place_extra(struct call **ret, const struct wire_action *action,
		       struct account *account, const char *placed_for,
		       unsigned number, const char *uri, const char *replaces)
{
	struct engine *e = account->engine;
	struct call *c;
	int err;

	if (e->calls_listed >= ENGINE_CALLS_MAX)
		return -EBUSY;
	c = call_make(e, action, account, true);
	if (!c)
		return -ENOMEM;
	(void)str_copy(c->placed_for, sizeof(c->placed_for), placed_for);
	/* The script is the other call's. */
	script_init(&c->script, NULL, 0, &call_script_ops, c);
	c->number = number;
	err = call_media_new(c);
	if (!err)
		err = dial_soon(c, uri, replaces);
	if (err) {
		call_release(c);
		return err;
	}
	call_begun(c);
	*ret = c;
	return 0;
}

int call_place_extra(struct call **ret, struct call *of, const char *uri,
		     const char *replaces)
{
	return place_extra(ret, of->action, of->origin, of->name, of->number,
			   uri, replaces);
}

int call_place_referred(struct call **ret, const struct wire_action *action,
			struct account *account, const char *uri,
			const char *replaces)
{
	return place_extra(ret, action, account, "REFER", 0, uri, replaces);
}
