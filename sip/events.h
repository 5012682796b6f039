/**
 * Event notification (RFC 6665) and publication (RFC 3903): presence (RFC
 * 3856) and message waiting (RFC 3842), as subscriber, notifier and publisher.
 * Results are reported through handlers. For accounts of a user agent other than
 * the native one the functions return -EOPNOTSUPP.
 *
 * Thread: all functions and handlers run on the loop thread.
 */
#ifndef OFFHOOK_SIP_EVENTS_H
#define OFFHOOK_SIP_EVENTS_H

#include "sip/account.h"
#include "sip/body/mwi.h"
#include "sip/body/presence.h"

enum sip_package {
	SIP_PACKAGE_PRESENCE,
	SIP_PACKAGE_MWI, /* message-summary */
	SIP_PACKAGES
};

/** "presence", "message-summary" */
const char *sip_package_name(enum sip_package package);

/** State that is published, or notified to watchers: one of them, or both. */
struct sip_event_state {
	const struct sip_presence *presence;
	const struct sip_mwi *mwi;
};

/* ---- we subscribe ---- */

struct sip_subscription;

enum sip_subscription_event {
	SIP_SUBSCRIBED,     /* 2xx to the first SUBSCRIBE */
	SIP_SUBSCRIBE_FAIL, /* refused, or no NOTIFY came; the last event */
	SIP_NOTIFIED,       /* a NOTIFY that we answered 200 */
	SIP_UNSUBSCRIBED,   /* ended, by us or the notifier; the last event */
};

struct sip_subscription_info {
	int64_t mono_ns;
	uint16_t code;      /* SIP status; 0: none */
	const char *reason; /* never NULL; of SIP_UNSUBSCRIBED: why */
	uint32_t expires_s; /* granted */
	const char *state;  /* SIP_NOTIFIED: active, pending, ... */
	/* SIP_NOTIFIED with a body: one of them is set */
	const struct sip_presence *presence;
	const struct sip_mwi *mwi;
};

typedef void(sip_subscription_h)(struct sip_subscription *subscription,
				 enum sip_subscription_event event,
				 const struct sip_subscription_info *info,
				 void *arg);

struct sip_subscribe_params {
	enum sip_package package;
	const char *uri;    /* as in sip_call_params; NULL: the account's own */
	uint32_t expires_s; /* 0: fetch once (RFC 6665 4.4.3) */
	sip_subscription_h *handler;
	void *arg;
};

/**
 * Subscribe, refresh before expiry, and subscribe again if the notifier ends it
 * with the reason deactivated, timeout or probation (RFC 6665 4.1.3), until
 * sip_unsubscribe(). There is one dialog: NOTIFYs of other branches are answered
 * 481 (RFC 3856 6.10). The handler is never called before this returns.
 * @return 0; -EINVAL; -ENOMEM; -errno
 */
int sip_subscribe(struct sip_subscription **ret, struct sip_account *account,
		  const struct sip_subscribe_params *params);
/** End it: SIP_UNSUBSCRIBED follows within 5 s. */
void sip_unsubscribe(struct sip_subscription *subscription);
/** Also within its handler. @return NULL */
struct sip_subscription *sip_subscription_free(
	struct sip_subscription *subscription);

/* ---- unsolicited NOTIFY of message waiting ---- */

/** A NOTIFY that we answered 200: info->state is "unsolicited". arg is that of
 * sip_account_params. */
typedef void(sip_mwi_h)(struct sip_account *account,
			const struct sip_subscription_info *info, void *arg);

/**
 * Accept NOTIFYs of message-summary without a subscription, as PBXs send them to
 * registered contacts (RFC 3842 does not define them; by RFC 6665 4.1.3 they are
 * refused), while the account is registered or registering. All other NOTIFYs
 * outside of dialogs are answered 481.
 * @param handler  NULL: answer these 481, too, as before this call
 * @return 0; -EOPNOTSUPP
 */
int sip_account_mwi(struct sip_account *account, sip_mwi_h *handler);

/* ---- we publish ---- */

struct sip_publication;

enum sip_publication_event {
	SIP_PUBLISHED,    /* 2xx: the compositor has the state */
	SIP_PUBLISH_FAIL, /* PUBLISH or a refresh was refused */
	SIP_UNPUBLISHED,  /* removed, or no response to the removal */
};

struct sip_publication_info {
	int64_t mono_ns;
	uint16_t code; /* 0: no response */
	const char *reason;
	uint32_t expires_s; /* granted */
};

typedef void(sip_publication_h)(struct sip_publication *publication,
				enum sip_publication_event event,
				const struct sip_publication_info *info,
				void *arg);

/**
 * Publish the account's state, and refresh it before it expires, with entity
 * tags; after 412 it is published anew, after 423 with the longer interval (RFC
 * 3903 section 4).
 * @param state      exactly one of it is set, copied: the event package
 * @param expires_s  asked for, > 0
 * @return 0; -EINVAL; -ENOMEM; -errno
 */
int sip_publish(struct sip_publication **ret, struct sip_account *account,
		const struct sip_event_state *state, uint32_t expires_s,
		sip_publication_h *handler, void *arg);
/** Publish another state of the same package. @return 0; -EINVAL; -EBUSY a
 * request is under way; -errno */
int sip_publication_modify(struct sip_publication *publication,
			   const struct sip_event_state *state);
/** Remove it: SIP_UNPUBLISHED follows within 5 s. */
void sip_unpublish(struct sip_publication *publication);
/** Also within its handler. @return NULL */
struct sip_publication *sip_publication_free(
	struct sip_publication *publication);

/* ---- we are the notifier ---- */

enum sip_watcher_event {
	SIP_WATCHER_NEW,      /* a subscription was accepted */
	SIP_WATCHER_NOTIFIED, /* a NOTIFY was answered 2xx */
	SIP_WATCHER_GONE,     /* it ended; info->reason says why */
};

struct sip_watcher_info {
	int64_t mono_ns;
	enum sip_package package;
	const char *uri;    /* who watches */
	uint16_t code;      /* response to our NOTIFY; 0: none */
	const char *reason; /* never NULL */
	unsigned watchers;  /* present number, of this package */
};

typedef void(sip_watcher_h)(struct sip_account *account,
			    enum sip_watcher_event event,
			    const struct sip_watcher_info *info, void *arg);

/** Subscriptions to an account; more are answered 503. */
#define SIP_WATCHERS_MAX 256

/**
 * Accept subscriptions from now on (before: 405), and notify the state whenever it
 * changes. SUBSCRIBE of a package without state is answered 489.
 * @param state  copied; what is NULL stays as it is
 * @return 0; -ENOMEM
 */
int sip_account_serve(struct sip_account *account,
		      const struct sip_event_state *state,
		      sip_watcher_h *handler, void *arg);
/** Number of NOTIFYs that are queued, or wait for their response. */
unsigned sip_account_notifies(const struct sip_account *account);
/** End all subscriptions (terminated, reason noresource), without events. */
void sip_account_serve_end(struct sip_account *account);

#endif
