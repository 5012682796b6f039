#include "media/audio/audio_session.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Length of the parts in which samples are measured. */
#define SLICE_MS 20
/* A second is closed this long after its end, to include what RX and TX still
 * hold. */
#define SECOND_GRACE_NS (100 * NS_PER_MS)

static void second_publish(struct audio_session *a, bool sent,
			   const struct audio_second *second)
{
	const struct media_record record = {
		.kind = MEDIA_RECORD_AUDIO_SECOND,
		.session = a->p.session,
		.outgoing = sent,
		.mono_ns = second->start_ns + second->duration_ns,
		.u.audio_second = *second,
	};

	if (a->p.wanted & MEDIA_AUDIO_MEASURE &&
	    (second->has_level || second->expected))
		record_ring_push_or_drop(a->p.records, &record);
}

static void one_way_end(struct audio_session *a, int64_t end_ns)
{
	double ms = (double)(end_ns - a->one_way_ns) / (double)NS_PER_MS;

	if (a->one_way_now && ms > a->one_way_ms)
		a->one_way_ms = ms;
}

/* Sound is sent and none is received: only whole seconds count, a pause does
 * not. */
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
	seconds[0].has_delay = a->has_delay;
	seconds[0].delay_ms = a->delay_ms;
	a->has_delay = false;
	if (end_ns - a->second_ns == NS_PER_S)
		one_way_take(a, &seconds[0], &seconds[1]);
	for (int i = 0; i < 2; i++)
		second_publish(a, i == 1, &seconds[i]);
	a->second_ns = end_ns;
}

/* ---- received audio ---- */

static void digits_publish(struct audio_session *a, const struct dtmf_heard *h)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct media_record record = {
			.kind = MEDIA_RECORD_DTMF,
			.session = a->p.session,
			.mono_ns = h->steps[i].mono_ns,
			.u.dtmf = {.digit = h->steps[i].digit,
				   .via = DTMF_INBAND,
				   .ended = h->steps[i].ended,
				   .ms = h->steps[i].ms},
		};

		record_ring_push_or_drop(a->p.records, &record);
	}
}

void audio_session_listen(struct audio_session *a,
			  const struct audio_command *c)
{
	a->listen = c->listen;
	a->listen_ns = c->head.mono_ns;
}

/* @param correlation  of a window that ended here; -1: none ended */
static void listen_check(struct audio_session *a,
			 const struct audio_slice *slice, double correlation,
			 int64_t mono_ns)
{
	struct media_record record = {
		.kind = MEDIA_RECORD_HEARD,
		.session = a->p.session,
		.mono_ns = mono_ns,
		.u.heard.id = a->listen.id,
	};

	if (!a->listen.id || mono_ns < a->listen_ns)
		return;
	if (a->listen.prompt) {
		if (correlation < AUDIO_MATCH_SAME)
			return;
	} else if (a->listen.hz > 0) {
		if (slice->tone.ms <= 0 ||
		    !audio_tone_same(slice->tone.hz, a->listen.hz))
			return;
		record.u.heard.tone = slice->tone;
	} else if (!slice->heard) {
		return;
	}
	if (record_ring_push(a->p.records, &record))
		a->listen.id = 0; /* otherwise wait for the next sound */
}

static void marker_take(struct audio_session *a, const float *reduced,
			size_t count, int64_t mono_ns, double gap_ms)
{
	double ms;

	if (!audio_marker_add(a->marker, reduced, count,
			      mono_ns + a->p.ntp_offset_ns, gap_ms, &ms))
		return;
	a->has_delay = true;
	a->delay_ms = ms;
	if (a->markers == 0 || ms < a->delay_min_ms)
		a->delay_min_ms = ms;
	if (a->markers == 0 || ms > a->delay_max_ms)
		a->delay_max_ms = ms;
	a->delay_sum_ms += ms;
	a->markers++;
}

static void slice_heard(struct audio_session *a,
			const struct audio_slice *slice, const float *reduced,
			size_t count, int64_t mono_ns, double gap_ms)
{
	struct dtmf_heard digits;
	double correlation = -1;

	if (a->match)
		correlation = audio_match_add(a->match, reduced, count, mono_ns,
					      gap_ms);
	listen_check(a, slice, correlation, mono_ns);
	if (a->marker)
		marker_take(a, reduced, count, mono_ns, gap_ms);
	if (!a->dtmf)
		return;
	dtmf_tones_add(a->dtmf, reduced, count, mono_ns, &digits);
	digits_publish(a, &digits);
}

/* ---- recording ---- */

static void recording_end(struct audio_session *a)
{
	for (int i = 0; i < 2; i++) {
		struct media_record record = {
			.kind = MEDIA_RECORD_RECORDED,
			.session = a->p.session,
			.outgoing = i == 1,
			.mono_ns = clock_mono_ns(),
		};
		struct audio_recorded how;

		if (!audio_recorder_end(&a->recorders[i], &how))
			continue;
		record.u.recorded.written = how.written;
		record.u.recorded.cut = how.cut;
		record.u.recorded.err = how.err;
		record.u.recorded.ms = how.ms;
		record_ring_push_or_drop(a->p.records, &record);
	}
}

void audio_session_record(struct audio_session *a, struct audio_command *c)
{
	recording_end(a);
	for (int i = 0; i < 2 && c->paths[i]; i++) {
		audio_recorder_begin(&a->recorders[i], c->paths[i]);
		c->paths[i] = NULL;
		if (a->running)
			audio_recorder_start(&a->recorders[i], c->head.mono_ns);
	}
}

static void slices_measure(struct audio_session *a,
			   const struct audio_samples *s, bool sent)
{
	struct audio_leg *leg = &a->legs[sent];
	size_t slice = (size_t)s->rate_hz * SLICE_MS / 1000;
	size_t narrow = (size_t)AUDIO_REDUCED_HZ * SLICE_MS / 1000;
	int64_t late_ns =
		s->rate_hz > AUDIO_REDUCED_HZ ? AUDIO_REDUCE_DELAY_NS : 0;
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
		if (!sent)
			slice_heard(a, &heard, s->reduced + reduced, m,
				    at_ns - late_ns, reduced ? 0 : s->gap_ms);
		done += n;
		reduced += m;
	}
}

void audio_session_take(struct audio_session *a, const struct payload *head,
			const uint8_t *data, struct audio_samples *scratch)
{
	bool sent = head->sent;
	/* the TX thread sends what was due before a change as it was before;
	 * commands come earlier than the payloads of that time */
	const struct audio_payloads *payloads =
		sent && head->mono_ns < a->changed_ns ? &a->payloads_before
						      : &a->payloads;
	const struct codec *codec = payloads->codecs[head->pt & PACKET_PT_MASK];

	if (!a->running) {
		audio_early_keep(&a->early, head, data);
		return;
	}
	if (sent && codec)
		codec = payloads->sent;
	while (head->mono_ns >= a->second_ns + NS_PER_S)
		second_close(a, a->second_ns + NS_PER_S);
	if (head->pt == payloads->noise_pt) {
		double gap_ms = audio_leg_noise(&a->legs[sent], head, data);

		if (gap_ms >= 0)
			audio_recorder_noise(&a->recorders[sent], data,
					     head->bytes, gap_ms);
		return;
	}
	if (!audio_leg_decode(&a->legs[sent], codec, head, data, scratch))
		return;
	audio_recorder_write(&a->recorders[sent], scratch->pcm, scratch->count,
			     scratch->rate_hz, scratch->mono_ns,
			     scratch->gap_ms);
	if (a->p.wanted & ~(unsigned)MEDIA_AUDIO_RECORD)
		slices_measure(a, scratch, sent);
}

/* ---- start and end ---- */

static void payloads_know(struct audio_session *a,
			  const struct audio_command *c)
{
	struct audio_payloads *to = &a->payloads;

	if (a->running) {
		a->payloads_before = *to;
		a->changed_ns = c->head.mono_ns;
	}
	memset(to, 0, sizeof(*to));
	to->noise_pt = PACKET_PT_MASK + 1;
	/* only the tapped program has the keys: nothing can be decoded */
	if (a->p.tapped && c->encrypted)
		return;
	for (size_t i = 0; i < c->map->count; i++) {
		const struct rtp_payload *p = &c->map->entries[i];

		if (p->kind == RTP_PAYLOAD_CN)
			to->noise_pt = p->pt;
		if (p->kind == RTP_PAYLOAD_AUDIO)
			to->codecs[p->pt & PACKET_PT_MASK] =
				codec_by_rtpmap(p->codec, p->clock_hz);
	}
	to->sent = c->codec;
}

/* Process the packets that arrived before the start, as the analysis does. */
static void early_take(struct audio_session *a, struct audio_samples *scratch)
{
	struct audio_early_item *item;

	while ((item = audio_early_take(&a->early))) {
		audio_session_take(a, &item->head, item->data, scratch);
		free(item);
	}
}

static int64_t start_of(struct audio_session *a, const struct audio_command *c)
{
	while (a->early.first &&
	       a->early.first->head.mono_ns < c->head.mono_ns - EARLY_NS)
		free(audio_early_take(&a->early));
	return a->early.first && a->early.first->head.mono_ns < c->head.mono_ns
		       ? a->early.first->head.mono_ns
		       : c->head.mono_ns;
}

void audio_session_apply(struct audio_session *a, const struct audio_command *c,
			 struct audio_samples *scratch)
{
	bool starts = !a->running;
	int64_t start_ns = starts ? start_of(a, c) : c->head.mono_ns;

	audio_leg_expect(&a->legs[0], c->receives, start_ns);
	audio_leg_expect(&a->legs[1], c->sends, c->head.mono_ns);
	payloads_know(a, c);
	if (!starts)
		return;
	a->running = true;
	a->start_ns = start_ns;
	a->second_ns = start_ns;
	for (int i = 0; i < 2; i++)
		audio_recorder_start(&a->recorders[i], start_ns);
	early_take(a, scratch);
}

static void delay_total(const struct audio_session *a, struct audio_total *t)
{
	t->markers = a->markers;
	t->delay_min_ms = a->delay_min_ms;
	t->delay_max_ms = a->delay_max_ms;
	t->delay_avg_ms = a->delay_sum_ms / (double)a->markers;
}

static void match_total(const struct audio_session *a, struct audio_total *t)
{
	struct audio_matched matched;

	audio_match_result(a->match, &matched);
	t->has_match = matched.known;
	t->match = matched.correlation;
	t->match_ms = matched.same_ms;
	t->has_match_begin = matched.has_begin;
	t->match_begin_ms =
		(double)(matched.begin_ns - a->start_ns) / (double)NS_PER_MS;
}

/* @return false: no room, try again */
static bool totals_publish(struct audio_session *a)
{
	while (a->running && a->p.wanted & MEDIA_AUDIO_MEASURE &&
	       a->totals < 2) {
		bool sent = a->totals == 1;
		struct media_record record = {
			.kind = MEDIA_RECORD_AUDIO_TOTAL,
			.session = a->p.session,
			.outgoing = sent,
			.mono_ns = a->stop_ns,
		};
		struct audio_total *t = &record.u.audio_total;

		audio_leg_total(&a->legs[sent], a->stop_ns, t);
		t->one_way_ms = sent ? 0 : a->one_way_ms;
		if (!sent && a->match)
			match_total(a, t);
		if (!sent && a->markers)
			delay_total(a, t);
		t->dropped = a->p.end->audio_dropped[sent];
		if (!record_ring_push(a->p.records, &record))
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
	recording_end(a);
	if (a->dtmf && a->totals == 0) {
		struct dtmf_heard digits;

		dtmf_tones_end(a->dtmf, &digits);
		digits_publish(a, &digits);
	}
	return totals_publish(a);
}

int audio_session_new(struct audio_session **ret,
		      const struct audio_session_params *params)
{
	unsigned wanted = params->wanted;
	struct audio_session *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	if ((wanted & MEDIA_AUDIO_DTMF && dtmf_tones_new(&a->dtmf)) ||
	    (wanted & MEDIA_AUDIO_MARKER && audio_marker_new(&a->marker)) ||
	    (params->reference &&
	     audio_match_new(&a->match, params->reference))) {
		audio_session_free(a);
		return -ENOMEM;
	}
	a->p = *params;
	*ret = a;
	return 0;
}

struct audio_session *audio_session_free(struct audio_session *a)
{
	if (!a)
		return NULL;
	for (int i = 0; i < 2; i++) {
		struct audio_recorded unheard;

		audio_leg_release(&a->legs[i]);
		audio_recorder_end(&a->recorders[i], &unheard);
	}
	audio_match_free(a->match);
	audio_marker_free(a->marker);
	dtmf_tones_free(a->dtmf);
	audio_early_release(&a->early);
	free(a);
	return NULL;
}
