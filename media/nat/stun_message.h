/**
 * STUN messages (RFC 8489) for ICE (RFC 8445) and TURN (RFC 8656) as plain
 * structs. libre's codec reads and writes them.
 *
 * Thread: loop; libre's reference counts are not thread-safe.
 */
#ifndef OFFHOOK_MEDIA_NAT_STUN_MESSAGE_H
#define OFFHOOK_MEDIA_NAT_STUN_MESSAGE_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STUN_TRANSACTION_BYTES 12
/* Longest message of ours: within any path's MTU (RFC 8489 section 6.1) */
#define STUN_MESSAGE_BYTES 1024
/* RFC 8489 sections 14.9 and 14.10: less than 128 characters of UTF-8 */
#define STUN_TEXT_BYTES 764

enum stun_message_method {
	STUN_MESSAGE_BINDING = 0x001,
	STUN_MESSAGE_ALLOCATE = 0x003,
	STUN_MESSAGE_REFRESH = 0x004,
	STUN_MESSAGE_DATA = 0x007,
	STUN_MESSAGE_PERMISSION = 0x008,
	STUN_MESSAGE_CHANNEL = 0x009,
};

enum stun_message_class {
	STUN_MESSAGE_REQUEST,
	STUN_MESSAGE_INDICATION,
	STUN_MESSAGE_SUCCESS,
	STUN_MESSAGE_ERROR,
};

struct stun_msg; /* libre's */

/** A received message; flags tell which attributes are present. */
struct stun_message {
	struct stun_msg *msg;
	uint16_t method;
	enum stun_message_class class;
	uint8_t id[STUN_TRANSACTION_BYTES];
	bool unknown; /* a comprehension-required attribute is unknown */
	bool use_candidate;
	bool has_priority;
	bool controlling, controlled; /* their tie-breaker is present */
	bool has_lifetime;
	uint32_t priority;
	uint64_t tie_breaker;
	uint32_t lifetime_s;
	unsigned error;            /* ERROR-CODE; 0: none */
	const char *reason;        /* of the error; valid as long as the
				    * message */
	const char *username;      /* NULL: none; valid as long as the
				    * message */
	const char *realm, *nonce; /* as above */
	struct media_addr mapped;  /* XOR-MAPPED-ADDRESS; len 0: none */
	struct media_addr relayed; /* XOR-RELAYED-ADDRESS; len 0: none */
};

/**
 * Parse a message.
 * @param ret  to be closed with stun_message_close(); written on success only
 * @return 0; -EBADMSG not a STUN message; -ENOMEM
 */
int stun_message_open(struct stun_message *ret, const uint8_t *data,
		      size_t bytes);
/** Release a message of stun_message_open(). */
void stun_message_close(struct stun_message *m);

/** @return it has a valid FINGERPRINT */
bool stun_message_fingerprint(const struct stun_message *m);
/** @return it has a MESSAGE-INTEGRITY that this key verifies */
bool stun_message_verify(const struct stun_message *m, const void *key,
			 size_t key_bytes);

/** A message to write. NULL or 0: the attribute is absent. */
struct stun_draft {
	enum stun_message_method method;
	enum stun_message_class class;
	const uint8_t *id;
	const void *key; /* for the MESSAGE-INTEGRITY */
	size_t key_bytes;
	bool fingerprint;
	const char *username, *realm, *nonce;
	const uint32_t *priority;
	const uint64_t *controlling, *controlled; /* tie-breaker */
	bool use_candidate;
	const struct media_addr *mapped;
	const struct media_addr *relayed;
	const struct media_addr *peer;
	const uint32_t *lifetime_s;
	uint16_t channel;
	uint8_t transport; /* REQUESTED-TRANSPORT: IP protocol number */
	uint8_t family;    /* REQUESTED-ADDRESS-FAMILY: 1 IPv4, 2 IPv6 */
	unsigned error;
	const char *reason; /* of the error */
};

/** Write a message.
 * @param ret  bytes written
 * @return 0; -EMSGSIZE; -ENOMEM */
int stun_message_write(uint8_t dst[static STUN_MESSAGE_BYTES], size_t *ret,
		       const struct stun_draft *draft);

#endif
