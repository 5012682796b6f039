/**
 * Accounts of a user agent: registration, incoming calls, and requests outside
 * of calls. See ua.h for threads and errors.
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
	SIP_SCOPE_NOT_REGISTERS, /* all methods but REGISTER */
	SIP_SCOPE_REGISTERS,
	SIP_SCOPE_CALLS,    /* INVITE, CANCEL, requests within its dialog */
	SIP_SCOPE_PRESENCE, /* SUBSCRIBE, PUBLISH, NOTIFY (not of a REFER) */
	SIP_SCOPE_INVITES,  /* INVITE, re-INVITE */
	SIP_SCOPE_UPDATES,
	SIP_SCOPE_REFERS,
};

/* A header field for requests. It replaces one of that name that the user agent
 * sets itself. Refused are Via, To, Call-ID, CSeq, Route, Record-Route,
 * credentials, and the fields that describe the body; our tag is added to a
 * From. */
struct sip_custom_header {
	const char *name;  /* no CR, LF; a token (RFC 3261 25.1) */
	const char *value; /* no CR, LF */
	enum sip_header_scope scope;
};

enum sip_account_event {
	SIP_ACCOUNT_REGISTERING,
	SIP_ACCOUNT_REGISTER_OK,   /* first 2xx, and after each recovery */
	SIP_ACCOUNT_REGISTER_FAIL, /* final response other than 2xx, or none */
	SIP_ACCOUNT_UNREGISTERED,  /* binding removed, or removing it failed */
	SIP_ACCOUNT_LOST, /* the process of its user agent ended or hangs:
			   * info->reason. Its calls were closed before */
};

struct sip_account_info {
	int64_t mono_ns;
	uint16_t code;      /* SIP status; 0: no response */
	const char *reason; /* reason phrase, or why there was no response */
	int64_t took_ns;    /* from the first REGISTER to this response */
	uint32_t expires_s; /* granted by the registrar */
};
typedef void(sip_account_h)(struct sip_account *account,
			    enum sip_account_event event,
			    const struct sip_account_info *info, void *arg);

typedef void(sip_incoming_h)(struct sip_account *account, struct sip_call *call,
			     void *arg);

/** What the calls of a user agent with its own media offer and accept. */
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
	struct sip_host target;      /* where requests are sent */
	const struct sip_host *more; /* if it fails: these, in this order */
	size_t more_count;
	const struct sip_tls *tls; /* NULL: verified by the system's CAs */
	bool direct; /* send to the request URI; target only names the domain */
	const char *outbound_proxy; /* SIP URI for a Route, may be NULL */
	/* Another account, whose registration this one uses: its service route
	 * (RFC 3608) and flow (RFC 5626). Referenced. NULL: its own */
	struct sip_account *registered;
	uint32_t regexpire_s;                    /* 0: 3600 */
	const struct sip_account_media *media;   /* NULL: no wishes */
	const struct sip_custom_header *headers; /* copied */
	size_t header_count;
	sip_account_h *account_h;
	sip_incoming_h *incoming_h; /* NULL: incoming calls get 480 */
	void *arg;
	char *reason; /* SIP_REASON_BYTES: why a file was refused; or NULL */
};

/** Make an account; sip_account_register() registers it.
 * @param params  copied but for registered
 * @return 0; -EINVAL; -ENOMEM */
int sip_account_new(struct sip_account **ret, struct sip_ua *ua,
		    const struct sip_account_params *params);
/** Register, and refresh before expiry until sip_account_unregister().
 * @return 0; -errno */
int sip_account_register(struct sip_account *account);
/** Remove the binding; SIP_ACCOUNT_UNREGISTERED follows within 5 s.
 * @return 0; -errno */
int sip_account_unregister(struct sip_account *account);
/**
 * Replace the custom headers of the account; for requests from now on.
 * @param headers  copied
 * @return 0; -EINVAL; -ENOMEM; -ENOTSUP this user agent has none
 */
int sip_account_headers(struct sip_account *account,
			const struct sip_custom_header *headers, size_t count);
/** Accept incoming calls from now on, or answer them 480. */
void sip_account_accept_calls(struct sip_account *account, bool accept);
const char *sip_account_username(const struct sip_account *account);
struct sip_account *sip_account_free(struct sip_account *account);

/* ---- requests outside of any dialog ---- */

struct sip_request_info {
	struct sip_account *account;
	int64_t mono_ns;
	uint16_t code; /* 0: no final response */
	const char *reason;
	int64_t took_ns; /* from the first request to the final response, or 0 */
};
typedef void(sip_request_h)(const struct sip_request_info *info, void *arg);
/**
 * Send a request outside of any dialog: OPTIONS or MESSAGE. The handler is called
 * exactly once, unless the account is released before.
 * @param uri   as in sip_call_params; NULL: the account's domain
 * @param type  Content-Type of the body; NULL: there is none
 * @return 0; -EINVAL; -ENOMEM; -errno
 */
int sip_account_request(struct sip_account *account, const char *method,
			const char *uri, const char *type, const char *body,
			sip_request_h *handler, void *arg);

/* ---- REFER of a peer, outside of any dialog (RFC 3515) ---- */

/** The implicit subscription of a REFER: its sender is notified of the progress of
 * the call. */
struct sip_referral;

struct sip_refer_info {
	int64_t mono_ns;      /* the REFER came */
	const char *target;   /* Refer-To URI */
	const char *replaces; /* for sip_call_params, or NULL */
};

/**
 * A REFER was answered 202. The referral is the handler's, who may release it.
 * arg is that of sip_account_params.
 */
typedef void(sip_refer_h)(struct sip_account *account,
			  struct sip_referral *referral,
			  const struct sip_refer_info *info, void *arg);

/**
 * Accept REFERs outside of dialogs from now on.
 * @param handler  NULL: answer them 603, as before this call
 * @return 0; -EOPNOTSUPP
 */
int sip_account_refer(struct sip_account *account, sip_refer_h *handler);
/** NOTIFY the status of the call; a final status (200 and above) ends the
 * subscription. @return 0; -EALREADY a final one was sent; -EINVAL; -errno */
int sip_referral_progress(struct sip_referral *referral, uint16_t code,
			  const char *reason);
/** Also within its handler. @return NULL */
struct sip_referral *sip_referral_free(struct sip_referral *referral);

#endif
