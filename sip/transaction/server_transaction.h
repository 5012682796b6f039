/**
 * Server transactions (RFC 3261 17.2) and the responses sent in them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_SERVER_TRANSACTION_H
#define OFFHOOK_SIP_TRANSACTION_SERVER_TRANSACTION_H

#include <re.h>

struct transaction_layer;

/** Held by its owner until the final response, then by itself. */
struct server_transaction;

/**
 * A transaction for a request that is answered later.
 * @param cancel_h  a CANCEL came and was answered; the INVITE is not yet
 * @return 0; -ENOMEM; -ENOBUFS all of them keep CEILING_BYTES_MAX already:
 *         a repetition is another request then
 */
int server_transaction_new(struct server_transaction **ret,
			   struct transaction_layer *layer,
			   const struct sip_msg *msg, sip_cancel_h *cancel_h,
			   void *arg);

/**
 * Answer a request.
 * @param server  NULL: made for this response. Set to NULL by a final one
 * @param ret_mb  a reference to the message; may be NULL
 * @param routes  copy Record-Route
 * @param fmt     header lines, from Content-Length on the body; NULL: neither
 * @return 0; -errno, and the transaction is gone
 */
int server_transaction_replyf(struct server_transaction **server,
			      struct mbuf **ret_mb,
			      struct transaction_layer *layer,
			      const struct sip_msg *msg, bool routes,
			      uint16_t code, const char *reason,
			      const char *fmt, ...);
int server_transaction_reply(struct server_transaction **server,
			     struct transaction_layer *layer,
			     const struct sip_msg *msg, uint16_t code,
			     const char *reason);
/** The same without a transaction. */
int server_transaction_reply_once(struct transaction_layer *layer,
				  const struct sip_msg *msg, uint16_t code,
				  const char *reason);

/** Send a response again, to where it went. */
int server_transaction_resend(struct transaction_layer *layer,
			      const struct sip_msg *msg, struct mbuf *mb);

/** A request. @return true: a transaction took it */
bool server_transaction_request(struct transaction_layer *layer,
				const struct sip_msg *msg);

/** Release those that have their final response. */
void server_transaction_close_all(struct transaction_layer *layer);

#endif
