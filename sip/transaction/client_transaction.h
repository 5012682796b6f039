/**
 * Client transactions (RFC 3261 17.1) over the addresses of a target: if a host
 * refuses, does not answer or answers 503, the next one is tried (RFC 3263 4.3).
 * libre's lack several hosts, connections that end during a request, and custom
 * headers in CANCEL and in the ACK of a final response of 300 to 699.
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
 * A request under way. Releasing it (mem_deref) before its final response ends the
 * calls of resph; an INVITE is cancelled.
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
	/* fields that its responses repeat (8.2.6.2); references are kept */
	char *callid;
	char *from_tag;
	uint32_t cseq;
	unsigned scopes;             /* headers_scopes() of the request */
	struct header_list *headers; /* custom ones instead of the user's; a
				      * reference is kept; or NULL */
	sip_send_h *sendh;
	sip_resp_h *resph;
	void *arg;
};

/**
 * Send a request. An ACK has no transaction: resph is not called.
 * @param ret  the caller's handle; set to NULL before resph is called with the
 *             final response or a failure
 * @return 0; -errno, and resph is not called
 */
int client_request_send(struct client_request **ret,
			const struct client_request_params *params);

/** Cancel an INVITE: send CANCEL once a provisional response has come (RFC 3261
 * 9.1). */
void client_request_cancel(struct client_request *client);

/** Handle a received response. @return true: it belongs to a client transaction */
bool client_transaction_response(struct transaction_layer *layer,
				 const struct sip_msg *msg);

/** A response was discarded. If its transaction gets no other response, the failure
 * has this reason. @param why  static */
void client_transaction_discarded(struct transaction_layer *layer,
				  const struct sip_msg *msg, const char *why);

/** ICMP reported the destination as unreachable (RFC 3261 18.4): its requests try
 * the next address, or fail. @param err  positive */
void client_transaction_unreachable(struct transaction_layer *layer,
				    const struct sa *dst, int err);

/** End all client transactions with ECONNABORTED, and refuse further requests. */
void client_transaction_close_all(struct transaction_layer *layer);

#endif
