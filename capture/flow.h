/**
 * Addresses, ports and SSRC of a packet as the key of a table, and such a table.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_FLOW_H
#define OFFHOOK_CAPTURE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An IPv6 address, or an IPv4 address mapped into one (RFC 4291 2.5.5.2). */
struct address {
	union {
		uint8_t bytes[16];
		uint64_t words[2]; /* for copying and comparing */
	};
};

/** Has no padding: it is compared and hashed as bytes. Unused fields are 0. */
struct flow_key {
	struct address src;
	struct address dst;
	uint16_t sport;
	uint16_t dport;
	uint32_t ssrc;
};

_Static_assert(sizeof(struct flow_key) == 40, "flow key without padding");

#define ADDRESS_TEXT_BYTES 46

/** Write an address as "10.0.0.1" or "fd00::1". */
void address_text(const struct address *a,
		  char text[static ADDRESS_TEXT_BYTES]);

/* Written as whole words: reading words that were written in bytes stalls the
 * processor (store forwarding), for every packet. */
static inline void address_set_ipv4(struct address *ret, const uint8_t *four)
{
	uint32_t v;

	__builtin_memcpy(&v, four, sizeof(v));
	ret->words[0] = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	ret->words[1] = UINT64_C(0xffff0000) | (uint64_t)v << 32;
#else
	ret->words[1] = UINT64_C(0xffff) << 32 | v;
#endif
}

/** Write an address with all eight groups: "fd00:0:0:0:0:0:0:1". */
void address_groups(const struct address *a,
		    char text[static ADDRESS_TEXT_BYTES]);

/**
 * A hash table from a key to the number of keys added before it (0, 1, 2...).
 * Its hash has a random seed, so that a crafted capture cannot provoke
 * collisions.
 */
struct flow_table {
	struct flow_key *keys; /* in order of adding */
	struct {
		uint32_t tag;
		uint32_t index; /* + 1; 0: free */
	} * slots;
	size_t count;
	size_t size; /* of slots: a power of two, 0: none yet */
	size_t max;
	uint64_t seed;
};

#define FLOW_NONE UINT32_MAX

static inline uint64_t flow_key_rest(const struct flow_key *k)
{
	return (uint64_t)k->ssrc << 32 | (uint64_t)k->dport << 16 | k->sport;
}

static inline bool flow_key_equal(const struct flow_key *a,
				  const struct flow_key *b)
{
	return ((a->src.words[0] ^ b->src.words[0]) |
		(a->src.words[1] ^ b->src.words[1]) |
		(a->dst.words[0] ^ b->dst.words[0]) |
		(a->dst.words[1] ^ b->dst.words[1]) |
		(flow_key_rest(a) ^ flow_key_rest(b))) == 0;
}

/** A hash without a seed, for tables of fixed size, in which a collision only
 * replaces an entry. */
static inline uint64_t flow_key_hash(const struct flow_key *k)
{
	const uint64_t w[5] = {k->src.words[0], k->src.words[1],
			       k->dst.words[0], k->dst.words[1],
			       flow_key_rest(k)};
	uint64_t h = 0;

	for (size_t i = 0; i < 5; i++)
		h = (h ^ w[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
	return h >> 40;
}

/** Make an empty table. @param max  keys */
void flow_table_init(struct flow_table *t, size_t max);
void flow_table_release(struct flow_table *t);

/** Find a key. @return its index; FLOW_NONE */
uint32_t flow_table_find(const struct flow_table *t,
			 const struct flow_key *key);

/** Add a key that is not in the table.
 * @return its index; FLOW_NONE: full or no memory */
uint32_t flow_table_add(struct flow_table *t, const struct flow_key *key);

#endif
