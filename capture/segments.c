#include "capture/segments.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "capture/sdp.h"

#define AHEAD_MAX      8         /* pieces behind a gap */
#define REPEATED_MAX   (1 << 20) /* bytes */
#define START_LINE_MAX 1024      /* a longer first line: not SIP */

struct piece {
	uint32_t from;
	uint32_t to;
};

struct segment_flow {
	struct flow_key key;
	uint64_t last; /* value of `calls` at its last segment; 0: free */
	uint32_t seq;  /* of data[0] */
	uint32_t used; /* bytes up to the first gap */
	uint32_t pieces;
	struct piece ahead[AHEAD_MAX];
	uint8_t data[SEGMENT_BYTES];
};

static void consume(struct segment_flow *f, uint32_t bytes)
{
	uint32_t end = f->used;

	for (uint32_t i = 0; i < f->pieces; i++) {
		end = f->ahead[i].to > end ? f->ahead[i].to : end;
		f->ahead[i].from -= bytes;
		f->ahead[i].to -= bytes;
	}
	memmove(f->data, f->data + bytes, end - bytes);
	f->seq += bytes;
	f->used -= bytes;
}

/* Join the pieces that no gap precedes any more. */
static void join(struct segment_flow *f)
{
	for (uint32_t i = 0; i < f->pieces;) {
		if (f->ahead[i].from > f->used) {
			i++;
			continue;
		}
		if (f->ahead[i].to > f->used)
			f->used = f->ahead[i].to;
		f->ahead[i] = f->ahead[--f->pieces];
		i = 0;
	}
}

/* Drop everything up to the end of the first gap. */
static void skip_gap(struct segment_flow *f)
{
	uint32_t from = f->ahead[0].from;

	for (uint32_t i = 1; i < f->pieces; i++)
		from = f->ahead[i].from < from ? f->ahead[i].from : from;
	f->used = from;
	consume(f, from);
	join(f);
}

/* The value of a header field. @return NULL: the line is another field */
static const char *header(const char *at, const char *end, const char *name)
{
	size_t n = strlen(name);

	if ((size_t)(end - at) <= n || strncasecmp(at, name, n) != 0)
		return NULL;
	for (at += n; at < end && (*at == ' ' || *at == '\t'); at++)
		;
	return at < end && *at == ':' ? at + 1 : NULL;
}

/* Find Content-Length in the header fields up to `end`. @return false: none */
static bool content_length(const char *at, const char *end, uint32_t *ret)
{
	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		const char *value;

		if (!eol)
			eol = end;
		value = header(at, eol, "Content-Length");
		if (!value)
			value = header(at, eol, "l");
		at = eol + 1;
		if (!value)
			continue;
		while (value < eol && (*value == ' ' || *value == '\t'))
			value++;
		if (value == eol || *value < '0' || *value > '9')
			return false;
		*ret = 0;
		for (; value < eol && *value >= '0' && *value <= '9'; value++) {
			*ret = *ret * 10 + (uint32_t)(*value - '0');
			if (*ret > SEGMENT_BYTES)
				return true;
		}
		return true;
	}
	return false;
}

enum progress {
	PROGRESS_WAIT,
	PROGRESS_MORE,
	PROGRESS_NO_SIP
};

/* Hand out the message at the beginning of the data, if it is complete. */
static enum progress take_message(struct segment_flow *f, segments_h *handler,
				  void *arg)
{
	uint32_t blank = 0;
	const uint8_t *body;
	uint32_t head;
	uint32_t length;

	/* keep-alives (RFC 5626 section 4.4.1) */
	while (blank < f->used &&
	       (f->data[blank] == '\r' || f->data[blank] == '\n'))
		blank++;
	consume(f, blank);
	if (f->used == 0)
		return PROGRESS_WAIT;
	if (!sdp_is_sip(f->data, f->used))
		return f->used < START_LINE_MAX &&
				       !memchr(f->data, '\n', f->used)
			       ? PROGRESS_WAIT
			       : PROGRESS_NO_SIP;
	body = memmem(f->data, f->used, "\r\n\r\n", 4);
	if (!body)
		return PROGRESS_WAIT;
	head = (uint32_t)(body - f->data) + 4;
	if (!content_length((const char *)f->data, (const char *)body, &length))
		length = f->used - head; /* not allowed: take all data */
	if (length > SEGMENT_BYTES - head)
		return PROGRESS_NO_SIP;
	if (f->used < head + length)
		return PROGRESS_WAIT;
	handler(f->data, head + length, false, arg);
	consume(f, head + length);
	return PROGRESS_MORE;
}

static enum progress take_messages(struct segment_flow *f, segments_h *handler,
				   void *arg)
{
	enum progress progress;

	do {
		progress = take_message(f, handler, arg);
	} while (progress == PROGRESS_MORE);
	return progress;
}

/* Forget the connection. Hand out the message that has begun, as cut, and the
 * complete messages behind each gap. */
static void drop(struct segment_flow *f, segments_h *handler, void *arg)
{
	for (;;) {
		if (sdp_is_sip(f->data, f->used))
			handler(f->data, f->used, true, arg);
		if (f->pieces == 0)
			break;
		skip_gap(f);
		take_messages(f, handler, arg);
	}
	f->last = 0;
	f->used = 0;
}

/* Copy a segment to its place. @return false: it is outside of the buffer, or there
 * are too many gaps */
static bool place(struct segment_flow *f, const struct datagram *d)
{
	int32_t ahead = (int32_t)(d->tcp.seq - f->seq);
	const uint8_t *p = d->payload;
	size_t n = d->captured;
	size_t at = ahead > 0 ? (size_t)ahead : 0;

	if (ahead < -REPEATED_MAX)
		return false; /* another connection between the same ports */
	if (ahead < 0) {
		size_t before = (size_t) - (int64_t)ahead;

		if (n <= before)
			return true; /* a repetition */
		p += before;
		n -= before;
	}
	if (at + n > SEGMENT_BYTES || (at > f->used && f->pieces == AHEAD_MAX))
		return false;
	memcpy(f->data + at, p, n);
	if (at > f->used)
		f->ahead[f->pieces++] =
			(struct piece){(uint32_t)at, (uint32_t)(at + n)};
	else if (at + n > f->used)
		f->used = (uint32_t)(at + n);
	join(f);
	return true;
}

static struct segment_flow *begin(struct segment_flow **place,
				  const struct datagram *d, segments_h *handler,
				  void *arg)
{
	struct segment_flow *f = *place;

	if (!sdp_is_sip(d->payload, d->captured))
		return NULL;
	if (!f) {
		f = malloc(sizeof(*f));
		if (!f)
			return NULL;
		*place = f;
	} else if (f->last) {
		drop(f, handler, arg);
	}
	f->key = d->flow;
	f->key.ssrc = 0;
	f->last = 0;
	f->seq = d->tcp.seq;
	f->used = 0;
	f->pieces = 0;
	return f;
}

/* The connection of a segment; a new one if the segment begins a SIP message.
 * @return NULL: neither */
static struct segment_flow *find(struct segments *s, const struct datagram *d,
				 segments_h *handler, void *arg)
{
	struct flow_key key = d->flow;
	struct segment_flow **set;
	struct segment_flow **oldest;

	key.ssrc = 0;
	set = s->flow[flow_key_hash(&key) % SEGMENT_SETS];
	oldest = &set[0];
	for (size_t i = 0; i < SEGMENT_WAYS; i++) {
		if (set[i] && set[i]->last &&
		    flow_key_equal(&set[i]->key, &key))
			return set[i];
		if (*oldest && (*oldest)->last &&
		    (!set[i] || set[i]->last < (*oldest)->last))
			oldest = &set[i];
	}
	return begin(oldest, d, handler, arg);
}

void segments_take(struct segments *s, const struct datagram *d,
		   segments_h *handler, void *arg)
{
	struct segment_flow *f;
	enum progress progress;

	if (d->captured == 0 && !d->tcp.end)
		return;
	f = find(s, d, handler, arg);
	if (!f)
		return;
	if (!place(f, d)) {
		/* start anew with this segment */
		drop(f, handler, arg);
		f = find(s, d, handler, arg);
		if (!f || !place(f, d))
			return;
	}
	f->last = ++s->calls;
	progress = take_messages(f, handler, arg);
	if (progress == PROGRESS_NO_SIP || d->captured < d->bytes ||
	    d->tcp.end || f->used == SEGMENT_BYTES)
		drop(f, handler, arg);
}

void segments_flush(struct segments *s, segments_h *handler, void *arg)
{
	for (size_t i = 0; i < SEGMENT_SETS; i++) {
		for (size_t k = 0; k < SEGMENT_WAYS; k++) {
			if (s->flow[i][k] && s->flow[i][k]->last)
				drop(s->flow[i][k], handler, arg);
		}
	}
}

void segments_release(struct segments *s)
{
	for (size_t i = 0; i < SEGMENT_SETS; i++) {
		for (size_t k = 0; k < SEGMENT_WAYS; k++)
			free(s->flow[i][k]);
	}
	*s = (struct segments){0};
}
