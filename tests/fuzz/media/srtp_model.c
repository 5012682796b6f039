#include "srtp_model.h"

#include "base/big_endian.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct srtp_suite_info *model_suite(const struct model *m, uint8_t key)
{
	return srtp_suite_info((enum media_srtp_suite)m->suites[key]);
}

size_t model_rtp_header(const uint8_t *data, size_t bytes)
{
	size_t header;

	if (bytes < 12 || (data[0] & 0xc0) != 0x80)
		return 0;
	header = 12 + 4u * (data[0] & 15u);
	if (data[0] & 0x10)
		header += header + 4 <= bytes ? 4 + 4u * be16(data + header + 2)
					      : 4;
	return header <= bytes ? header : 0;
}

static bool is_malformed(const struct srtp_suite_info *suite,
			 const uint8_t *data, size_t bytes, bool rtcp)
{
	if (rtcp)
		return bytes < (size_t)SRTCP_HEADER_BYTES + SRTCP_INDEX_BYTES +
				       suite->rtcp_tag_bytes ||
		       (data[0] & 0xc0) != 0x80;
	return bytes < suite->tag_bytes ||
	       model_rtp_header(data, bytes - suite->tag_bytes) == 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The index with this sequence number that is nearest to the highest one. */
static uint64_t index_near(uint64_t highest, uint16_t seq)
{
	uint64_t same = (highest & ~UINT64_C(0xffff)) | seq;

	if (distance(same + 0x10000, highest) < distance(same, highest))
		return same + 0x10000;
	if (same >= 0x10000 &&
	    distance(same - 0x10000, highest) < distance(same, highest))
		return same - 0x10000;
	return same;
}

static bool window_take(struct model_window *win, uint64_t index)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < win->count; i++) {
		if (win->seen[i] == index)
			return false;
		if (win->seen[i] > highest)
			highest = win->seen[i];
	}
	if (win->count > 0 && index + SRTP_WINDOW <= highest)
		return false;
	if (win->count == PACKETS_MAX)
		abort();
	win->seen[win->count++] = index;
	return true;
}

static struct model_source *source_of(struct model_key *k, uint32_t ssrc)
{
	for (size_t i = 0; i < SRTP_SOURCES_MAX; i++) {
		if (k->sources[i].used && k->sources[i].ssrc == ssrc)
			return &k->sources[i];
	}
	return NULL;
}

/* An authentic packet of this SSRC has arrived. */
static struct model_source *source_touch(struct model_key *k, uint32_t ssrc)
{
	struct model_source *s = source_of(k, ssrc);

	if (!s) {
		s = &k->sources[0];
		for (size_t i = 0; s->used && i < SRTP_SOURCES_MAX; i++) {
			if (!k->sources[i].used ||
			    k->sources[i].touched < s->touched)
				s = &k->sources[i];
		}
		memset(s, 0, sizeof(*s));
		s->used = true;
		s->ssrc = ssrc;
	}
	s->touched = ++k->uses;
	return s;
}

static int model_open_rtp(struct model_key *k, const struct packet *p)
{
	uint16_t seq = be16(p->data + 2);
	struct model_source *s = source_of(k, be32(p->data + 8));
	uint64_t index =
		s && s->has_highest ? index_near(s->highest, seq) : seq;

	/* a peer may begin again with 0 at its new key */
	if (index != p->index && s && s->continued && p->index == seq)
		index = seq;
	if (index != p->index)
		return -EACCES;
	s = source_touch(k, be32(p->data + 8));
	/* the first packet at a key says from where the indexes go on */
	if (s->continued)
		s->has_highest = false;
	s->continued = false;
	if (!window_take(&s->rtp, index))
		return -EALREADY;
	if (!s->has_highest || index > s->highest)
		s->highest = index;
	s->has_highest = true;
	return 0;
}

/* What one key gives.
 * @param p  the packet; NULL: none of the sender's */
static int model_open(const struct model *m, struct model_key *k,
		      const struct packet *p, const uint8_t *data, size_t bytes,
		      bool rtcp)
{
	struct model_source *s;

	if (is_malformed(model_suite(m, k->number), data, bytes, rtcp))
		return -EBADMSG;
	if (!p || p->rtcp != rtcp || p->key != k->number || !p->encrypted)
		return -EACCES;
	if (!rtcp)
		return model_open_rtp(k, p);
	s = source_touch(k, be32(p->data + 4));
	return window_take(&s->rtcp, p->index) ? 0 : -EALREADY;
}

bool model_rekeying(const struct model *m)
{
	return m->now_ns < m->rekeying_until_ns;
}

static bool is_refusal(int err)
{
	return err == -EACCES || err == -EBADMSG;
}

static bool is_valid(const struct model *m, const struct model_port *port,
		     size_t i)
{
	return port->replaced[i].key &&
	       ((i == 0 && !port->key) ||
		m->now_ns < port->replaced[i].until_ns);
}

static const struct model_port *port_of(const struct model *m, bool rtcp_port)
{
	return &m->ports[m->rtcp_keyed && rtcp_port ? SOCKET_RTCP : SOCKET_RTP];
}

/* What all keys give: each is tried, the newest first. A packet that none opens waits
 * while there is no key, or the next one is negotiated. */
int model_receive(struct model *m, const struct packet *p, const uint8_t *data,
		  size_t bytes, bool rtcp, bool rtcp_port)
{
	const struct model_port *port = port_of(m, rtcp_port);
	int err = -EBADMSG;
	int last;

	if (!port->key && !is_valid(m, port, 0))
		return -ENOKEY;
	if (bytes > STASH_DATAGRAM_BYTES)
		return -EBADMSG;
	if (port->key) {
		err = model_open(m, port->key, p, data, bytes, rtcp);
		if (!is_refusal(err))
			return err;
	}
	for (size_t i = 0; i < KEYS_REPLACED_MAX; i++) {
		if (!is_valid(m, port, i))
			continue;
		last = model_open(m, port->replaced[i].key, p, data, bytes,
				  rtcp);
		if (!is_refusal(last))
			return last;
		if (last == -EACCES)
			err = last;
	}
	if (!port->key)
		return -ENOKEY;
	return model_rekeying(m) ? -EACCES : err;
}

bool model_may_apply(const struct model *m)
{
	return m->ports[SOCKET_RTP].key_count < APPLIED_MAX &&
	       m->ports[SOCKET_RTCP].key_count < APPLIED_MAX;
}

void model_apply(struct model *m, int at, uint8_t number)
{
	struct model_port *port = &m->ports[at];
	struct model_key *next = NULL;
	struct model_key *before;

	if (number > 0 && number == port->in_force)
		return;
	if (number > 0) {
		next = &m->keys[at][port->key_count++];
		memset(next, 0, sizeof(*next));
		next->number = number;
	}
	port->in_force = number;
	if (!next && !port->key)
		return;
	if (port->key) {
		memmove(port->replaced + 1, port->replaced,
			sizeof(port->replaced) - sizeof(port->replaced[0]));
		port->replaced[0].key = port->key;
	}
	port->replaced[0].until_ns = m->now_ns + KEY_REPLACED_NS;
	port->key = next;
	before = port->replaced[0].key;
	for (size_t i = 0; next && before && i < SRTP_SOURCES_MAX; i++) {
		struct model_source *s = &next->sources[i];

		*s = before->sources[i];
		s->continued = s->has_highest;
		s->touched = 0;
		s->rtp.count = s->rtcp.count = 0;
	}
}
