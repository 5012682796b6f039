/*
 * A model of the receiving side of SRTP and SRTCP for fuzz-srtp.c: what each datagram must
 * give, from what the sender did. It keeps a list of what arrived and searches it.
 * Source: RFC 3711 3.3
 */
#ifndef TESTS_FUZZ_MEDIA_SRTP_MODEL_H
#define TESTS_FUZZ_MEDIA_SRTP_MODEL_H

#include "media/rx/rx_secure.h"
#include "media/security/srtp_keys.h"
#include "media/security/srtp_source.h"
#include "media/security/srtp_transform.h"

#define KEYS_MAX         8
#define PACKETS_MAX      64
#define APPLIED_MAX      16
#define PLAIN_BYTES_MAX  700
#define PACKET_BYTES_MAX (PLAIN_BYTES_MAX + SRTCP_OVERHEAD_BYTES)

/* A packet of the sender, before and after protection. */
struct packet {
	bool rtcp;
	bool encrypted; /* SRTCP: the E bit */
	uint8_t key;
	uint64_t index;
	size_t plain_bytes;
	size_t bytes;
	uint8_t plain[PLAIN_BYTES_MAX];
	uint8_t data[PACKET_BYTES_MAX];
};

struct model_window {
	uint64_t seen[PACKETS_MAX];
	size_t count;
};

struct model_source {
	bool used;
	bool continued; /* has the index of the key before */
	bool has_highest;
	uint32_t ssrc;
	uint64_t touched;
	uint64_t highest;
	struct model_window rtp, rtcp;
};

/* A key in force, or one that was. */
struct model_key {
	uint8_t number;
	uint64_t uses;
	struct model_source sources[SRTP_SOURCES_MAX];
};

struct model_port {
	struct model_key *key; /* NULL: not known yet */
	struct {
		struct model_key *key;
		int64_t until_ns;
	} replaced[KEYS_REPLACED_MAX];
	size_t key_count;
	uint8_t in_force; /* number of the newest key; 0: none */
};

struct model {
	uint8_t suites[KEYS_MAX + 1]; /* by the number of the key */
	int64_t now_ns;
	int64_t rekeying_until_ns;
	bool rtcp_keyed;
	struct model_port ports[SOCKET_COUNT];
	/* written before they are read: not to be cleared */
	struct model_key keys[SOCKET_COUNT][APPLIED_MAX];
};

const struct srtp_suite_info *model_suite(const struct model *m, uint8_t key);
/** @return bytes of the header of an RTP packet; 0: it is none */
size_t model_rtp_header(const uint8_t *data, size_t bytes);
/** @return new keys are on offer */
bool model_rekeying(const struct model *m);

/** A datagram arrives.
 * @param p  the packet that it is; NULL: none of the sender's
 * @return what rx_secure_open() is to return */
int model_receive(struct model *m, const struct packet *p, const uint8_t *data,
		  size_t bytes, bool rtcp, bool rtcp_port);

/** @return keys have been settled less than APPLIED_MAX times */
bool model_may_apply(const struct model *m);
/** The key of a port is settled.
 * @param at      SOCKET_RTP or SOCKET_RTCP
 * @param number  0: not known yet */
void model_apply(struct model *m, int at, uint8_t number);

#endif
