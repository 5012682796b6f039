#include "media/engine/session_prompt.h"

#include "base/clock.h"
#include "base/str.h"
#include "media/audio/audio_marker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PTIME_DEFAULT_MS 20
#define PTIME_MIN_MS     10 /* smallest ptime that we announce */
#define EVENT_NAME       "telephone-event"
#define EVENT_FMTP       "0-15" /* RFC 4733 section 2.4.1: the DTMF digits */

/* ---- our side ---- */

/* Offer comfort noise if there is a codec with its clock rate (RFC 3389 section
 * 4). Peers know no comfort noise for wideband codecs. */
static void noise_add(struct media_local *local)
{
	struct media_codec *dst = &local->codecs[local->codec_count];
	bool wanted = false;

	for (size_t i = 0; i < local->codec_count; i++)
		wanted |= local->codecs[i].clock_hz == MEDIA_NOISE_CLOCK_HZ &&
			  strcmp(local->codecs[i].name, EVENT_NAME) != 0;
	if (!wanted || local->codec_count == MEDIA_CODECS_MAX)
		return;
	memset(dst, 0, sizeof(*dst));
	str_copy(dst->name, sizeof(dst->name), MEDIA_NOISE_NAME);
	dst->pt = MEDIA_NOISE_PT;
	dst->channels = 1;
	dst->clock_hz = MEDIA_NOISE_CLOCK_HZ;
	local->codec_count++;
}

/* Write the format parameters that we ask the sender for.
 * @return 0; -EINVAL too long */
static int fmtp_write(struct media_codec *dst, const struct codec *codec,
		      const struct media_session_params *params)
{
	const char *fmtp = codec->fmtp ? codec->fmtp : "";
	struct codec_settings said;
	bool adds = false;

	if (codec == &codec_opus) {
		if (params->opus_fmtp)
			fmtp = params->opus_fmtp;
		codec_settings_parse(&said, fmtp);
		adds = params->silence_suppression && !said.dtx;
	}
	return str_join(dst->fmtp, sizeof(dst->fmtp), fmtp,
			adds && fmtp[0] ? ";" : "", adds ? "usedtx=1" : "",
			NULL) < 0
		       ? -EINVAL
		       : 0;
}

/* Offer telephone-event with each clock rate of the codecs, as events use the
 * clock rate of the audio (RFC 4733 section 2.1), and with 8000 for peers that
 * know no other. */
static void events_add(struct media_local *local)
{
	static const struct {
		uint32_t clock_hz;
		uint8_t pt;
	} events[] = {{8000, 101}, {16000, 102}, {44100, 103}, {48000, 104}};
	size_t codecs = local->codec_count;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct media_codec *dst = &local->codecs[local->codec_count];
		bool wanted = events[i].clock_hz == DTMF_CLOCK_HZ;

		for (size_t k = 0; k < codecs; k++)
			wanted |=
				local->codecs[k].clock_hz == events[i].clock_hz;
		if (!wanted || local->codec_count == MEDIA_CODECS_MAX)
			continue;
		str_copy(dst->name, sizeof(dst->name), EVENT_NAME);
		str_copy(dst->fmtp, sizeof(dst->fmtp), EVENT_FMTP);
		dst->pt = events[i].pt;
		dst->channels = 1;
		dst->clock_hz = events[i].clock_hz;
		local->codec_count++;
	}
}

int session_codecs_choose(struct media_local *local,
			  const struct media_session_params *params)
{
	size_t count =
		params->codec_count ? params->codec_count : CODECS_DEFAULT;

	if (count > MEDIA_CODECS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct media_codec *dst = &local->codecs[i];
		const struct codec *codec =
			params->codec_count ? codec_by_name(params->codecs[i])
					    : codec_at(i);

		if (!codec)
			return -EINVAL;
		str_copy(dst->name, sizeof(dst->name), codec->rtpmap);
		dst->pt = codec->pt;
		dst->channels = codec->channels;
		dst->clock_hz = codec->clock_hz;
		if (fmtp_write(dst, codec, params))
			return -EINVAL;
	}
	local->codec_count = count;
	if (!params->no_events)
		events_add(local);
	if (params->silence_suppression)
		noise_add(local);
	local->direction = MEDIA_SENDRECV;
	local->xr = MEDIA_XR_ALL;
	local->ptime_ms =
		params->ptime_ms ? params->ptime_ms : PTIME_DEFAULT_MS;
	if (local->ptime_ms < PTIME_MIN_MS ||
	    local->ptime_ms > CODEC_PTIME_MAX_MS)
		return -EINVAL;
	return 0;
}

/* ---- prompt ---- */

static enum prompt_kind kind_of(const struct media_session_params *params)
{
	if (params->audio & MEDIA_AUDIO_MARKER)
		return PROMPT_MARKER;
	return params->prompt_file ? PROMPT_FILE : PROMPT_TONES;
}

/* List the encodings that are likely to be needed: those for peers with the
 * same settings as ours.
 * @return number of encodings */
static size_t wants_list(struct prompt_want *dst,
			 const struct media_local *local, bool suppresses)
{
	size_t count = 0;

	for (size_t i = 0; i < local->codec_count; i++) {
		const struct media_codec *c = &local->codecs[i];
		const struct codec *codec =
			codec_by_rtpmap(c->name, c->clock_hz);
		struct prompt_want *want = &dst[count];

		if (!codec)
			continue; /* telephone-event, CN */
		memset(want, 0, sizeof(*want));
		want->codec = codec;
		want->ptime_ms = codec_ptime(codec, local->ptime_ms);
		codec_settings_parse(&want->settings, c->fmtp);
		want->settings.noise =
			suppresses && c->clock_hz == MEDIA_NOISE_CLOCK_HZ;
		count++;
	}
	return count;
}

/* Begin to encode at the position that is sent now: marker tones are in step
 * with the wall clock.
 * @return 0: complete or in progress; otherwise as prompt_clip_begin() */
static int clip_begin(const struct clip **ret, const struct session_prompt *p,
		      struct prompt *prompt, const struct prompt_want *want)
{
	int64_t wall_ns = clock_mono_ns() + p->ntp_offset_ns;
	int64_t from_ms =
		p->marker ? wall_ns % AUDIO_MARKER_PERIOD_NS / NS_PER_MS : 0;
	int err = prompt_clip_begin(ret, prompt, want, (uint32_t)from_ms);

	return err == -EINPROGRESS ? 0 : err;
}

int session_prompt_open(struct session_prompt *p,
			const struct session_prompt_params *params)
{
	const struct media_session_params *session = params->session;
	struct prompt_want wants[MEDIA_CODECS_MAX];
	size_t count =
		wants_list(wants, params->local, session->silence_suppression);
	const struct clip *clip;
	int err;

	p->cache = params->cache;
	p->commands = params->commands;
	p->ntp_offset_ns = params->ntp_offset_ns;
	p->suppresses = session->silence_suppression;
	p->marker = session->audio & MEDIA_AUDIO_MARKER;
	err = prompt_get(&p->prompt, p->cache, kind_of(session),
			 session->prompt_file);
	for (size_t i = 0; !err && i < count; i++)
		err = clip_begin(&clip, p, p->prompt, &wants[i]);
	return err;
}

void session_prompt_release(struct session_prompt *p)
{
	prompt_put(p->prompt);
	prompt_put(p->silence);
	prompt_put(p->play);
}

int session_prompt_prepare(struct prompt_cache *cache,
			   const struct media_session_params *params,
			   const char *file)
{
	struct prompt_want wants[MEDIA_CODECS_MAX];
	struct media_local local = {0};
	size_t count;
	int err = session_codecs_choose(&local, params);

	if (err)
		return err;
	count = wants_list(wants, &local, params->silence_suppression);
	for (size_t i = 0; i < count; i++)
		wants[i].once = file != NULL;
	return prompt_prepare(cache, file ? PROMPT_FILE : kind_of(params),
			      file ? file : params->prompt_file, wants, count,
			      false);
}

/* ---- result of offer and answer ---- */

static int silence_clip(const struct clip **ret, struct session_prompt *p,
			const struct prompt_want *want)
{
	int err = p->silence ? 0
			     : prompt_get(&p->silence, p->cache, PROMPT_SILENCE,
					  NULL);

	return err ? err : clip_begin(ret, p, p->silence, want);
}

static struct prompt_want want_of(const struct session_prompt *p,
				  const struct command *c, const char *fmtp,
				  bool has_noise)
{
	struct prompt_want want = {
		.codec = c->tx.codec,
		.ptime_ms = c->tx.ptime_ms,
	};

	codec_settings_parse(&want.settings, fmtp);
	want.settings.noise = has_noise && p->suppresses;
	return want;
}

int session_prompt_fill(struct session_prompt *p, struct command *c,
			const char *fmtp, bool has_noise)
{
	struct prompt_want want = want_of(p, c, fmtp, has_noise);
	int err = clip_begin(&c->tx.clip, p, p->prompt, &want);

	return !err && p->muted ? silence_clip(&c->tx.mute, p, &want) : err;
}

void session_prompt_applied(struct session_prompt *p, const struct command *c,
			    const char *fmtp, bool has_noise)
{
	p->in_force = want_of(p, c, fmtp, has_noise);
}

/* ---- files and silence ---- */

/* Play the waiting file if it is encoded.
 * @return 0; -EINPROGRESS; -errno */
static int play_send(struct session_prompt *p)
{
	struct prompt_want want = p->in_force;
	const struct clip *clip;
	struct command *c;
	int err;

	want.once = true;
	err = prompt_clip_begin(&clip, p->play, &want, 0);
	if (!err)
		err = command_new(&c, p->commands, COMMAND_PLAY);
	if (err)
		return err;
	c->tx.clip = clip;
	c->tx.codec = want.codec;
	c->tx.ptime_ms = want.ptime_ms;
	c->prompt = p->play; /* held until the file has been played */
	p->play = NULL;
	command_push(c, TO_TX);
	return 0;
}

void session_prompt_poll(struct session_prompt *p)
{
	/* a failure is tried again when the next encoding has ended */
	if (p->play)
		(void)play_send(p);
}

int session_prompt_play(struct session_prompt *p, const char *file)
{
	int err;

	if (p->playing)
		return -EBUSY;
	err = prompt_get(&p->play, p->cache, PROMPT_FILE, file);
	if (err)
		return err;
	err = play_send(p);
	if (err && err != -EINPROGRESS) {
		p->play = prompt_put(p->play);
		return err;
	}
	p->playing = true;
	return 0;
}

int session_prompt_mute(struct session_prompt *p, bool mute)
{
	const struct clip *clip = NULL;
	struct command *c;
	int err = 0;

	if (!p->in_force.codec) { /* session_prompt_fill() will mute */
		p->muted = mute;
		return 0;
	}
	if (mute)
		err = silence_clip(&clip, p, &p->in_force);
	if (!err)
		err = command_new(&c, p->commands, COMMAND_MUTE);
	if (err)
		return err;
	c->tx.mute = clip;
	p->muted = mute;
	command_push(c, TO_TX);
	return 0;
}
