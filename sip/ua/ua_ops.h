/**
 * The table of functions of a user agent: the native one (sip/ua) or the second
 * client (sip/baresip). The contract of each function is that of the public
 * function of the same name in ua.h, account.h or call.h; ua_ops.c has those,
 * which call the one in the table of the object they are given.
 *
 * A new public function that takes an account or a call needs an entry here and
 * in ua_ops.c: otherwise it is also called with objects of the other user agent.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_UA_OPS_H
#define OFFHOOK_SIP_UA_UA_OPS_H

#include "sip/object.h"
#include "sip/ua.h"

struct sip_call_ops {
	int (*dial)(struct sip_call **ret, struct sip_account *account,
		    const struct sip_call_params *params);
	int (*adopt)(struct sip_call *call, sip_call_h *handler, void *arg);
	int64_t (*came_ns)(const struct sip_call *call);
	int (*ring)(struct sip_call *call);
	const struct sip_call *(*replaced)(const struct sip_call *call);
	int (*progress)(struct sip_call *call, uint16_t code,
			const struct media_local *media);
	int (*redirect)(struct sip_call *call, uint16_t code,
			const char *contacts);
	int (*answer)(struct sip_call *call, const struct media_local *media);
	int (*reject)(struct sip_call *call, uint16_t code, const char *reason);
	void (*hangup)(struct sip_call *call);
	int (*hold)(struct sip_call *call);
	int (*resume)(struct sip_call *call);
	int (*relocate)(struct sip_call *call, const struct media_local *media);
	int (*reinvite)(struct sip_call *call);
	int (*update)(struct sip_call *call);
	int (*request)(struct sip_call *call, const char *method,
		       const char *type, const char *body);
	int (*transfer)(struct sip_call *call, const char *uri, bool silent);
	int (*transfer_attended)(struct sip_call *call,
				 const struct sip_call *other);
	int (*refer_progress)(struct sip_call *call, uint16_t code,
			      const char *reason);
	int (*digit)(struct sip_call *call, char digit);
	int (*mute)(struct sip_call *call, bool mute);
	int (*play)(struct sip_call *call, const char *path, int64_t ns);
	const char *(*id)(const struct sip_call *call);
	const char *(*peer)(const struct sip_call *call);
	struct sip_call *(*free)(struct sip_call *call);
};

struct sip_ops {
	/* the user agent */
	uint16_t (*port)(const struct sip_ua *ua);
	int (*receive_drops)(const struct sip_ua *ua,
			     uint64_t *ret); /* NULL: unknown */
	struct sip_ua *(*free)(struct sip_ua *ua);
	int (*account_create)(struct sip_account **ret, struct sip_ua *ua,
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
	struct sip_call_ops call;
};

extern const struct sip_ops native_ops;

#endif
