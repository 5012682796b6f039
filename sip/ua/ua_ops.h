/**
 * The user agents behind ua.h: the native one, and others (sip/baresip). What
 * ua.h says of a function holds for each of them; ua_ops.c has the functions,
 * which only choose.
 *
 * A new function of ua.h about an account or a call belongs here and in
 * ua_ops.c, else it takes the object of another user agent for its own.
 * Thread: loop.
 */
#ifndef OFFHOOK_SIP_UA_UA_OPS_H
#define OFFHOOK_SIP_UA_UA_OPS_H

#include "sip/object.h"
#include "sip/ua.h"

struct sip_ops {
	/* the user agent */
	uint16_t (*port)(const struct sip_ua *ua);
	struct sip_ua *(*free)(struct sip_ua *ua);
	int (*account_new)(struct sip_account **ret, struct sip_ua *ua,
			   const struct sip_account_params *params);
	/* accounts */
	int (*account_register)(struct sip_account *account);
	int (*account_unregister)(struct sip_account *account);
	int (*account_headers)(struct sip_account *account,
			       const struct sip_custom_header *headers,
			       size_t count);
	void (*account_accept_calls)(struct sip_account *account, bool accept);
	const char *(*account_username)(const struct sip_account *account);
	struct sip_account *(*account_free)(struct sip_account *account);
	void (*account_call_options)(struct sip_account *account,
				     const struct sip_call_options *options);
	int (*account_request)(struct sip_account *account, const char *method,
			       const char *uri, const char *type,
			       const char *body, sip_request_h *handler,
			       void *arg);
	/* calls */
	int (*call_dial)(struct sip_call **ret, struct sip_account *account,
			 const struct sip_call_params *params);
	int (*call_adopt)(struct sip_call *call, sip_call_h *handler,
			  void *arg);
	int64_t (*call_came_ns)(const struct sip_call *call);
	int (*call_ring)(struct sip_call *call);
	const struct sip_call *(*call_replaced)(const struct sip_call *call);
	int (*call_progress)(struct sip_call *call, uint16_t code,
			     const struct media_local *media);
	int (*call_redirect)(struct sip_call *call, uint16_t code,
			     const char *contacts);
	int (*call_answer)(struct sip_call *call,
			   const struct media_local *media);
	int (*call_reject)(struct sip_call *call, uint16_t code,
			   const char *reason);
	void (*call_hangup)(struct sip_call *call);
	int (*call_hold)(struct sip_call *call);
	int (*call_resume)(struct sip_call *call);
	int (*call_relocate)(struct sip_call *call,
			     const struct media_local *media);
	int (*call_reinvite)(struct sip_call *call);
	int (*call_update)(struct sip_call *call);
	int (*call_request)(struct sip_call *call, const char *method,
			    const char *type, const char *body);
	int (*call_transfer)(struct sip_call *call, const char *uri,
			     bool silent);
	int (*call_transfer_attended)(struct sip_call *call,
				      const struct sip_call *other);
	int (*call_refer_progress)(struct sip_call *call, uint16_t code,
				   const char *reason);
	int (*call_digit)(struct sip_call *call, char digit);
	int (*call_mute)(struct sip_call *call, bool mute);
	int (*call_play)(struct sip_call *call, const char *path, int64_t ns);
	const char *(*call_id)(const struct sip_call *call);
	const char *(*call_peer)(const struct sip_call *call);
	struct sip_call *(*call_free)(struct sip_call *call);
};

extern const struct sip_ops native_ops;

#endif
