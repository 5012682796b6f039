#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sip/baresip/internal.h"

static uint16_t port(const struct sip_ua *ua)
{
	(void)ua;
	return 0;
}

static struct sip_ua *ua_free(struct sip_ua *ua)
{
	free(ua);
	return NULL;
}

/* ---- functions that baresip 1.0.0 has no command for ---- */

static int account_headers(struct sip_account *account,
			   const struct sip_custom_header *headers,
			   size_t count)
{
	(void)account;
	(void)headers; /* refused when the job is decoded */
	return count ? -ENOTSUP : 0;
}

static void call_options(struct sip_account *account,
			 const struct sip_call_options *options)
{
	(void)account;
	(void)options; /* refused when the job is decoded */
}

static int account_request(struct sip_account *account, const char *method,
			   const char *uri, const char *type, const char *body,
			   sip_request_h *handler, void *arg)
{
	(void)account;
	(void)method;
	(void)uri;
	(void)type;
	(void)body;
	(void)handler;
	(void)arg;
	return -ENOTSUP;
}

static int call_ring(struct sip_call *call)
{
	(void)call; /* baresip sends 180 by itself */
	return 0;
}

static const struct sip_call *call_replaced(const struct sip_call *call)
{
	(void)call;
	return NULL;
}

static int call_progress(struct sip_call *call, uint16_t code,
			 const struct media_local *media)
{
	(void)call;
	(void)code;
	(void)media;
	return -ENOTSUP;
}

static int call_redirect(struct sip_call *call, uint16_t code,
			 const char *contacts)
{
	(void)call;
	(void)code;
	(void)contacts;
	return -ENOTSUP;
}

static int call_relocate(struct sip_call *call, const struct media_local *media)
{
	(void)call;
	(void)media;
	return 0; /* baresip makes its own keys */
}

static int call_update(struct sip_call *call)
{
	(void)call;
	return -ENOTSUP;
}

static int call_request(struct sip_call *call, const char *method,
			const char *type, const char *body)
{
	(void)call;
	(void)method;
	(void)type;
	(void)body;
	return -ENOTSUP;
}

static int call_transfer_attended(struct sip_call *call,
				  const struct sip_call *other)
{
	(void)call;
	(void)other;
	return -ENOTSUP;
}

static int call_refer_progress(struct sip_call *call, uint16_t code,
			       const char *reason)
{
	(void)call;
	(void)code;
	(void)reason;
	return -ENOTSUP;
}

const struct sip_ops baresip_ops = {
	.port = port,
	.free = ua_free,
	.account_create = baresip_account_new,
	.account_register = baresip_account_register,
	.account_unregister = baresip_account_unregister,
	.account_accept_calls = baresip_account_accept_calls,
	.account_username = baresip_account_username,
	.account_free = baresip_account_free,
	.account_call_options = call_options,
	.account_headers = account_headers,
	.account_request = account_request,
	.call.dial = baresip_call_dial,
	.call.adopt = baresip_call_adopt,
	.call.came_ns = baresip_call_came_ns,
	.call.ring = call_ring,
	.call.replaced = call_replaced,
	.call.progress = call_progress,
	.call.redirect = call_redirect,
	.call.answer = baresip_call_answer,
	.call.reject = baresip_call_reject,
	.call.hangup = baresip_call_hangup,
	.call.hold = baresip_call_hold,
	.call.resume = baresip_call_resume,
	.call.relocate = call_relocate,
	.call.reinvite = baresip_call_reinvite,
	.call.update = call_update,
	.call.request = call_request,
	.call.transfer = baresip_call_transfer,
	.call.transfer_attended = call_transfer_attended,
	.call.refer_progress = call_refer_progress,
	.call.digit = baresip_call_digit,
	.call.mute = baresip_call_mute,
	.call.play = baresip_call_play,
	.call.id = baresip_call_id,
	.call.peer = baresip_call_peer,
	.call.free = baresip_call_free,
};

int baresip_usable(const char *bind_addr, char *reason)
{
	struct sa bind;
	int err = baresip_installed(reason);

	if (err)
		return err;
	if (sa_set_str(&bind, bind_addr, 0))
		return -EINVAL;
	if (!sa_is_loopback(&bind))
		return 0;
	snprintf(reason, SIP_REASON_BYTES,
		 "client baresip: it refuses loopback addresses: the agent's "
		 "bind must be another one than %s",
		 bind_addr);
	return -EADDRNOTAVAIL;
}

int baresip_new(struct sip_ua **ret, const struct baresip_params *params)
{
	struct baresip_ua *u;
	int err = baresip_usable(params->bind_addr, params->reason);

	if (err)
		return err;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->object.ops = &baresip_ops;
	(void)str_copy(u->bind_addr, sizeof(u->bind_addr), params->bind_addr);
	u->rtp_min = params->rtp_min;
	u->rtp_max = params->rtp_max;
	u->trace_h = params->trace_h;
	u->arg = params->arg;
	list_init(&u->accounts);
	*ret = (struct sip_ua *)u;
	return 0;
}
