/**
 * The native user agent's part behind ua.h: see there. Private to sip/.
 * Thread: loop.
 */
#ifndef OFFHOOK_SIP_UA_NATIVE_UA_H
#define OFFHOOK_SIP_UA_NATIVE_UA_H

#include "sip/ua/ua_ops.h"

uint16_t native_ua_port(const struct sip_ua *ua);
struct sip_ua *native_ua_free(struct sip_ua *ua);
int native_account_new(struct sip_account **ret, struct sip_ua *ua,
		       const struct sip_account_params *params);
int native_account_register(struct sip_account *account);
int native_account_unregister(struct sip_account *account);
int native_account_headers(struct sip_account *account,
			   const struct sip_custom_header *headers,
			   size_t count);
void native_account_accept_calls(struct sip_account *account, bool accept);
const char *native_account_username(const struct sip_account *account);
struct sip_account *native_account_free(struct sip_account *account);
void native_account_call_options(struct sip_account *account,
				 const struct sip_call_options *options);
int native_account_request(struct sip_account *account, const char *method,
			   const char *uri, const char *type, const char *body,
			   sip_request_h *handler, void *arg);
int native_call_dial(struct sip_call **ret, struct sip_account *account,
		     const struct sip_call_params *params);
int native_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg);
int64_t native_call_came_ns(const struct sip_call *call);
int native_call_ring(struct sip_call *call);
const struct sip_call *native_call_replaced(const struct sip_call *call);
int native_call_progress(struct sip_call *call, uint16_t code,
			 const struct media_local *media);
int native_call_redirect(struct sip_call *call, uint16_t code,
			 const char *contacts);
int native_call_answer(struct sip_call *call, const struct media_local *media);
int native_call_reject(struct sip_call *call, uint16_t code,
		       const char *reason);
void native_call_hangup(struct sip_call *call);
int native_call_hold(struct sip_call *call);
int native_call_resume(struct sip_call *call);
int native_call_relocate(struct sip_call *call,
			 const struct media_local *media);
int native_call_reinvite(struct sip_call *call);
int native_call_update(struct sip_call *call);
int native_call_request(struct sip_call *call, const char *method,
			const char *type, const char *body);
int native_call_transfer(struct sip_call *call, const char *uri, bool silent);
int native_call_transfer_attended(struct sip_call *call,
				  const struct sip_call *other);
int native_call_refer_progress(struct sip_call *call, uint16_t code,
			       const char *reason);
int native_call_digit(struct sip_call *call, char digit);
int native_call_mute(struct sip_call *call, bool mute);
int native_call_play(struct sip_call *call, const char *path, int64_t ns);
const char *native_call_id(const struct sip_call *call);
const char *native_call_peer(const struct sip_call *call);
struct sip_call *native_call_free(struct sip_call *call);

#endif
