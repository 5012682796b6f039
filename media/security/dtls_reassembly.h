/**
 * Reassembles the handshake messages of a DTLS peer, complete and in order, for
 * a DTLS library that ends the handshake at an invalid record. Invalid records
 * are discarded (RFC 6347 section 4.1.2.7), and messages that are not allowed at
 * this point of the handshake (RFC 5246 section 7.3). Fragments that contradict
 * each other (RFC 6347 section 4.2.3) are reassembled separately: the first
 * complete message counts. Only epoch 0 is checked, which is not authenticated.
 *
 * Thread: as dtls.h; nothing blocks.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_DTLS_REASSEMBLY_H
#define OFFHOOK_MEDIA_SECURITY_DTLS_REASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest message, so that it fits one record (RFC 6347 section 4.1); longer
 * ones are discarded. A certificate for DTLS-SRTP has about 500 bytes. */
#define DTLS_MESSAGE_MAX (16384 - 12)
/* Messages under reassembly at once, genuine and forged; a flight has 5. The
 * one without a fragment for the longest time makes room. */
#define DTLS_PARTIAL_MAX 12
/* A message_seq more than this ahead of the next one is discarded. */
#define DTLS_AHEAD_MAX 8

struct dtls_reassembly;

/** Called with one record for the library, as if it were a datagram. In epoch 0
 * the record is rewritten and numbered by us. */
typedef void(dtls_record_h)(const uint8_t *record, size_t bytes, void *arg);

/** @param client  we are the client: accept a server's messages
 * @return 0; -ENOMEM */
int dtls_reassembly_new(struct dtls_reassembly **ret, bool client,
			dtls_record_h *handler, void *arg);
struct dtls_reassembly *dtls_reassembly_free(struct dtls_reassembly *r);

/** Take a datagram; calls the handler for each record that is complete. If
 * memory is short a fragment is lost, as on the network. */
void dtls_reassembly_input(struct dtls_reassembly *r, const uint8_t *data,
			   size_t bytes);

/** Number of records and fragments that were discarded, or contradict
 * others. */
uint64_t dtls_reassembly_refused(const struct dtls_reassembly *r);
/** What was wrong with the last of them: static text; NULL: there was none. */
const char *dtls_reassembly_reason(const struct dtls_reassembly *r);

#endif
