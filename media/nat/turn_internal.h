/**
 * What the TURN client's files share: its peers, and its requests with the
 * credentials that servers ask for. Thread: the client's owner.
 */
#ifndef OFFHOOK_MEDIA_NAT_TURN_INTERNAL_H
#define OFFHOOK_MEDIA_NAT_TURN_INTERNAL_H

#include "media/nat/stun_message.h"
#include "media/nat/turn.h"

#define TURN_KEY_BYTES 16 /* MD5: RFC 8489 9.2.2 */

struct turn_request {
	bool open;
	enum stun_message_method method;
	uint8_t id[STUN_TRANSACTION_BYTES];
	unsigned sent;
	unsigned challenges;
	int64_t next_ns;
};

struct turn_peer {
	struct media_addr addr;
	uint16_t number; /* of the channel; 0: a permission alone */
	bool good;
	bool refused;
	int64_t renew_ns;
	struct turn_request request;
};

struct turn {
	struct turn_params params;
	char username[TURN_USER_BYTES];
	char password[TURN_USER_BYTES];
	enum turn_state state;
	char reason[TURN_REASON_BYTES];
	unsigned version;
	struct media_addr mapped;
	struct media_addr relayed;
	char realm[STUN_TEXT_BYTES]; /* "": not asked for credentials yet */
	char nonce[STUN_TEXT_BYTES];
	uint8_t key[TURN_KEY_BYTES];
	uint32_t lifetime_s;
	int64_t now_ns;
	int64_t renew_ns;            /* the allocation */
	int64_t until_ns;            /* it ends */
	struct turn_request request; /* about it, or for our address */
	struct turn_peer peers[TURN_PEERS_MAX];
	size_t peer_count;
	uint16_t channel_next;
};

/** Send it once. @param peer  whom it is about; NULL: the allocation
 * @param lifetime_s  of the allocation, where it is about that */
void turn_request_write(struct turn *t, const struct turn_request *r,
			const struct turn_peer *peer, uint32_t lifetime_s);

/** Open it as a new transaction, and send it. */
void turn_request_begin(struct turn *t, struct turn_request *r,
			const struct turn_peer *peer,
			enum stun_message_method method);

/** Send it again where that is due (RFC 8489 6.2.1).
 * @return false: it is given up */
bool turn_request_repeat(struct turn *t, struct turn_request *r,
			 const struct turn_peer *peer);

/** Another try with the credentials that the server asks for (RFC 8489 9.2.5).
 * @param m  an error response @return false: none is left */
bool turn_request_challenged(struct turn *t, struct turn_request *r,
			     const struct turn_peer *peer,
			     const struct stun_message *m);

#endif
