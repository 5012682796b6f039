/* The functions of ua.h, account.h and call.h: each calls the one of the user
 * agent whose object it is given. */
#include <errno.h>

#include "sip/call/native_call.h"
#include "sip/ua/native_ua.h"

/* The object that begins every user agent, account and call. */
static const struct sip_ops *ops_of(const void *object)
{
	return ((const struct sip_object *)object)->ops;
}

const struct sip_ops native_ops = {
	.port = native_ua_port,
	.receive_drops = native_ua_receive_drops,
	.free = native_ua_free,
	.account_create = native_account_new,
	.account_register = native_account_register,
	.account_unregister = native_account_unregister,
	.account_headers = native_account_headers,
	.account_accept_calls = native_account_accept_calls,
	.account_username = native_account_username,
	.account_free = native_account_free,
	.account_call_options = native_account_call_options,
	.account_request = native_account_request,
	.call.dial = native_account_dial,
	.call.adopt = native_call_adopt,
	.call.came_ns = native_call_came_ns,
	.call.ring = native_call_ring,
	.call.replaced = native_call_replaced,
	.call.progress = native_call_progress,
	.call.redirect = native_call_redirect,
	.call.answer = native_call_answer,
	.call.reject = native_call_reject,
	.call.hangup = native_call_hangup,
	.call.hold = native_call_hold,
	.call.resume = native_call_resume,
	.call.relocate = native_call_relocate,
	.call.reinvite = native_call_reinvite,
	.call.update = native_call_update,
	.call.request = native_call_request,
	.call.transfer = native_call_transfer,
	.call.transfer_attended = native_call_transfer_attended,
	.call.refer_progress = native_call_refer_progress,
	.call.digit = native_call_digit,
	.call.mute = native_call_mute,
	.call.play = native_call_play,
	.call.id = native_call_id,
	.call.peer = native_call_peer,
	.call.free = native_call_free,
};

uint16_t sip_ua_port(const struct sip_ua *ua)
{
	return ops_of(ua)->port(ua);
}

int sip_ua_receive_drops(const struct sip_ua *ua, uint64_t *ret)
{
	return ops_of(ua)->receive_drops ? ops_of(ua)->receive_drops(ua, ret)
					 : -ENOTSUP;
}

struct sip_ua *sip_ua_free(struct sip_ua *ua)
{
	return ua ? ops_of(ua)->free(ua) : NULL;
}

int sip_account_new(struct sip_account **ret, struct sip_ua *ua,
		    const struct sip_account_params *params)
{
	return ops_of(ua)->account_create(ret, ua, params);
}

int sip_account_register(struct sip_account *account)
{
	return ops_of(account)->account_register(account);
}

int sip_account_unregister(struct sip_account *account)
{
	return ops_of(account)->account_unregister(account);
}

int sip_account_headers(struct sip_account *account,
			const struct sip_custom_header *headers, size_t count)
{
	return ops_of(account)->account_headers(account, headers, count);
}

void sip_account_accept_calls(struct sip_account *account, bool accept)
{
	ops_of(account)->account_accept_calls(account, accept);
}

const char *sip_account_username(const struct sip_account *account)
{
	return ops_of(account)->account_username(account);
}

struct sip_account *sip_account_free(struct sip_account *account)
{
	return account ? ops_of(account)->account_free(account) : NULL;
}

void sip_account_call_options(struct sip_account *account,
			      const struct sip_call_options *options)
{
	ops_of(account)->account_call_options(account, options);
}

int sip_account_request(struct sip_account *account, const char *method,
			const char *uri, const char *type, const char *body,
			sip_request_h *handler, void *arg)
{
	return ops_of(account)->account_request(account, method, uri, type,
						body, handler, arg);
}

int sip_call_dial(struct sip_call **ret, struct sip_account *account,
		  const struct sip_call_params *params)
{
	return ops_of(account)->call.dial(ret, account, params);
}

int sip_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg)
{
	return ops_of(call)->call.adopt(call, handler, arg);
}

int64_t sip_call_came_ns(const struct sip_call *call)
{
	return ops_of(call)->call.came_ns(call);
}

int sip_call_ring(struct sip_call *call)
{
	return ops_of(call)->call.ring(call);
}

const struct sip_call *sip_call_replaced(const struct sip_call *call)
{
	return ops_of(call)->call.replaced(call);
}

int sip_call_progress(struct sip_call *call, uint16_t code,
		      const struct media_local *media)
{
	return ops_of(call)->call.progress(call, code, media);
}

int sip_call_redirect(struct sip_call *call, uint16_t code,
		      const char *contacts)
{
	return ops_of(call)->call.redirect(call, code, contacts);
}

int sip_call_answer(struct sip_call *call, const struct media_local *media)
{
	return ops_of(call)->call.answer(call, media);
}

int sip_call_reject(struct sip_call *call, uint16_t code, const char *reason)
{
	return ops_of(call)->call.reject(call, code, reason);
}

void sip_call_hangup(struct sip_call *call)
{
	ops_of(call)->call.hangup(call);
}

int sip_call_hold(struct sip_call *call)
{
	return ops_of(call)->call.hold(call);
}

int sip_call_resume(struct sip_call *call)
{
	return ops_of(call)->call.resume(call);
}

int sip_call_relocate(struct sip_call *call, const struct media_local *media)
{
	return ops_of(call)->call.relocate(call, media);
}

int sip_call_reinvite(struct sip_call *call)
{
	return ops_of(call)->call.reinvite(call);
}

int sip_call_update(struct sip_call *call)
{
	return ops_of(call)->call.update(call);
}

int sip_call_request(struct sip_call *call, const char *method,
		     const char *type, const char *body)
{
	return ops_of(call)->call.request(call, method, type, body);
}

int sip_call_transfer(struct sip_call *call, const char *uri, bool silent)
{
	return ops_of(call)->call.transfer(call, uri, silent);
}

int sip_call_transfer_attended(struct sip_call *call,
			       const struct sip_call *other)
{
	return ops_of(call)->call.transfer_attended(call, other);
}

int sip_call_refer_progress(struct sip_call *call, uint16_t code,
			    const char *reason)
{
	return ops_of(call)->call.refer_progress(call, code, reason);
}

int sip_call_digit(struct sip_call *call, char digit)
{
	return ops_of(call)->call.digit(call, digit);
}

int sip_call_mute(struct sip_call *call, bool mute)
{
	return ops_of(call)->call.mute(call, mute);
}

int sip_call_play(struct sip_call *call, const char *path, int64_t ns)
{
	return ops_of(call)->call.play(call, path, ns);
}

const char *sip_call_id(const struct sip_call *call)
{
	return ops_of(call)->call.id(call);
}

const char *sip_call_peer(const struct sip_call *call)
{
	return ops_of(call)->call.peer(call);
}

struct sip_call *sip_call_free(struct sip_call *call)
{
	return call ? ops_of(call)->call.free(call) : NULL;
}
