#include "capture/candidates.h"

#include <string.h>

#include "capture/pool.h"

#define PORT_MIN      1024
#define STATIC_PT_MAX 34
#define DYNAMIC_PT    96
#define STEP_MAX      50
#define TICKS_MAX     (1 << 24)

void candidates_release(struct candidates *c)
{
	pool_unmap(c->set, CANDIDATE_SETS * sizeof(*c->set));
	*c = (struct candidates){0};
}

static bool is_possible(const struct flow_key *key,
			const struct packet_record *r)
{
	uint8_t pt = packet_pt(r);

	return key->sport >= PORT_MIN && key->dport >= PORT_MIN &&
	       (pt <= STATIC_PT_MAX || pt >= DYNAMIC_PT);
}

static bool follows(const struct packet_record *before,
		    const struct packet_record *r)
{
	uint16_t step = (uint16_t)(r->seq - before->seq);
	uint32_t ticks = r->rtp_ts - before->rtp_ts;

	return step >= 1 && step <= STEP_MAX && ticks <= TICKS_MAX;
}

static struct candidate *slot(struct candidates *c, const struct flow_key *key)
{
	struct candidate *set = c->set[flow_key_hash(key) % CANDIDATE_SETS];
	struct candidate *oldest = &set[0];

	for (size_t i = 0; i < CANDIDATE_WAYS; i++) {
		if (set[i].last > 0 &&
		    memcmp(&set[i].key, key, sizeof(*key)) == 0)
			return &set[i];
		if (set[i].last < oldest->last)
			oldest = &set[i];
	}
	oldest->key = *key;
	oldest->packets = 0;
	return oldest;
}

struct candidate *candidates_take(struct candidates *c,
				  const struct flow_key *key,
				  const struct packet_record *r)
{
	struct candidate *s;

	if (!is_possible(key, r))
		return NULL;
	if (!c->set)
		c->set = pool_map(CANDIDATE_SETS * sizeof(*c->set));
	if (!c->set)
		return NULL;
	s = slot(c, key);
	s->last = ++c->calls;
	if (s->packets > 0 && !follows(&s->record[s->packets - 1], r))
		s->packets = 0;
	s->record[s->packets++] = *r;
	return s->packets == CANDIDATE_PACKETS ? s : NULL;
}

void candidates_drop(struct candidate *c)
{
	c->last = 0;
	c->packets = 0;
}
