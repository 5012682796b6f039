/**
 * Handshake messages out of a DTLS peer's datagrams, whole and in order, for a
 * DTLS library that ends the handshake where one of them cannot be. Records
 * that are invalid are left out (RFC 6347 section 4.1.2.7), as are messages
 * that cannot come at that place (RFC 5246 section 7.3). Fragments that
 * contradict each other (section 4.2.3) are put together apart: what becomes
 * whole first counts. Only what nobody has authenticated is judged: epoch 0.
 *
 * Thread: one at a time; nothing blocks.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_DTLS_REASSEMBLY_H
#define OFFHOOK_MEDIA_SECURITY_DTLS_REASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message that is longer is not taken: it fits one record (RFC 6347 section
 * 4.1). A certificate of SRTP has about 500 bytes. */
#define DTLS_MESSAGE_MAX (16384 - 12)
/* Messages that are put together at once, true and false; a flight has 5. The
 * one that has waited longest makes room. */
#define DTLS_PARTIAL_MAX 12
/* How far ahead of the next message one may be. */
#define DTLS_AHEAD_MAX 8

struct dtls_reassembly;

/** A record for the library, as if it had come alone. Of epoch 0 it is ours,
 * with our number. */
typedef void(dtls_record_h)(const uint8_t *record, size_t bytes, void *arg);

/** @param client  we are: the messages are a server's. @return 0; -ENOMEM */
int dtls_reassembly_new(struct dtls_reassembly **ret, bool client,
			dtls_record_h *handler, void *arg);
struct dtls_reassembly *dtls_reassembly_free(struct dtls_reassembly *r);

/** Take a datagram. Without memory it is as if it were lost. */
void dtls_reassembly_input(struct dtls_reassembly *r, const uint8_t *data,
			   size_t bytes);

/** Records and fragments that were left out, or contradict others. */
uint64_t dtls_reassembly_refused(const struct dtls_reassembly *r);
/** What the last one of them was; static text; NULL: there was none. */
const char *dtls_reassembly_reason(const struct dtls_reassembly *r);

#endif
