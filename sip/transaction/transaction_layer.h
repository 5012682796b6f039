/**
 * The transaction layer of a user agent (RFC 3261 section 17): the tables of
 * its client and server transactions above one transport.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_TRANSACTION_LAYER_H
#define OFFHOOK_SIP_TRANSACTION_TRANSACTION_LAYER_H

#include <re.h>

struct transaction_layer;
struct transport;

/**
 * Make a transaction layer.
 * @param ret        a libre object, the caller's
 * @param transport  borrowed; released after the layer's last transaction
 * @param software   User-Agent and Server; copied; NULL: neither is sent
 * @param size       transactions expected at a time; sizes the tables, a power
 *                   of two
 * @return 0; -ENOMEM
 */
int transaction_layer_new(struct transaction_layer **ret,
			  struct transport *transport, const char *software,
			  uint32_t size);

/** Its transport; borrowed. */
struct transport *transaction_layer_transport(
	const struct transaction_layer *layer);
/** The User-Agent of requests; borrowed, or NULL. */
const char *transaction_layer_software(const struct transaction_layer *layer);
/** Why the last request got no response, as a sentence; "": unknown. Borrowed. */
const char *transaction_layer_failure(const struct transaction_layer *layer);

#endif
