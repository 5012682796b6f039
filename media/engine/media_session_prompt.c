/* What a session plays: codecs and prompt, encodings ahead of time and in a
 * call, files that are played once, silence. */
#include "media/engine/media_session_prompt.h"

#include "base/clock.h"
#include "base/str.h"
#include "media/audio/audio_marker.h"
#include "media/engine/media_engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PTIME_DEFAULT_MS 20
#define PTIME_MIN_MS     10 /* announced */
#define EVENT_NAME       "telephone-event"
#define EVENT_FMTP       "0-15" /* RFC 4733 2.4.1: the DTMF digits */

/* ---- our side ---- */

/* Comfort noise for the codecs of its clock rate (RFC 3389 section 4); wider
 * ones have none of their own that peers know. */
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

/* What we ask of the sender. @return 0; -EINVAL too long */
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
	return str_print(dst->fmtp, sizeof(dst->fmtp), "%s%s%s", fmtp,
			 adds && fmtp[0] ? ";" : "", adds ? "usedtx=1" : "") < 0
		       ? -EINVAL
		       : 0;
}

/* A telephone-event for each clock rate of the codecs, which an event's must be
 * (RFC 4733 2.1), and 8000 for those who know no other. */
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

/* ---- what is played ---- */

static enum prompt_kind kind_of(const struct media_session_params *params)
{
	if (params->audio & MEDIA_AUDIO_MARKER)
		return PROMPT_MARKER;
	return params->prompt_file ? PROMPT_FILE : PROMPT_TONES;
}

/* What is likely to be asked for: peers that want what we want.
 * @return how many */
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

/* From what is sent now on; markers keep step with the clock.
 * @return 0, whole or not; as prompt_clip_begin() */
static int clip_begin(const struct clip **ret, const struct media_session *s,
		      struct prompt *prompt, const struct prompt_want *want)
{
	int64_t wall_ns = clock_mono_ns() + s->engine->ntp_offset_ns;
	int64_t from_ms =
		s->marker ? wall_ns % AUDIO_MARKER_PERIOD_NS / NS_PER_MS : 0;
	int err = prompt_clip_begin(ret, prompt, want, (uint32_t)from_ms);

	return err == -EINPROGRESS ? 0 : err;
}

int session_prompt_choose(struct media_session *s,
			  const struct media_session_params *params)
{
	struct prompt_want wants[MEDIA_CODECS_MAX];
	size_t count =
		wants_list(wants, &s->local, params->silence_suppression);
	const struct clip *clip;
	int err = prompt_get(&s->prompt, s->engine->prompts, kind_of(params),
			     params->prompt_file);

	s->suppresses = params->silence_suppression;
	s->marker = params->audio & MEDIA_AUDIO_MARKER;
	for (size_t i = 0; !err && i < count; i++)
		err = clip_begin(&clip, s, s->prompt, &wants[i]);
	return err;
}

static int prepare(struct media_engine *e,
		   const struct media_session_params *params,
		   enum prompt_kind kind, const char *file, bool once)
{
	struct prompt_want wants[MEDIA_CODECS_MAX];
	struct media_local local = {0};
	size_t count;
	int err = session_codecs_choose(&local, params);

	if (err)
		return err;
	count = wants_list(wants, &local, params->silence_suppression);
	for (size_t i = 0; i < count; i++)
		wants[i].once = once;
	return prompt_prepare(e->prompts, kind, file, wants, count, false);
}

int media_engine_prepare(struct media_engine *e,
			 const struct media_session_params *params)
{
	int err = 0;

	if (!params->tapped)
		err = prepare(e, params, kind_of(params), params->prompt_file,
			      false);
	if (!err && params->expect_file)
		err = prompt_prepare(e->prompts, PROMPT_FILE,
				     params->expect_file, NULL, 0, true);
	return err;
}

int media_engine_prepare_play(struct media_engine *e,
			      const struct media_session_params *params,
			      const char *file)
{
	return prepare(e, params, PROMPT_FILE, file, true);
}

bool media_engine_prepared(const struct media_engine *e)
{
	return !prompt_cache_busy(e->prompts);
}

int media_engine_prepare_failed(const struct media_engine *e,
				const char **ret_file)
{
	return prompt_cache_failed(e->prompts, ret_file);
}

/* ---- what is settled ---- */

struct prompt_want session_prompt_want(const struct media_session *s)
{
	return (struct prompt_want){
		.codec = s->codec,
		.ptime_ms = s->ptime_ms,
		.settings = s->codec_settings,
	};
}

static int silence_clip(const struct clip **ret, struct media_session *s,
			const struct prompt_want *want)
{
	int err = s->silence ? 0
			     : prompt_get(&s->silence, s->engine->prompts,
					  PROMPT_SILENCE, NULL);

	return err ? err : clip_begin(ret, s, s->silence, want);
}

int session_prompt_fill(struct command *c, const char *fmtp, bool has_noise)
{
	struct media_session *s = c->session;
	struct prompt_want want = {
		.codec = c->tx.codec,
		.ptime_ms = c->tx.ptime_ms,
	};
	int err;

	codec_settings_parse(&want.settings, fmtp);
	want.settings.noise = has_noise && s->suppresses;
	err = clip_begin(&c->tx.clip, s, s->prompt, &want);
	return !err && s->muted ? silence_clip(&c->tx.mute, s, &want) : err;
}

/* Play what waits, if it is encoded. @return 0; -EINPROGRESS; -errno */
static int play_send(struct media_session *s)
{
	struct prompt_want want = session_prompt_want(s);
	const struct clip *clip;
	struct command *c;
	int err;

	want.once = true;
	err = prompt_clip_begin(&clip, s->play, &want, 0);
	if (!err)
		err = command_new(&c, s, COMMAND_PLAY);
	if (err)
		return err;
	c->tx.clip = clip;
	c->tx.codec = s->codec;
	c->tx.ptime_ms = s->ptime_ms;
	c->prompt = s->play; /* held until it is over */
	s->play = NULL;
	command_push(c, TO_TX);
	return 0;
}

void session_prompts_poll(struct media_engine *e)
{
	if (!prompt_cache_take(e->prompts))
		return;
	for (uint32_t i = 0; i < e->slots; i++) {
		struct media_session *s = e->sessions[i];

		if (!s || s->stop_given)
			continue;
		/* what cannot be now is tried with the next one */
		if (s->play)
			(void)play_send(s);
	}
}

int media_session_play(struct media_session *s, const char *file)
{
	int err;

	if (s->stop_given || s->tapped)
		return -EINVAL;
	if (!s->codec)
		return -ENOTCONN;
	if (s->playing)
		return -EBUSY;
	err = prompt_get(&s->play, s->engine->prompts, PROMPT_FILE, file);
	if (err)
		return err;
	err = play_send(s);
	if (err && err != -EINPROGRESS) {
		s->play = prompt_put(s->play);
		return err;
	}
	s->playing = true;
	return 0;
}

int media_session_mute(struct media_session *s, bool mute)
{
	const struct clip *clip = NULL;
	struct prompt_want want = session_prompt_want(s);
	struct command *c;
	int err = 0;

	if (s->stop_given || s->tapped)
		return -EINVAL;
	if (!s->codec) { /* COMMAND_APPLY will say so */
		s->muted = mute;
		return 0;
	}
	if (mute)
		err = silence_clip(&clip, s, &want);
	if (!err)
		err = command_new(&c, s, COMMAND_MUTE);
	if (err)
		return err;
	c->tx.mute = clip;
	s->muted = mute;
	command_push(c, TO_TX);
	return 0;
}

void session_prompt_release(struct media_session *s)
{
	prompt_put(s->prompt);
	prompt_put(s->silence);
	prompt_put(s->play);
}
