/*
 * SRTP and SRTCP as the network delivers them, to two receivers: one with the built-in
 * implementation and one with libsrtp2. The sender is this program: it protects with any
 * index, so that a packet may also have a roll-over counter which no receiver can guess.
 * A model of the receiver says what each datagram must give: 0 with exactly what was
 * protected, a replay, or a refusal. What is not a packet of the sender is never opened.
 *
 * The first octet of an input is the suite of key 1; with BUILTIN_ALONE there is no second
 * receiver, which takes most of the time. The second octet is added for each further key.
 * Then come actions, an octet each, with arguments: the lower six bits modulo ACTION_COUNT,
 * SEND_NOW to deliver at once what is made, RTCP_PORT to deliver to the port of RTCP.
 */
#include "base/big_endian.h"
#include "base/clock.h"
#include "media/security/srtp_libsrtp2.h"
#include "media/security/srtp_transform.h"
#include "srtp_model.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/media/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DELIVERIES_MAX 96 /* of both receivers: all find room in the stash */
#define SSRCS          16
#define RTCP_ENCRYPTED 0x80000000u /* RFC 3711 3.4 */

#define BUILTIN_ALONE 0x80

#define SEND_NOW  0x80
#define RTCP_PORT 0x40

enum action {
	MAKE_RTP,
	MAKE_RTCP,
	DELIVER,
	DELIVER_RUN,
	DELIVER_CHANGED,
	DELIVER_RAW,
	APPLY_KEYS,
	PASS_TIME,
	OFFER_KEYS,
	ACTION_COUNT,
};

struct receiver {
	struct rx_session rx;
	struct session_keys keys[SOCKET_COUNT];
};

struct world {
	struct input in;
	struct model *model;
	size_t receiver_count;
	struct receiver receivers[MEDIA_SRTP_LIBRARY_COUNT];
	uint64_t sent[SSRCS];      /* last index, by SSRC */
	uint32_t sent_rtcp[SSRCS]; /* last SRTCP index */
	bool guessed;              /* a tag of 32 bits was right by chance */
	size_t deliveries;
	size_t packet_count;
	/* written before they are read: not cleared for each input */
	struct packet packets[PACKETS_MAX];
};

static struct rx_stash stash;

/* ---- sender ---- */

struct sender_key {
	bool made;
	struct srtp_transform rtp, rtcp;
};

static struct media_crypto crypto_of(const struct world *w, uint8_t key)
{
	struct media_crypto c = {
		.tag = 1,
		.suite = (enum media_srtp_suite)w->model->suites[key]};

	for (size_t i = 0; i < sizeof(c.key); i++)
		c.key[i] = (uint8_t)(key * 37 + i * 11 + (i * i >> 3));
	return c;
}

static const EVP_CIPHER *cipher_of(const struct srtp_suite_info *suite)
{
	if (suite->aead)
		return suite->key_bytes == 16 ? EVP_aes_128_gcm()
					      : EVP_aes_256_gcm();
	return suite->key_bytes == 16 ? EVP_aes_128_ctr() : EVP_aes_256_ctr();
}

/* Kept for the next input: to derive keys costs more than an input. */
static struct sender_key *sender_of(const struct world *w, uint8_t key)
{
	static struct sender_key all[MEDIA_SRTP_SUITE_COUNT][KEYS_MAX + 1];
	struct sender_key *s = &all[w->model->suites[key]][key];
	const struct media_crypto crypto = crypto_of(w, key);
	const struct srtp_suite_info *suite = srtp_suite_info(crypto.suite);
	struct srtp_session_keys keys;

	if (s->made)
		return s;
	check(srtp_keys_derive(&keys, &crypto) == 0);
	check(srtp_transform_init(&s->rtp, &keys.rtp, cipher_of(suite)) == 0);
	check(srtp_transform_init(&s->rtcp, &keys.rtcp, cipher_of(suite)) == 0);
	s->made = true;
	return s;
}

static void protect_rtp(const struct world *w, struct packet *p)
{
	struct srtp_transform *k = &sender_of(w, p->key)->rtp;
	const struct srtp_suite_info *suite = model_suite(w->model, p->key);
	size_t header = model_rtp_header(p->plain, p->plain_bytes);
	uint8_t tag[SRTP_HMAC_BYTES];

	/* what is no RTP packet gets a correct tag all the same, and stays none: its
	 * header is not encrypted */
	if (header == 0)
		header = p->plain_bytes;
	if (suite->aead) {
		struct srtp_seal seal =
			srtp_seal_rtp(p->data, header, p->plain_bytes,
				      be32(p->data + 8), p->index);

		check(srtp_seal_run(k, &seal, true) == 0);
	} else {
		check(srtp_transform_counter(k, p->data + header,
					     p->plain_bytes - header,
					     be32(p->data + 8), p->index) == 0);
		srtp_transform_hmac(k, p->data, p->plain_bytes,
				    (uint32_t)(p->index >> 16), tag);
		memcpy(p->data + p->plain_bytes, tag, suite->tag_bytes);
	}
	p->bytes = p->plain_bytes + suite->tag_bytes;
}

/* Without the E bit it is authenticated only. */
static void protect_rtcp(const struct world *w, struct packet *p)
{
	struct srtp_transform *k = &sender_of(w, p->key)->rtcp;
	const struct srtp_suite_info *suite = model_suite(w->model, p->key);
	uint32_t word =
		(uint32_t)p->index | (p->encrypted ? RTCP_ENCRYPTED : 0);
	uint8_t *end = p->data + p->plain_bytes;
	uint8_t tag[SRTP_HMAC_BYTES];

	if (suite->aead) {
		struct srtp_seal seal;

		be32_put(end + suite->rtcp_tag_bytes, word);
		seal = srtp_seal_rtcp(p->data, p->plain_bytes,
				      end + suite->rtcp_tag_bytes);
		check(srtp_seal_run(k, &seal, true) == 0);
	} else {
		if (p->encrypted)
			check(srtp_transform_counter(
				      k, p->data + SRTCP_HEADER_BYTES,
				      p->plain_bytes - SRTCP_HEADER_BYTES,
				      be32(p->data + 4), p->index) == 0);
		srtp_transform_hmac(k, p->data, p->plain_bytes, word, tag);
		be32_put(end, word);
		memcpy(end + SRTCP_INDEX_BYTES, tag, suite->rtcp_tag_bytes);
	}
	p->bytes = p->plain_bytes + suite->rtcp_tag_bytes + SRTCP_INDEX_BYTES;
}

/* ---- delivery ---- */

/* Does a tag of 32 bits fit what the sender never made? @return with any roll-over
 * counter that was reached */
static bool is_guessed(const struct world *w, const uint8_t *data, size_t bytes)
{
	for (uint8_t key = 1; key <= KEYS_MAX; key++) {
		struct srtp_transform *k = &sender_of(w, key)->rtp;
		uint8_t tag[SRTP_HMAC_BYTES];

		for (uint32_t roc = 0; roc <= 2 * PACKETS_MAX; roc++) {
			if (model_suite(w->model, key)->tag_bytes != 4)
				break;
			srtp_transform_hmac(k, data, bytes - 4, roc, tag);
			if (memcmp(tag, data + bytes - 4, 4) == 0)
				return true;
		}
	}
	return false;
}

static const struct packet *packet_find(const struct world *w,
					const uint8_t *data, size_t bytes,
					bool rtcp)
{
	for (size_t i = 0; i < w->packet_count; i++) {
		const struct packet *p = &w->packets[i];

		if (p->rtcp == rtcp && p->bytes == bytes &&
		    memcmp(p->data, data, bytes) == 0)
			return p;
	}
	return NULL;
}

/* What a receiver made of a datagram. */
struct outcome {
	int err;
	size_t bytes;
	uint8_t *data;
};

static void outcome_check(const struct world *w, const struct outcome *o,
			  const struct packet *p, const uint8_t *data,
			  size_t bytes, bool rtcp)
{
	size_t kept = bytes;

	if (o->err == 0 || o->err == -EALREADY) {
		check(p && o->bytes == p->plain_bytes);
		check(memcmp(o->data, p->plain, p->plain_bytes) == 0);
		return;
	}
	check(o->bytes == bytes);
	/* a refused packet keeps its header, one that may be tried again all */
	if (o->err != -ENOKEY && o->err != -EBADMSG &&
	    !model_rekeying(w->model))
		kept = rtcp ? SRTCP_HEADER_BYTES : 12;
	check(memcmp(o->data, data, kept < bytes ? kept : bytes) == 0);
}

static void keep(struct receiver *r, const struct outcome *o, bool rtcp_port)
{
	bool lost;
	struct stashed *item = stash_place(&stash, &lost);

	check(!lost);
	item->from = &r->rx.sockets[rtcp_port ? SOCKET_RTCP : SOCKET_RTP];
	item->bytes = o->bytes;
	memcpy(item->data, o->data, o->bytes);
}

/* Deliver a datagram to both receivers, each time in memory of its size. */
static void deliver(struct world *w, const uint8_t *data, size_t bytes,
		    bool rtcp, bool rtcp_port)
{
	const struct packet *p = packet_find(w, data, bytes, rtcp);
	int expected;

	if (w->guessed)
		return;
	expected = model_receive(w->model, p, data, bytes, rtcp, rtcp_port);
	for (size_t i = 0; i < w->receiver_count; i++) {
		struct receiver *r = &w->receivers[i];
		struct outcome o = {.bytes = bytes, .data = malloc(bytes)};

		check(o.data || bytes == 0);
		if (bytes > 0)
			memcpy(o.data, data, bytes);
		o.err = rx_secure_open(
			&r->rx.sockets[rtcp_port ? SOCKET_RTCP : SOCKET_RTP],
			o.data, &o.bytes, rtcp, w->model->now_ns);
		if (o.err != expected && !p && !rtcp && bytes >= 16)
			w->guessed = is_guessed(w, data, bytes);
		if (!w->guessed) {
			check(o.err == expected);
			outcome_check(w, &o, p, data, bytes, rtcp);
			if (bytes <= STASH_DATAGRAM_BYTES &&
			    (expected == -ENOKEY ||
			     (expected == -EACCES && model_rekeying(w->model))))
				keep(r, &o, rtcp_port);
		}
		free(o.data);
	}
}

/* What waits for a key that is known now. It does not say whether it is RTCP: the
 * second octet does (RFC 5761 4). */
static void deliver_kept(struct world *w)
{
	static uint8_t data[STASH_DATAGRAM_BYTES];

	for (;;) {
		struct stashed *first =
			stash_take(&stash, &w->receivers[0].rx, true);

		for (size_t i = 1; i < w->receiver_count; i++) {
			struct stashed *other =
				stash_take(&stash, &w->receivers[i].rx, true);

			check(!first == !other);
			check(!first ||
			      (first->bytes == other->bytes &&
			       first->from->rtcp == other->from->rtcp &&
			       memcmp(first->data, other->data, first->bytes) ==
				       0));
		}
		if (!first)
			return;
		memcpy(data, first->data, first->bytes);
		deliver(w, data, first->bytes,
			first->bytes > 1 && data[1] >= 192 && data[1] < 224,
			first->from->rtcp);
	}
}

static bool may_deliver(struct world *w)
{
	return w->deliveries++ < DELIVERIES_MAX;
}

static void deliver_packet(struct world *w, const struct packet *p,
			   bool rtcp_port)
{
	if (may_deliver(w))
		deliver(w, p->data, p->bytes, p->rtcp, rtcp_port);
}

/* ---- actions ---- */

static enum action kind_of(uint8_t action)
{
	return (enum action)((action & 0x3f) % ACTION_COUNT);
}

static uint32_t ssrc_of(uint8_t n)
{
	return 0x10203040u * n + n;
}

/* The index of the next packet, from that of the last one. */
static uint64_t index_step(struct world *w, uint64_t last)
{
	static const int32_t steps[] = {
		1,      1,      1,      2,      0,      -1,    -2,    -63,
		-64,    -1022,  -1023,  -1024,  -1025,  1023,  1024,  1025,
		32766,  32767,  32768,  32769,  -32767, 65535, 65536, 65537,
		-32768, -32769, -65535, -65536, -65537};
	uint8_t n = take(&w->in) % (sizeof(steps) / sizeof(steps[0]) + 2);

	if (n == sizeof(steps) / sizeof(steps[0])) /* any, counter 0 */
		return (uint64_t)take(&w->in) << 8 | take(&w->in);
	if (n > sizeof(steps) / sizeof(steps[0])) /* the counter is 0 again */
		return last & 0xffff;
	if (steps[n] < 0 && last < (uint64_t)-steps[n])
		return 0;
	return last + (uint64_t)steps[n];
}

static struct packet *packet_begin(struct world *w, bool rtcp, uint8_t *ssrc)
{
	struct packet *p;
	uint8_t who = take(&w->in); /* SSRC, and key above it */

	if (w->packet_count == PACKETS_MAX)
		return NULL;
	p = &w->packets[w->packet_count++];
	*ssrc = who % SSRCS;
	p->rtcp = rtcp;
	p->encrypted = true;
	p->key = (uint8_t)(who / SSRCS % KEYS_MAX + 1);
	return p;
}

/* Make an RTP packet. Five octets of the input follow: which SSRC and key; how far its
 * index is from that of the packet before; the first octet of its header; how many words
 * its header extension has; half of the number of bytes of its payload. */
static void make_rtp(struct world *w, uint8_t action)
{
	uint8_t ssrc;
	struct packet *p = packet_begin(w, false, &ssrc);
	size_t words, at;

	if (!p)
		return;
	p->index = w->sent[ssrc] = index_step(w, w->sent[ssrc]);
	p->plain[0] = take(&w->in) ^ 0x80;
	words = take(&w->in) % 32;
	p->plain_bytes = 12 + 2u * take(&w->in);
	at = 12 + 4u * (p->plain[0] & 15u);
	for (size_t i = 1; i < sizeof(p->plain); i++)
		p->plain[i] = (uint8_t)(i * 7 + p->index);
	p->plain[1] = 8; /* PCMA; what waits is known by it, see above */
	be16_put(p->plain + 2, (uint16_t)p->index);
	be32_put(p->plain + 8, ssrc_of(ssrc));
	if (p->plain[0] & 0x10)
		be16_put(p->plain + at + 2, words);
	memcpy(p->data, p->plain, p->plain_bytes);
	protect_rtp(w, p);
	if (action & SEND_NOW)
		deliver_packet(w, p, action & RTCP_PORT);
}

/* Make an RTCP packet. Four octets of the input follow: which SSRC and key; how far its
 * index is from that of the packet before; flags (1: it is not encrypted, 2: it has the
 * highest index there is, 4: its version is not 2); how many words follow the header. */
static void make_rtcp(struct world *w, uint8_t action)
{
	uint8_t ssrc, flags;
	struct packet *p = packet_begin(w, true, &ssrc);

	if (!p)
		return;
	p->index = index_step(w, w->sent_rtcp[ssrc]) & SRTCP_INDEX_MAX;
	flags = take(&w->in);
	if (flags & 2)
		p->index = SRTCP_INDEX_MAX;
	w->sent_rtcp[ssrc] = (uint32_t)p->index;
	p->encrypted = !(flags & 1);
	p->plain_bytes = SRTCP_HEADER_BYTES + 4u * (take(&w->in) % 64);
	for (size_t i = 0; i < p->plain_bytes; i++)
		p->plain[i] = (uint8_t)(i * 5 + p->index);
	p->plain[0] = flags & 4 ? 0x40 : 0x80;
	p->plain[1] = 200; /* sender report */
	be32_put(p->plain + 4, ssrc_of(ssrc));
	memcpy(p->data, p->plain, p->plain_bytes);
	protect_rtcp(w, p);
	if (action & SEND_NOW)
		deliver_packet(w, p, action & RTCP_PORT);
}

/* Deliver packets in the order in which they were made. Octets that follow: the number of
 * the first packet; how many, unless it is one. */
static void deliver_run(struct world *w, uint8_t action)
{
	size_t first = take(&w->in);
	size_t count = kind_of(action) == DELIVER ? 1 : take(&w->in) % 16;

	for (size_t i = 0; i < count && w->packet_count > 0; i++)
		deliver_packet(w, &w->packets[(first + i) % w->packet_count],
			       action & RTCP_PORT);
}

/* Change a packet on its way. Octets that follow: the number of the packet; what is changed
 * (0 to 6, see below); where, or by how many bytes. */
static void deliver_changed(struct world *w, uint8_t action)
{
	static uint8_t data[4096];
	uint8_t n = take(&w->in);
	uint8_t how = take(&w->in) % 7;
	size_t much = take(&w->in);
	const struct packet *p, *other;
	size_t bytes, from = 0;
	bool rtcp;

	if (w->packet_count == 0 || !may_deliver(w))
		return;
	p = &w->packets[n % w->packet_count];
	other = &w->packets[much % w->packet_count];
	bytes = p->bytes;
	rtcp = p->rtcp;
	memset(data, 0, sizeof(data));
	memcpy(data, p->data, bytes);
	if (how == 0) /* a bit */
		data[much / 8 % bytes] ^= (uint8_t)(1 << much % 8);
	else if (how == 1) /* a bit near the end */
		data[bytes - 1 - much / 8 % bytes] ^= (uint8_t)(1 << much % 8);
	else if (how == 2)
		bytes -= much < bytes ? much : bytes;
	else if (how == 3)
		bytes += much < 128 ? much : 20 * much - 2000;
	else if (how == 4)
		from = much < bytes ? much : bytes;
	else if (how == 5) /* the tag of another one */
		memcpy(data + bytes - 12, other->data + other->bytes - 12, 12);
	else
		rtcp = !rtcp;
	deliver(w, data + from, bytes - from, rtcp, action & RTCP_PORT);
}

/* Deliver bytes of the input as they are. Octets that follow: odd for RTCP, even for RTP;
 * how many bytes; these bytes. */
static void deliver_raw(struct world *w, uint8_t action)
{
	bool rtcp = take(&w->in) & 1;
	size_t bytes = take(&w->in);

	if (bytes > w->in.left)
		bytes = w->in.left;
	if (may_deliver(w))
		deliver(w, w->in.data, bytes, rtcp, action & RTCP_PORT);
	w->in.data += bytes;
	w->in.left -= bytes;
}

/* A negotiation is settled. Argument: numbers of the keys for RTP and RTCP, 0: still
 * unknown. With RTCP_PORT each port has its key. */
static void apply_keys(struct world *w, uint8_t action)
{
	uint8_t numbers = take(&w->in);
	struct rx_command c = {.encrypted = true,
			       .rtcp_keyed = action & RTCP_PORT};
	uint8_t key[SOCKET_COUNT] = {(uint8_t)(numbers % 16 % (KEYS_MAX + 1)),
				     (uint8_t)(numbers / 16 % (KEYS_MAX + 1))};

	if (!c.rtcp_keyed)
		key[SOCKET_RTCP] = 0;
	if (!model_may_apply(w->model))
		return;
	for (size_t k = 0; k < w->receiver_count; k++) {
		struct receiver *r = &w->receivers[k];

		for (int i = 0; i < SOCKET_COUNT; i++) {
			const struct media_crypto crypto = crypto_of(w, key[i]);

			c.keys[i] = NULL;
			if (key[i] > 0)
				check(session_keys_get(
					      &c.keys[i], &r->keys[i], &crypto,
					      (enum media_srtp_library)k) == 0);
			else
				session_keys_none(&r->keys[i]);
		}
		rx_secure_apply(&r->rx, &c, w->model->now_ns);
	}
	for (int i = 0; i < SOCKET_COUNT; i++)
		model_apply(w->model, i, key[i]);
	w->model->rtcp_keyed = c.rtcp_keyed;
	w->model->rekeying_until_ns = 0;
	deliver_kept(w);
}

static void offer_keys(struct world *w)
{
	for (size_t k = 0; k < w->receiver_count; k++)
		rx_secure_rekey(&w->receivers[k].rx, w->model->now_ns);
	w->model->rekeying_until_ns = w->model->now_ns + REKEY_NS;
}

static void act(struct world *w)
{
	uint8_t action = take(&w->in);

	switch (kind_of(action)) {
	case MAKE_RTP:
		make_rtp(w, action);
		break;
	case MAKE_RTCP:
		make_rtcp(w, action);
		break;
	case DELIVER:
	case DELIVER_RUN:
		deliver_run(w, action);
		break;
	case DELIVER_CHANGED:
		deliver_changed(w, action);
		break;
	case DELIVER_RAW:
		deliver_raw(w, action);
		break;
	case APPLY_KEYS:
		apply_keys(w, action);
		break;
	case PASS_TIME: /* argument: half seconds */
		w->model->now_ns += take(&w->in) * NS_PER_S / 2;
		break;
	case OFFER_KEYS:
	case ACTION_COUNT:
	default:
		offer_keys(w);
		break;
	}
}

/* A key is kept: where libsrtp2 is built on NSS, the first one loads that library, which
 * takes longer than an input. */
static void libsrtp2_begin(void)
{
	static const struct media_crypto any = {
		.suite = MEDIA_SRTP_AEAD_AES_128_GCM};
	static struct srtp_libsrtp2 *kept;
	const char *suite;

	if (!kept)
		check(srtp_libsrtp2_init(&suite) == 0 &&
		      srtp_libsrtp2_new(&kept, &any) == 0);
}

static void world_begin(struct world *w)
{
	uint8_t first = take(&w->in);
	uint8_t step = take(&w->in);

	libsrtp2_begin();
	w->receiver_count =
		first & BUILTIN_ALONE ? 1 : MEDIA_SRTP_LIBRARY_COUNT;
	w->model->now_ns = NS_PER_S;
	for (unsigned i = 0; i <= KEYS_MAX; i++)
		w->model->suites[i] =
			(uint8_t)(((first & ~(unsigned)BUILTIN_ALONE) +
				   (i + MEDIA_SRTP_SUITE_COUNT - 1) * step) %
				  MEDIA_SRTP_SUITE_COUNT);
	for (uint8_t i = 0; i < SSRCS; i++) {
		w->sent[i] = 0xffffu & (i * 0x1ffcu);
		w->sent_rtcp[i] = i * 1020u;
	}
	for (size_t k = 0; k < w->receiver_count; k++) {
		struct rx_session *rx = &w->receivers[k].rx;

		rx->encrypted = true;
		for (int i = 0; i < SOCKET_COUNT; i++) {
			rx->sockets[i].session = rx;
			rx->sockets[i].rtcp = i == SOCKET_RTCP;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;
	static struct model model;

	memset(&w, 0, offsetof(struct world, packets));
	memset(&model, 0, offsetof(struct model, keys));
	w.model = &model;
	w.in = (struct input){data, size};
	world_begin(&w);
	while (w.in.left > 0)
		act(&w);
	for (size_t k = 0; k < w.receiver_count; k++) {
		struct receiver *r = &w.receivers[k];

		while (stash_take(&stash, &r->rx, false))
			;
		for (int i = 0; i < SOCKET_COUNT; i++)
			session_keys_release(&r->keys[i]);
	}
	check(stash.waiting == 0);
	return 0;
}
