/**
 * Inside of the RX thread: received SRTP, and datagrams that wait for a key.
 * Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_RX_RX_SECURE_H
#define OFFHOOK_MEDIA_RX_RX_SECURE_H

#include "media/rx/rx_session.h"

/* Datagrams of all sessions that wait for a key; the oldest makes room. */
#define STASH_MAX            256
#define STASH_DATAGRAM_BYTES 2048

/* A replaced key stays valid for this long: packets protected with it are on
 * their way, or the peer changes its key later. */
#define KEY_REPLACED_NS INT64_C(2000000000)

/* An offer with new keys is answered within this time, or it never is: 64 * T1,
 * RFC 3261 17.1.1.2, and as long again for a provisional answer. */
#define REKEY_NS INT64_C(64000000000)

/** A datagram that waits for its key. */
struct stashed {
	bool waits; /* else the place is free */
	struct rx_socket *from;
	size_t bytes;
	int64_t mono_ns;
	struct media_addr source;
	uint8_t data[STASH_DATAGRAM_BYTES];
};

struct rx_stash {
	size_t next;    /* to be written, and the oldest */
	size_t waiting; /* items that wait */
	struct stashed items[STASH_MAX];
};

/** Take a place for a datagram, which waits there from now on.
 * @param ret_lost  the place held the oldest datagram, perhaps of another
 *                  session, which is lost */
struct stashed *stash_place(struct rx_stash *stash, bool *ret_lost);

/** Remove the oldest datagram of a session; valid until the next stash_place().
 * @param keyed  only one whose key is known
 * @return NULL: there is none */
struct stashed *stash_take(struct rx_stash *stash, const struct rx_session *s,
			   bool keyed);

/** New keys of ours are offered: until offer and answer are settled, packets that
 * no key fits wait for the peer's next key. */
void rx_secure_rekey(struct rx_session *rx, int64_t now_ns);
bool rx_secure_rekeying(const struct rx_socket *socket, int64_t now_ns);

/** Put the settled keys in force. Where a key is not known yet, the one before
 * stays in force. */
void rx_secure_apply(struct rx_session *rx, const struct rx_command *c,
		     int64_t now_ns);

/** @return there is a key for datagrams of this socket, or none is needed */
bool rx_secure_keyed(const struct rx_socket *socket);

/**
 * Verify and decrypt in place.
 * @param from  the socket that received it
 * @param data  in/out; as before on -EACCES while rx_secure_rekeying()
 * @param rtcp  SRTCP; else SRTP
 * @return 0; -EALREADY a replay (decrypted); -EACCES not authentic; -EBADMSG
 *         no such packet for any key, and not rx_secure_rekeying(); -ENOKEY
 *         there is no key yet
 */
int rx_secure_open(struct rx_socket *from, uint8_t *data, size_t *bytes,
		   bool rtcp, int64_t now_ns);

#endif
