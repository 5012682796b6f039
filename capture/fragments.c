#include "capture/fragments.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define UNIT        8 /* offsets of fragments are multiples of it */
#define UNITS       (FRAGMENT_BYTES / UNIT)
#define IPV4_HEADER 20
#define IPV6_HEADER 40

struct fragment_set {
	struct datagram d; /* addresses and part.id, part.protocol */
	int64_t ns;
	uint64_t last; /* value of `calls` at its last part; 0: free */
	bool cut;      /* its first part was, by the capture, and is counted */
	uint32_t end;  /* length of the datagram; 0: the last part is missing */
	uint32_t units; /* received */
	uint64_t there[UNITS / 64];
	uint8_t header[IPV6_HEADER]; /* IP, right-aligned: data follows */
	uint8_t data[FRAGMENT_BYTES];
};

_Static_assert(offsetof(struct fragment_set, data) ==
		       offsetof(struct fragment_set, header) + IPV6_HEADER,
	       "one packet");

static bool is_there(const struct fragment_set *s, uint32_t unit)
{
	return s->there[unit / 64] >> (unit % 64) & 1;
}

static bool is_part_of(const struct fragment_set *s, const struct datagram *d)
{
	return s->d.part.id == d->part.id &&
	       s->d.part.protocol == d->part.protocol &&
	       memcmp(&s->d.src, &d->src, sizeof(d->src)) == 0 &&
	       memcmp(&s->d.dst, &d->dst, sizeof(d->dst)) == 0;
}

/* The header of a packet that was never fragmented, without options. */
static const uint8_t *write_header(struct fragment_set *s, size_t bytes)
{
	uint8_t *p = s->header;

	if (p[0] >> 4 == 6) {
		p[4] = (uint8_t)(bytes >> 8);
		p[5] = (uint8_t)bytes;
		p[6] = s->d.part.protocol;
		return p;
	}
	p += IPV6_HEADER - IPV4_HEADER;
	bytes += IPV4_HEADER;
	p[0] = 0x45;
	p[2] = (uint8_t)(bytes >> 8);
	p[3] = (uint8_t)bytes;
	p[6] = 0;
	p[7] = 0;
	return p;
}

static void hand_on(struct fragment_set *s, uint32_t captured,
		    enum fragments_fate fate, fragments_h *handler, void *arg)
{
	struct datagram d = s->d;
	uint8_t protocol = d.part.protocol;
	enum datagram_kind kind =
		datagram_transport(&d, protocol, s->data, captured,
				   s->end > captured ? s->end : captured);

	d.ip = write_header(s, s->end > captured ? s->end : captured);
	d.fragment = fate != FRAGMENTS_WHOLE;
	handler(fate, kind, &d, s->ns, arg);
}

/* Give a datagram up: hand out its beginning up to the first gap, unless that was
 * cut and handed out when it came. */
static void drop(struct fragments *f, struct fragment_set *s,
		 fragments_h *handler, void *arg)
{
	uint32_t units = 0;
	uint32_t bytes;

	s->last = 0;
	if (s->cut)
		return;
	while (units < UNITS && is_there(s, units))
		units++;
	bytes = units * UNIT;
	if (s->end && bytes > s->end)
		bytes = s->end;
	f->incomplete++;
	if (bytes > 0)
		hand_on(s, bytes, FRAGMENTS_GIVEN_UP, handler, arg);
}

static void begin(struct fragment_set *s, const struct datagram *d)
{
	s->d = *d;
	s->cut = false;
	s->end = 0;
	s->units = 0;
	memset(s->there, 0, sizeof(s->there));
	memset(s->header, 0, sizeof(s->header));
	if (d->ip[0] >> 4 == 6)
		memcpy(s->header, d->ip, IPV6_HEADER);
	else
		memcpy(s->header + IPV6_HEADER - IPV4_HEADER, d->ip,
		       IPV4_HEADER);
}

/* The set of a fragment, or a new one. @return NULL: no memory */
static struct fragment_set *find(struct fragments *f, const struct datagram *d,
				 int64_t ns, fragments_h *handler, void *arg)
{
	struct fragment_set **place = &f->set[0];
	struct fragment_set *s;

	for (size_t i = 0; i < FRAGMENT_SETS; i++) {
		s = f->set[i];
		if (s && s->last && is_part_of(s, d)) {
			if (ns - s->ns <= FRAGMENT_TIMEOUT_NS)
				return s;
			/* another datagram with the same identification */
			drop(f, s, handler, arg);
			begin(s, d);
			return s;
		}
		if (*place && (*place)->last &&
		    (!s || s->last < (*place)->last))
			place = &f->set[i];
	}
	if (!*place)
		*place = malloc(sizeof(**place));
	else if ((*place)->last)
		drop(f, *place, handler, arg);
	if (*place)
		begin(*place, d);
	return *place;
}

static void add(struct fragment_set *s, const struct datagram *d)
{
	uint32_t from = d->part.at / UNIT;
	uint32_t to = (d->part.at + (uint32_t)d->bytes + UNIT - 1) / UNIT;

	memcpy(s->data + d->part.at, d->payload, d->bytes);
	if (!d->part.more)
		s->end = d->part.at + (uint32_t)d->bytes;
	for (uint32_t i = from; i < to; i++) {
		s->units += !is_there(s, i);
		s->there[i / 64] |= UINT64_C(1) << (i % 64);
	}
}

/* Parts behind the end, which contradict the last fragment, count as units but do
 * not fill a gap: so each unit before the end is checked. */
static bool is_whole(const struct fragment_set *s)
{
	uint32_t units = (s->end + UNIT - 1) / UNIT;

	if (s->end == 0 || s->units < units)
		return false;
	while (units > 0 && is_there(s, units - 1))
		units--;
	return units == 0;
}

/* A first part that the capture cut is all that there will be of its datagram: hand
 * it out. The other parts join its set, so that the datagram counts once. */
static void take_cut(struct fragments *f, const struct datagram *d, int64_t ns,
		     fragments_h *handler, void *arg)
{
	struct fragment_set *s = find(f, d, ns, handler, arg);
	struct datagram first = *d;
	enum datagram_kind kind;

	f->incomplete += !s || !s->cut;
	if (s) {
		s->cut = true;
		s->last = ++f->calls;
		s->ns = ns;
	}
	kind = datagram_transport(&first, d->part.protocol, d->payload,
				  d->captured, d->bytes);
	first.fragment = true;
	handler(FRAGMENTS_CUT, kind, &first, ns, arg);
}

void fragments_take(struct fragments *f, const struct datagram *d, int64_t ns,
		    fragments_h *handler, void *arg)
{
	struct fragment_set *s;

	if (d->captured < d->bytes) {
		if (d->part.at == 0)
			take_cut(f, d, ns, handler, arg);
		return;
	}
	/* all but the last fragment are a multiple of 8 octets long */
	if (d->bytes == 0 || d->part.at + d->bytes > FRAGMENT_BYTES ||
	    (d->part.more && d->bytes % UNIT != 0))
		return;
	s = find(f, d, ns, handler, arg);
	if (!s)
		return;
	s->last = ++f->calls;
	s->ns = ns;
	add(s, d);
	if (!is_whole(s))
		return;
	f->whole++;
	s->last = 0;
	hand_on(s, s->end, FRAGMENTS_WHOLE, handler, arg);
}

void fragments_flush(struct fragments *f, fragments_h *handler, void *arg)
{
	for (size_t i = 0; i < FRAGMENT_SETS; i++) {
		if (f->set[i] && f->set[i]->last)
			drop(f, f->set[i], handler, arg);
	}
}

void fragments_release(struct fragments *f)
{
	for (size_t i = 0; i < FRAGMENT_SETS; i++)
		free(f->set[i]);
	*f = (struct fragments){0};
}
