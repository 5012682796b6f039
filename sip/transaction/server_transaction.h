/**
 * Server transactions (RFC 3261 17.2) and the responses sent in them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_SERVER_TRANSACTION_H
#define OFFHOOK_SIP_TRANSACTION_SERVER_TRANSACTION_H

#include <re.h>

struct transaction_layer;

/** Owned by the caller until the final response, afterwards by itself. */
struct server_transaction;

/**
 * Make a transaction for a request that is answered later.
 * @param ret       a libre object, the caller's
 * @param msg       the request; referenced
 * @param cancel_h  called after a CANCEL was answered 200; the INVITE still needs
 *                  its response
 * @return 0; -ENOMEM; -ENOBUFS server transactions hold CEILING_BYTES_MAX: without
 *         one, a repetition would be taken for a new request
 */
int server_transaction_new(struct server_transaction **ret,
			   struct transaction_layer *layer,
			   const struct sip_msg *msg, sip_cancel_h *cancel_h,
			   void *arg);

/**
 * Send a response in a server transaction.
 * @param server  in/out: *server NULL: one is made; set to NULL by a final response
 * @param ret_mb  a reference to the response; may be NULL
 * @param routes  copy Record-Route
 * @param fmt     libre's format of header lines, Content-Length and body; NULL: none
 * @return 0; -errno, and the transaction is gone
 */
int server_transaction_replyf(struct server_transaction **server,
			      struct mbuf **ret_mb,
			      struct transaction_layer *layer,
			      const struct sip_msg *msg, bool routes,
			      uint16_t code, const char *reason,
			      const char *fmt, ...);
/** The same without header lines and body. @return as
 * server_transaction_replyf() */
int server_transaction_reply(struct server_transaction **server,
			     struct transaction_layer *layer,
			     const struct sip_msg *msg, uint16_t code,
			     const char *reason);
/** Send a response without a transaction. @return 0; -errno */
int server_transaction_reply_once(struct transaction_layer *layer,
				  const struct sip_msg *msg, uint16_t code,
				  const char *reason);

/** Send a response again. @param mb  of ret_mb @return 0; -errno */
int server_transaction_resend(struct transaction_layer *layer,
			      const struct sip_msg *msg, struct mbuf *mb);

/** Handle a received request: a repetition, ACK, CANCEL or merged request.
 * @return true: a server transaction handled it */
bool server_transaction_request(struct transaction_layer *layer,
				const struct sip_msg *msg);

/** Release the transactions that have sent their final response. */
void server_transaction_close_all(struct transaction_layer *layer);

#endif
