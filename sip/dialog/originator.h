/**
 * Who begins dialogs and sends the requests in them: names, target, credentials,
 * TLS context and service route of an account, which owns it.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_ORIGINATOR_H
#define OFFHOOK_SIP_DIALOG_ORIGINATOR_H

#include <re.h>

struct digest;
struct header_list;
struct originator;
struct sip_account_params;
struct tls_context;
struct transaction_layer;

struct originator_params {
	const struct sip_account_params *account; /* checked texts; copied */
	struct transaction_layer *layer;          /* borrowed */
	struct list *tls_contexts; /* of the user agent, see tls.h */
	void *owner; /* libre object that owns the originator: each transaction
		      * and originator_ref() keep a reference to it */
	const struct originator *registered; /* whose registration its requests
					      * use; NULL: its own */
	unsigned serial; /* makes the user part of its Contact unique */
};

/** Make an originator of the settings of an account; its owner releases it with
 * mem_deref().
 * @return 0; -EINVAL, of TLS files with account->reason; -ENOMEM */
int originator_new(struct originator **ret,
		   const struct originator_params *params);
/** Replace the custom headers of its requests. @param list  taken over */
void originator_set_headers(struct originator *origin,
			    struct header_list *list);

/** Keep the originator: a reference to its owner. @return origin */
const struct originator *originator_ref(const struct originator *origin);
/** Let go of it. @param origin  may be NULL @return NULL */
const struct originator *originator_unref(const struct originator *origin);

/* Borrowed; never NULL. */

/** The user name, escaped for a URI. */
const char *originator_user(const struct originator *origin);
/** sip:user@domain */
const char *originator_aor(const struct originator *origin);
/** host[:port] of its URIs. */
const char *originator_domain(const struct originator *origin);
/** The user part of its Contact. */
const char *originator_contact_user(const struct originator *origin);
/** Where its requests are sent, for reasons: "127.0.0.1:5060 over UDP" */
const char *originator_target(const struct originator *origin);
struct transaction_layer *originator_layer(const struct originator *origin);
struct tls_context *originator_tls(const struct originator *origin);
/** transport_received_ns() of its user agent: monotonic, ns. */
int64_t originator_received_ns(const struct originator *origin);

/**
 * The registrar's 2xx to REGISTER: requests follow its Service-Route (RFC 3608).
 * @param outbound  the registrar keeps the flow (RFC 5626): Contacts have ;ob
 */
void originator_registered(struct originator *origin, const struct sip_msg *msg,
			   bool outbound);
/** The flow of its registration is not used any more (RFC 5626). */
void originator_flow_ended(struct originator *origin);

/** A digest context with its credentials, for the challenges of one dialog or
 * registration.
 * @param ret  the caller's
 * @return 0; -ENOMEM */
int originator_digest(struct digest **ret, const struct originator *origin);
/**
 * Write why a request of the originator got no response, as a sentence.
 * @param err  positive, as a sip_resp_h gets it
 */
void originator_failure(char *dst, size_t size, const struct originator *origin,
			int err);
/** The same of a request that was sent to another place than the originator's
 * target. @param where  names that place in the sentence */
void originator_failure_at(char *dst, size_t size,
			   const struct originator *origin, const char *where,
			   int err);

#endif
