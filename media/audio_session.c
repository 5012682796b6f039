#include "base/clock.h"
#include "media/audio.h"
#include "media/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Samples are measured in parts of this length. */
#define SLICE_MS 20
/* A second is closed this long after its end: what RX and TX still hold is
 * in. */
#define SECOND_GRACE_NS (100 * NS_PER_MS)

static void second_publish(struct audio_session *a, bool sent,
			   const struct audio_second *second)
{
	const struct media_record record = {
		.kind = MEDIA_RECORD_AUDIO_SECOND,
		.session = a->session,
		.outgoing = sent,
		.mono_ns = second->start_ns + second->duration_ns,
		.u.audio_second = *second,
	};

	if (second->has_level || second->expected)
		audio_publish_or_drop(a->session, &record);
}

static void one_way_end(struct audio_session *a, int64_t end_ns)
{
	double ms = (double)(end_ns - a->one_way_ns) / (double)NS_PER_MS;

	if (a->one_way_now && ms > a->one_way_ms)
		a->one_way_ms = ms;
}

/* Sound leaves and none comes: only whole seconds say so, a pause does not. */
static void one_way_take(struct audio_session *a, const struct audio_second *in,
			 const struct audio_second *out)
{
	bool one_way = in->expected && out->expected && in->heard_ms <= 0 &&
		       out->heard_ms > 0;

	if (one_way && !a->one_way_now)
		a->one_way_ns = in->start_ns;
	a->one_way_now = one_way;
	one_way_end(a, in->start_ns + in->duration_ns);
}

static void second_close(struct audio_session *a, int64_t end_ns)
{
	struct audio_second seconds[2];

	for (int i = 0; i < 2; i++)
		audio_leg_second(&a->legs[i], a->second_ns, end_ns,
				 &seconds[i]);
	if (end_ns - a->second_ns == NS_PER_S)
		one_way_take(a, &seconds[0], &seconds[1]);
	for (int i = 0; i < 2; i++)
		second_publish(a, i == 1, &seconds[i]);
	a->second_ns = end_ns;
}

static void slices_measure(struct audio_session *a,
			   const struct audio_samples *s, bool sent)
{
	struct audio_leg *leg = &a->legs[sent];
	size_t slice = (size_t)s->rate_hz * SLICE_MS / 1000;
	size_t narrow = (size_t)AUDIO_REDUCED_HZ * SLICE_MS / 1000;
	size_t done = 0;
	size_t reduced = 0;

	while (done < s->count || reduced < s->reduced_count) {
		size_t n = s->count - done < slice ? s->count - done : slice;
		size_t m = s->reduced_count - reduced;
		int64_t at_ns =
			s->mono_ns + (int64_t)done * NS_PER_S / s->rate_hz;
		struct audio_slice heard;

		if (m > narrow)
			m = narrow;
		audio_leg_measure(leg, s->pcm + done, n, s->reduced + reduced,
				  m, at_ns, &heard);
		done += n;
		reduced += m;
	}
}

void audio_session_take(struct audio_session *a, const struct payload *head,
			const uint8_t *data, bool sent,
			struct audio_samples *scratch)
{
	const struct codec *codec = a->codecs[head->pt & PACKET_PT_MASK];

	if (!a->running)
		return;
	if (sent && codec)
		codec = a->codec_sent;
	while (head->mono_ns >= a->second_ns + NS_PER_S)
		second_close(a, a->second_ns + NS_PER_S);
	if (audio_leg_decode(&a->legs[sent], codec, head, data, scratch))
		slices_measure(a, scratch, sent);
}

/* ---- its life ---- */

static void codecs_know(struct audio_session *a, const struct command *c)
{
	memset(a->codecs, 0, sizeof(a->codecs));
	for (size_t i = 0; i < c->map.count; i++) {
		const struct rtp_payload *p = &c->map.entries[i];

		if (p->kind == RTP_PAYLOAD_AUDIO)
			a->codecs[p->pt & PACKET_PT_MASK] =
				codec_by_rtpmap(p->codec, p->clock_hz);
	}
	a->codec_sent = c->codec;
}

void audio_session_apply(struct audio_session *a, const struct command *c)
{
	if (!a->running) {
		a->running = true;
		a->second_ns = c->mono_ns;
	}
	audio_leg_expect(&a->legs[0], c->receives, c->mono_ns);
	audio_leg_expect(&a->legs[1], c->sends, c->mono_ns);
	codecs_know(a, c);
}

/* @return false: no room, try again */
static bool totals_publish(struct audio_session *a)
{
	while (a->running && a->totals < 2) {
		bool sent = a->totals == 1;
		struct media_record record = {
			.kind = MEDIA_RECORD_AUDIO_TOTAL,
			.session = a->session,
			.outgoing = sent,
			.mono_ns = a->stop_ns,
		};
		struct audio_total *t = &record.u.audio_total;

		audio_leg_total(&a->legs[sent], a->stop_ns, t);
		t->one_way_ms = sent ? 0 : a->one_way_ms;
		t->dropped = sent ? a->session->tx.audio_dropped
				  : a->session->rx.audio_dropped;
		if (!audio_publish(a->session, &record))
			return false;
		a->totals++;
	}
	return true;
}

bool audio_session_time(struct audio_session *a, int64_t now_ns)
{
	int64_t until_ns = a->over ? a->stop_ns : now_ns - SECOND_GRACE_NS;

	while (a->running && until_ns >= a->second_ns + NS_PER_S)
		second_close(a, a->second_ns + NS_PER_S);
	if (!a->over)
		return true;
	if (a->running && a->totals == 0 && a->stop_ns > a->second_ns)
		second_close(a, a->stop_ns);
	return totals_publish(a);
}

int audio_session_new(struct audio_session **ret, struct media_session *s,
		      unsigned wanted)
{
	struct audio_session *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->session = s;
	a->wanted = wanted;
	*ret = a;
	return 0;
}

struct audio_session *audio_session_free(struct audio_session *a)
{
	for (int i = 0; a && i < 2; i++)
		audio_leg_release(&a->legs[i]);
	free(a);
	return NULL;
}
