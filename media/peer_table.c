#include "media/peer_table.h"

#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Announced SSRCs of a session, those replaced included; the oldest makes room. */
#define SSRCS 6

#define NONE UINT32_MAX

_Static_assert(SSRCS > MEDIA_SSRCS_MAX, "room for replaced ones");

/** A session. */
struct peer {
	struct peer_addr addrs[2]; /* RTP, RTCP; port 0: none, or the same */
	uint32_t places[2];        /* theirs; NONE */
	uint32_t ssrcs[SSRCS];     /* the newest first */
	uint32_t next[SSRCS];      /* chain of the SSRC's bucket */
	uint8_t ssrc_count;
	uint8_t announced; /* of these: in force */
	bool ended;
	bool heard; /* without announced SSRC: heard_ssrc is valid */
	uint32_t heard_ssrc;
};

/** An address that peers of sessions have. */
struct place {
	struct peer_addr addr;
	uint32_t next;        /* chain of the bucket, or of the free ones */
	uint32_t live;        /* sessions that have not ended */
	uint32_t unannounced; /* of these: without SSRC */
	uint32_t ended;       /* without SSRC, and ended */
	uint32_t live_xor;    /* of their slots: of one session it is its */
	uint32_t ended_xor;
};

struct peer_table {
	uint32_t slots;
	uint32_t buckets; /* of each kind, a power of two */
	uint64_t seed;
	uint32_t free_place;
	uint32_t *by_ssrc;  /* first slot * SSRCS + index; NONE */
	uint32_t *by_place; /* first place; NONE */
	struct peer *peers;
	struct place *places;
};

int peer_table_new(struct peer_table **ret, uint32_t slots)
{
	struct peer_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->slots = slots;
	t->buckets = 64;
	while (t->buckets < 2 * slots)
		t->buckets *= 2;
	random_fill(&t->seed, sizeof(t->seed));
	t->by_ssrc = malloc(t->buckets * sizeof(*t->by_ssrc));
	t->by_place = malloc(t->buckets * sizeof(*t->by_place));
	t->peers = calloc(slots, sizeof(*t->peers));
	t->places = calloc(2 * (size_t)slots, sizeof(*t->places));
	if (!t->by_ssrc || !t->by_place || !t->peers || !t->places) {
		peer_table_free(t);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->buckets; i++) {
		t->by_ssrc[i] = NONE;
		t->by_place[i] = NONE;
	}
	for (uint32_t i = 0; i < slots; i++) {
		t->peers[i].places[0] = NONE;
		t->peers[i].places[1] = NONE;
	}
	for (uint32_t i = 0; i < 2 * slots; i++)
		t->places[i].next = i + 1 < 2 * slots ? i + 1 : NONE;
	*ret = t;
	return 0;
}

struct peer_table *peer_table_free(struct peer_table *t)
{
	if (t) {
		free(t->by_ssrc);
		free(t->by_place);
		free(t->peers);
		free(t->places);
	}
	free(t);
	return NULL;
}

bool peer_addr_of(struct peer_addr *ret, const struct media_addr *addr)
{
	uint32_t v4;

	memset(ret, 0, sizeof(*ret));
	if (addr->len == 0)
		return false;
	if (addr->ss.ss_family == AF_INET) {
		memcpy(&v4, &addr->ss.in.sin_addr, sizeof(v4));
		ret->ip[1] = v4;
		ret->port = AF_INET << 16 | addr->ss.in.sin_port;
	} else if (addr->ss.ss_family == AF_INET6) {
		memcpy(ret->ip, &addr->ss.in6.sin6_addr, sizeof(ret->ip));
		ret->port = AF_INET6 << 16 | addr->ss.in6.sin6_port;
	}
	return ret->port != 0;
}

static bool addr_same(const struct peer_addr *a, const struct peer_addr *b)
{
	return a->port == b->port && a->ip[1] == b->ip[1] &&
	       a->ip[0] == b->ip[0];
}

/* The finishing steps of MurmurHash3, Appleby 2011. */
static uint32_t bucket_of(const struct peer_table *t, uint64_t key)
{
	key ^= t->seed;
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64_C(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return (uint32_t)key & (t->buckets - 1);
}

static uint32_t place_bucket(const struct peer_table *t,
			     const struct peer_addr *a)
{
	uint32_t first = bucket_of(t, a->ip[0]);

	return bucket_of(t, a->ip[1] ^ (uint64_t)a->port << 32 ^ first);
}

/* ---- addresses ---- */

static uint32_t place_find(const struct peer_table *t,
			   const struct peer_addr *addr)
{
	uint32_t i = t->by_place[place_bucket(t, addr)];

	while (i != NONE && !addr_same(&t->places[i].addr, addr))
		i = t->places[i].next;
	return i;
}

/* There are two places for each session: one is free. */
static uint32_t place_get(struct peer_table *t, const struct peer_addr *addr)
{
	uint32_t i = place_find(t, addr);
	uint32_t *first = &t->by_place[place_bucket(t, addr)];

	if (i != NONE)
		return i;
	i = t->free_place;
	t->free_place = t->places[i].next;
	t->places[i] = (struct place){.addr = *addr, .next = *first};
	*first = i;
	return i;
}

static void place_drop_unused(struct peer_table *t, uint32_t i)
{
	struct place *p = &t->places[i];
	uint32_t *at = &t->by_place[place_bucket(t, &p->addr)];

	if (p->live > 0 || p->ended > 0)
		return;
	while (*at != i)
		at = &t->places[*at].next;
	*at = p->next;
	p->next = t->free_place;
	t->free_place = i;
}

static void places_leave(struct peer_table *t, uint32_t slot)
{
	struct peer *f = &t->peers[slot];

	for (int i = 0; i < 2; i++) {
		struct place *p;

		if (f->places[i] == NONE)
			continue;
		p = &t->places[f->places[i]];
		if (f->ended) {
			p->ended--;
			p->ended_xor ^= slot;
		} else {
			p->live--;
			p->live_xor ^= slot;
			p->unannounced -= f->announced == 0;
		}
		place_drop_unused(t, f->places[i]);
		f->places[i] = NONE;
	}
}

static void places_join(struct peer_table *t, uint32_t slot)
{
	struct peer *f = &t->peers[slot];

	for (int i = 0; i < 2; i++) {
		struct place *p;

		if (f->addrs[i].port == 0)
			continue;
		f->places[i] = place_get(t, &f->addrs[i]);
		p = &t->places[f->places[i]];
		if (f->ended) {
			p->ended++;
			p->ended_xor ^= slot;
		} else {
			p->live++;
			p->live_xor ^= slot;
			p->unannounced += f->announced == 0;
		}
	}
}

/* ---- SSRCs ---- */

static void ssrcs_unlink(struct peer_table *t, uint32_t slot)
{
	struct peer *f = &t->peers[slot];

	for (uint32_t i = 0; i < f->ssrc_count; i++) {
		uint32_t node = slot * SSRCS + i;
		uint32_t *at = &t->by_ssrc[bucket_of(t, f->ssrcs[i])];

		while (*at != node)
			at = &t->peers[*at / SSRCS].next[*at % SSRCS];
		*at = f->next[i];
	}
}

static void ssrcs_link(struct peer_table *t, uint32_t slot)
{
	struct peer *f = &t->peers[slot];

	for (uint32_t i = 0; i < f->ssrc_count; i++) {
		uint32_t *first = &t->by_ssrc[bucket_of(t, f->ssrcs[i])];

		f->next[i] = *first;
		*first = slot * SSRCS + i;
	}
}

static bool ssrc_among(const uint32_t *ssrcs, size_t count, uint32_t ssrc)
{
	for (size_t i = 0; i < count; i++) {
		if (ssrcs[i] == ssrc)
			return true;
	}
	return false;
}

static void ssrcs_replace(struct peer *f, const struct peer_told *peer)
{
	uint32_t all[SSRCS];
	uint8_t count = 0;

	for (size_t i = 0; i < peer->ssrc_count; i++) {
		if (!ssrc_among(all, count, peer->ssrcs[i]))
			all[count++] = peer->ssrcs[i];
	}
	f->announced = count;
	for (size_t i = 0; i < f->ssrc_count && count < SSRCS; i++) {
		if (!ssrc_among(all, count, f->ssrcs[i]))
			all[count++] = f->ssrcs[i];
	}
	memcpy(f->ssrcs, all, count * sizeof(all[0]));
	f->ssrc_count = count;
}

/* ---- */

static bool peer_at(const struct peer *f, const struct peer_addr *addr)
{
	return addr_same(&f->addrs[0], addr) || addr_same(&f->addrs[1], addr);
}

static int addr_conflict(const struct peer_table *t, uint32_t slot,
			 const struct peer_addr *addr, bool announces)
{
	const struct peer *f = &t->peers[slot];
	uint32_t i = addr->port ? place_find(t, addr) : NONE;
	uint32_t others, unannounced;

	if (i == NONE)
		return 0;
	others = t->places[i].live;
	unannounced = t->places[i].unannounced;
	if (!f->ended && (f->places[0] == i || f->places[1] == i)) {
		others--;
		unannounced -= f->announced == 0;
	}
	return others > 0 && (unannounced > 0 || !announces) ? -EADDRINUSE : 0;
}

static int ssrc_conflict(const struct peer_table *t, uint32_t slot,
			 const struct peer_addr addrs[static 2], uint32_t ssrc)
{
	uint32_t node = t->by_ssrc[bucket_of(t, ssrc)];
	unsigned same = 0;

	for (; node != NONE; node = t->peers[node / SSRCS].next[node % SSRCS]) {
		const struct peer *f = &t->peers[node / SSRCS];

		if (node / SSRCS == slot || f->ended ||
		    node % SSRCS >= f->announced ||
		    f->ssrcs[node % SSRCS] != ssrc)
			continue;
		if (++same >= PEER_SAME_SSRC_MAX)
			return -EEXIST;
		for (int i = 0; i < 2; i++) {
			if (addrs[i].port && peer_at(f, &addrs[i]))
				return -EEXIST;
		}
	}
	return 0;
}

int peer_table_settle(struct peer_table *t, uint32_t slot,
		      const struct peer_told *peer)
{
	struct peer *f = &t->peers[slot];
	struct peer_addr addrs[2];
	int err = 0;

	peer_addr_of(&addrs[0], &peer->rtp);
	peer_addr_of(&addrs[1], &peer->rtcp);
	if (addr_same(&addrs[0], &addrs[1]))
		addrs[1] = (struct peer_addr){.port = 0};
	for (int i = 0; !err && i < 2; i++)
		err = addr_conflict(t, slot, &addrs[i], peer->ssrc_count > 0);
	for (size_t i = 0; !err && i < peer->ssrc_count; i++)
		err = ssrc_conflict(t, slot, addrs, peer->ssrcs[i]);
	if (err)
		return err;
	places_leave(t, slot);
	ssrcs_unlink(t, slot);
	ssrcs_replace(f, peer);
	memcpy(f->addrs, addrs, sizeof(addrs));
	ssrcs_link(t, slot);
	places_join(t, slot);
	return 0;
}

void peer_table_end(struct peer_table *t, uint32_t slot)
{
	struct peer *f = &t->peers[slot];

	places_leave(t, slot);
	f->ended = true;
	if (f->announced == 0) /* others are found by their SSRC */
		places_join(t, slot);
}

void peer_table_remove(struct peer_table *t, uint32_t slot)
{
	places_leave(t, slot);
	ssrcs_unlink(t, slot);
	t->peers[slot] = (struct peer){.places = {NONE, NONE}};
}

/* @return slot; NONE */
static uint32_t find_by_place(struct peer_table *t,
			      const struct peer_addr *source, uint32_t ssrc)
{
	uint32_t i = place_find(t, source);
	const struct place *p = i == NONE ? NULL : &t->places[i];
	struct peer *f;

	if (!p)
		return NONE;
	if (p->live == 1 && p->unannounced == 1) {
		f = &t->peers[p->live_xor];
		f->heard = true;
		f->heard_ssrc = ssrc;
		return p->live_xor;
	}
	/* of an ended one what is on its way; not the next call from there */
	if (p->live == 0 && p->ended == 1) {
		f = &t->peers[p->ended_xor];
		return f->heard && f->heard_ssrc == ssrc ? p->ended_xor : NONE;
	}
	return NONE;
}

bool peer_table_find(struct peer_table *t, const struct peer_addr *source,
		     uint32_t ssrc, uint32_t *ret_slot)
{
	uint32_t node = t->by_ssrc[bucket_of(t, ssrc)];
	uint32_t slot = NONE;
	uint32_t elsewhere = NONE;
	unsigned elsewhere_count = 0;

	for (; node != NONE; node = t->peers[node / SSRCS].next[node % SSRCS]) {
		const struct peer *f = &t->peers[node / SSRCS];
		bool in_force = !f->ended && node % SSRCS < f->announced;

		if (f->ssrcs[node % SSRCS] != ssrc)
			continue;
		if (!peer_at(f, source)) {
			elsewhere = node / SSRCS;
			elsewhere_count++;
		} else if (in_force) {
			*ret_slot = node / SSRCS;
			return true;
		} else { /* ended, or announced before */
			slot = node / SSRCS;
		}
	}
	if (slot == NONE)
		slot = find_by_place(t, source, ssrc);
	if (slot == NONE && elsewhere_count == 1)
		slot = elsewhere;
	if (slot == NONE)
		return false;
	*ret_slot = slot;
	return true;
}
