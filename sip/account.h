/**
 * Accounts of a user agent: they register, take calls, and send and take
 * requests outside of calls. See ua.h for threads and errors.
 */
#ifndef OFFHOOK_SIP_ACCOUNT_H
#define OFFHOOK_SIP_ACCOUNT_H

#include <stddef.h>

#include "media/params.h"
#include "sip/host.h"

struct sip_ua;
struct sip_account;
struct sip_call;

/* Which requests a custom header goes on (API 4.2). */
enum sip_header_scope {
	SIP_SCOPE_ANY,
	SIP_SCOPE_NOT_REGISTERS, /* any but REGISTER */
	SIP_SCOPE_REGISTERS,
	SIP_SCOPE_CALLS,    /* INVITE, CANCEL and all within its dialog */
	SIP_SCOPE_PRESENCE, /* SUBSCRIBE, PUBLISH, NOTIFY (not of a REFER) */
	SIP_SCOPE_INVITES,  /* INVITE, re-INVITE */
	SIP_SCOPE_UPDATES,
	SIP_SCOPE_REFERS,
};

/* It replaces a header of that name that the user agent sets itself. Via, To,
 * Call-ID, CSeq, routes, credentials and what frames the body are refused; a
 * From gets our tag. */
struct sip_custom_header {
	const char *name;  /* no CR, LF; a token (RFC 3261 25.1) */
	const char *value; /* no CR, LF */
	enum sip_header_scope scope;
};

enum sip_account_event {
	SIP_ACCOUNT_REGISTERING,
	SIP_ACCOUNT_REGISTER_OK,   /* first 2xx, and after each recovery */
	SIP_ACCOUNT_REGISTER_FAIL, /* final answer other than 2xx, or none */
	SIP_ACCOUNT_UNREGISTERED,  /* binding removed, or removing it failed */
	SIP_ACCOUNT_LOST, /* its user agent ended, or hangs: info->reason. Its
			   * calls were closed before */
};

struct sip_account_info {
	int64_t mono_ns;
	uint16_t code;      /* SIP status; 0: no answer at all */
	const char *reason; /* reason phrase, or why there was no answer */
	int64_t took_ns;    /* first REGISTER sent to this answer */
	uint32_t expires_s; /* granted by the registrar */
};
typedef void(sip_account_h)(struct sip_account *account,
			    enum sip_account_event event,
			    const struct sip_account_info *info, void *arg);

typedef void(sip_incoming_h)(struct sip_account *account, struct sip_call *call,
			     void *arg);

/** For a user agent with media of its own: what its calls offer and take. */
struct sip_account_media {
	const char
		*codecs[MEDIA_CODECS_MAX]; /* names as in media/audio/codec.h */
	size_t codec_count;                /* 0: PCMU, PCMA */
	uint16_t ptime_ms;
	enum media_encryption encryption;
	enum media_mux rtcp_mux;
	struct media_nat_params nat; /* no ice_lite; TURN by UDP */
};

struct sip_account_params {
	const char *username;
	const char *auth_username;   /* NULL: username */
	const char *password;        /* copied; wiped on release */
	const char *domain;          /* NULL: the target host */
	const char *display_name;    /* may be NULL */
	struct sip_host target;      /* where requests go */
	const struct sip_host *more; /* tried after it, in this order */
	size_t more_count;
	const struct sip_tls *tls; /* NULL: verified by the system's CAs */
	bool direct; /* send to the URI itself; target names the domain alone */
	const char *outbound_proxy; /* SIP URI for a Route, may be NULL */
	/* Of the same user agent: what its registrar said of routes (RFC 3608)
	 * and of its flow (RFC 5626) goes for this one too. Referenced; NULL:
	 * this one's own */
	struct sip_account *registered;
	uint32_t regexpire_s;                    /* 0: 3600 */
	const struct sip_account_media *media;   /* NULL: no wishes */
	const struct sip_custom_header *headers; /* copied */
	size_t header_count;
	sip_account_h *account_h;
	sip_incoming_h *incoming_h; /* NULL: incoming calls get 480 */
	void *arg;
	char *reason; /* SIP_REASON_BYTES, why a file is refused; or NULL */
};

/** @return 0; -EINVAL; -ENOMEM */
int sip_account_new(struct sip_account **ret, struct sip_ua *ua,
		    const struct sip_account_params *params);
/** Register, refresh before expiry, until sip_account_unregister(). */
int sip_account_register(struct sip_account *account);
/** Remove the binding; SIP_ACCOUNT_UNREGISTERED follows in bounded time. */
int sip_account_unregister(struct sip_account *account);
/**
 * Other custom headers from now on: copied, in the place of the account's.
 * @return 0; -EINVAL; -ENOMEM; -ENOTSUP not by this user agent
 */
int sip_account_headers(struct sip_account *account,
			const struct sip_custom_header *headers, size_t count);
/** Take or refuse (480) incoming calls from now on. */
void sip_account_accept_calls(struct sip_account *account, bool accept);
const char *sip_account_username(const struct sip_account *account);
struct sip_account *sip_account_free(struct sip_account *account);

/* ---- requests outside of any dialog ---- */

struct sip_request_info {
	struct sip_account *account;
	int64_t mono_ns;
	uint16_t code; /* 0: no answer */
	const char *reason;
	int64_t took_ns; /* first request sent to final answer; 0: none came */
};
typedef void(sip_request_h)(const struct sip_request_info *info, void *arg);
/**
 * A request outside of any dialog: OPTIONS or MESSAGE. The handler comes
 * exactly once, unless the account is released before.
 * @param uri  as in sip_call_params; NULL: the account's domain
 */
int sip_account_request(struct sip_account *account, const char *method,
			const char *uri, const char *type, const char *body,
			sip_request_h *handler, void *arg);

/* ---- being referred outside of any dialog (RFC 3515) ---- */

/** Its subscription: whoever sent the REFER is told how the call goes. */
struct sip_referral;

struct sip_refer_info {
	int64_t mono_ns;      /* the REFER came */
	const char *target;   /* Refer-To URI */
	const char *replaces; /* for sip_call_params, or NULL */
};

/**
 * A REFER was answered 202. The handler owns the referral, and may release it.
 * arg is that of sip_account_params.
 */
typedef void(sip_refer_h)(struct sip_account *account,
			  struct sip_referral *referral,
			  const struct sip_refer_info *info, void *arg);

/**
 * Take REFERs outside of dialogs from now on.
 * @param handler  NULL: they get 603, as before this call
 * @return 0; -EOPNOTSUPP
 */
int sip_account_refer(struct sip_account *account, sip_refer_h *handler);
/** NOTIFY how the call goes; from 200 on it is the last one.
 * @return 0; -EALREADY it is over; -EINVAL; -errno */
int sip_referral_progress(struct sip_referral *referral, uint16_t code,
			  const char *reason);
/** Also within its handler. @return NULL */
struct sip_referral *sip_referral_free(struct sip_referral *referral);

#endif
