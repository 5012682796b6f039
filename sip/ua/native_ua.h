/**
 * The native user agent's functions in its table of operations (ua_ops.h):
 * user agent and accounts. sip/call/native_call.h has those of calls. Each does
 * what ua.h or account.h says of the function of that name.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_NATIVE_UA_H
#define OFFHOOK_SIP_UA_NATIVE_UA_H

#include "sip/ua/ua_ops.h"

uint16_t native_ua_port(const struct sip_ua *ua);
int native_ua_receive_drops(const struct sip_ua *ua, uint64_t *ret);
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
int native_account_dial(struct sip_call **ret, struct sip_account *account,
			const struct sip_call_params *params);
int native_account_request(struct sip_account *account, const char *method,
			   const char *uri, const char *type, const char *body,
			   sip_request_h *handler, void *arg);

#endif
