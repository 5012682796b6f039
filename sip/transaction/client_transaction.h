/**
 * Client transactions (RFC 3261 17.1) over the addresses of a target: a host
 * that refuses, does not answer or says 503 leads to the next one (RFC 3263
 * 4.3). What libre's have no room for: several hosts, connections that end
 * under a request, custom headers on CANCEL and on the ACK to a refusal.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_CLIENT_TRANSACTION_H
#define OFFHOOK_SIP_TRANSACTION_CLIENT_TRANSACTION_H

#include <re.h>

struct header_list;
struct resolve_host;
struct tls_context;
struct transaction_layer;
struct transaction_user;

/**
 * A request under way. Whoever releases it before its final response wants to
 * hear nothing more: an INVITE is cancelled then.
 */
struct client_request;

struct client_request_params {
	const struct transaction_user
		*user; /* a reference to its owner is kept */
	const char *method;
	const char *uri; /* request URI */
	const struct resolve_host
		*hosts; /* next hop, in order; see resolve.h */
	size_t host_count;
	struct mbuf *mb; /* header lines from Max-Forwards on, body */
	uint32_t key;    /* the same for the requests of a dialog */
	/* what its responses have (8.2.6.2); of strings a reference is kept */
	char *callid;
	char *from_tag;
	uint32_t cseq;
	unsigned scopes;             /* headers_scopes() of the request */
	struct header_list *headers; /* these instead of the user's; a
				      * reference is kept; or NULL */
	sip_send_h *sendh;
	sip_resp_h *resph;
	void *arg;
};

/**
 * Send a request. An ACK has no transaction: nothing is heard of it.
 * @param ret  set to NULL when the final response is about to be told
 * @return 0; -errno, and resph is not called
 */
int client_request_send(struct client_request **ret,
			const struct client_request_params *params);

/** Cancel an INVITE, when a provisional response came (RFC 3261 9.1). */
void client_request_cancel(struct client_request *client);

/** A response. @return true: it belongs to a transaction of ours */
bool client_transaction_response(struct transaction_layer *layer,
				 const struct sip_msg *msg);

/** A response was discarded, for why (static): if it was meant for a
 * transaction of ours that gets no other, its failure says so. */
void client_transaction_discarded(struct transaction_layer *layer,
				  const struct sip_msg *msg, const char *why);

/** ICMP said that nobody is there (RFC 3261 18.4). */
void client_transaction_unreachable(struct transaction_layer *layer,
				    const struct sa *dst, int err);

/** End all of them with ECONNABORTED; no request is sent any more. */
void client_transaction_close_all(struct transaction_layer *layer);

#endif
