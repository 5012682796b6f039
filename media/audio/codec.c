#include "media/audio/codec.h"

#include "base/str.h"

#include <string.h>
#include <strings.h>

#define CODEC_ENTRY(name) &codec_##name,

static const struct codec *const all[] = {CODECS(CODEC_ENTRY)};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define NUMBER_MAX 1000000u

const struct codec *codec_at(size_t i)
{
	return i < COUNT(all) ? all[i] : NULL;
}

const struct codec *codec_by_name(const char *name)
{
	if (strcasecmp(name, "L16") == 0)
		return &codec_l16_16000;
	for (size_t i = 0; i < COUNT(all); i++) {
		if (strcasecmp(all[i]->name, name) == 0)
			return all[i];
	}
	return NULL;
}

const struct codec *codec_by_rtpmap(const char *rtpmap, uint32_t clock_hz)
{
	for (size_t i = 0; i < COUNT(all); i++) {
		if (all[i]->clock_hz == clock_hz &&
		    strcasecmp(all[i]->rtpmap, rtpmap) == 0)
			return all[i];
	}
	return NULL;
}

uint16_t codec_ptime(const struct codec *codec, uint16_t ptime_ms)
{
	uint16_t step = codec->ptime_step_ms;

	if (ptime_ms < step)
		return step;
	return (uint16_t)(ptime_ms - ptime_ms % step);
}

uint32_t codec_ticks(const struct codec *codec, uint16_t ptime_ms)
{
	return (uint32_t)((uint64_t)codec->clock_hz * ptime_ms / 1000);
}

size_t codec_stream_bytes(const struct codec *codec, size_t samples)
{
	size_t block = codec->block_samples;
	size_t bytes = block * codec->bytes_per_s / codec->sample_hz;

	return (samples + block - 1) / block * bytes;
}

static void setting_take(struct codec_settings *s, const char *name,
			 uint64_t value)
{
	if (strcasecmp(name, "maxplaybackrate") == 0)
		s->max_playback_hz = (uint32_t)value;
	else if (strcasecmp(name, "maxaveragebitrate") == 0)
		s->max_bitrate = (uint32_t)value;
	else if (strcasecmp(name, "useinbandfec") == 0)
		s->fec = value == 1;
	else if (strcasecmp(name, "usedtx") == 0)
		s->dtx = value == 1;
	else if (strcasecmp(name, "cbr") == 0)
		s->cbr = value == 1;
	else if (strcasecmp(name, "stereo") == 0)
		s->stereo = value == 1;
}

/* "name=value" */
static void parameter_parse(struct codec_settings *s, const char *p, size_t len)
{
	char text[MEDIA_FMTP_BYTES];
	uint64_t value;
	char *equals;

	while (len > 0 && *p == ' ') {
		p++;
		len--;
	}
	while (len > 0 && p[len - 1] == ' ')
		len--;
	if (len >= sizeof(text))
		return;
	memcpy(text, p, len);
	text[len] = '\0';
	equals = strchr(text, '=');
	if (!equals)
		return;
	*equals = '\0';
	if (str_to_u64(equals + 1, NUMBER_MAX, &value) == 0)
		setting_take(s, text, value);
}

void codec_settings_parse(struct codec_settings *ret, const char *fmtp)
{
	memset(ret, 0, sizeof(*ret));
	while (*fmtp) {
		size_t len = strcspn(fmtp, ";");

		parameter_parse(ret, fmtp, len);
		fmtp += len;
		if (*fmtp)
			fmtp++;
	}
}
