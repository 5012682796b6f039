/* Opus: RFC 6716, RTP payload format RFC 7587 (the clock rate is always 48000,
 * the rtpmap always has two channels) */
#include "media/audio/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <opus/opus.h>

#define RATE_HZ       48000
#define PART_MS       10
#define PARTS_MAX     12   /* 120 ms */
#define PART_MAX      1275 /* RFC 6716 section 3.4: bytes of one Opus frame */
#define DTX_BYTES_MAX 2    /* RFC 7587 section 3.1.3: need not be sent */
#define FEC_LOSS_PCT  10   /* loss for which the redundancy is designed */
#define COMPLEXITY    5
#define FRAMES_MAX    48   /* RFC 6716 section 3.2.5: in a packet */
#define TOC_CELT_ONLY 0x80 /* table 2: configurations 16..31 */

struct encoder {
	OpusEncoder *opus;
	OpusRepacketizer *joiner; /* NULL: one call per packet */
	uint16_t ptime_ms;
	bool dtx;
	int channels;
	int16_t both[2 * CODEC_SAMPLES_MAX]; /* samples of both channels, for
					      * stereo */
	uint8_t part[PARTS_MAX][PART_MAX + 2];
};

static opus_int32 bandwidth(uint32_t playback_hz)
{
	/* RFC 7587 section 6.1, RFC 6716 table 1 */
	if (playback_hz == 0 || playback_hz > 24000)
		return OPUS_BANDWIDTH_FULLBAND;
	if (playback_hz > 16000)
		return OPUS_BANDWIDTH_SUPERWIDEBAND;
	if (playback_hz > 12000)
		return OPUS_BANDWIDTH_WIDEBAND;
	if (playback_hz > 8000)
		return OPUS_BANDWIDTH_MEDIUMBAND;
	return OPUS_BANDWIDTH_NARROWBAND;
}

static bool in_one_call(uint16_t ptime_ms)
{
	return ptime_ms == 10 || ptime_ms % 20 == 0;
}

static void encoder_free(void *encoder)
{
	struct encoder *e = encoder;

	if (e && e->opus)
		opus_encoder_destroy(e->opus);
	if (e && e->joiner)
		opus_repacketizer_destroy(e->joiner);
	free(e);
}

static int encoder_new(void **ret, uint16_t ptime_ms,
		       const struct codec_settings *s)
{
	struct encoder *e = calloc(1, sizeof(*e));
	bool joined = !in_one_call(ptime_ms);
	int err = OPUS_OK;

	if (!e)
		return -ENOMEM;
	e->ptime_ms = ptime_ms;
	e->dtx = s->dtx;
	/* parts can be joined only if all have the same mode and bandwidth */
	e->channels = s->stereo ? 2 : 1;
	e->opus = opus_encoder_create(
		RATE_HZ, e->channels,
		joined ? OPUS_APPLICATION_RESTRICTED_LOWDELAY
		       : OPUS_APPLICATION_VOIP,
		&err);
	if (joined)
		e->joiner = opus_repacketizer_create();
	if (!e->opus || (joined && !e->joiner)) {
		encoder_free(e);
		return -ENOMEM;
	}
	opus_encoder_ctl(e->opus, OPUS_SET_COMPLEXITY(COMPLEXITY));
	opus_encoder_ctl(e->opus,
			 OPUS_SET_MAX_BANDWIDTH(bandwidth(s->max_playback_hz)));
	if (joined)
		opus_encoder_ctl(e->opus, OPUS_SET_BANDWIDTH(bandwidth(
						  s->max_playback_hz)));
	if (s->stereo)
		opus_encoder_ctl(e->opus, OPUS_SET_FORCE_CHANNELS(2));
	opus_encoder_ctl(e->opus, OPUS_SET_VBR(s->cbr ? 0 : 1));
	opus_encoder_ctl(e->opus, OPUS_SET_INBAND_FEC(s->fec ? 1 : 0));
	opus_encoder_ctl(e->opus,
			 OPUS_SET_PACKET_LOSS_PERC(s->fec ? FEC_LOSS_PCT : 0));
	opus_encoder_ctl(e->opus, OPUS_SET_DTX(s->dtx ? 1 : 0));
	if (s->max_bitrate >= 6000 && s->max_bitrate <= 510000)
		opus_encoder_ctl(e->opus,
				 OPUS_SET_BITRATE((opus_int32)s->max_bitrate));
	*ret = e;
	return 0;
}

/* Duplicate the samples if the encoder has two channels. */
static const int16_t *channels_fill(struct encoder *e, const int16_t *pcm,
				    int samples)
{
	if (e->channels == 1)
		return pcm;
	for (int i = 0; i < samples; i++)
		e->both[2 * i] = e->both[2 * i + 1] = pcm[i];
	return e->both;
}

/* @return bytes; -EINVAL */
static int packet_encode(struct encoder *e, const int16_t *pcm, uint8_t *dst)
{
	int samples = PART_MS * RATE_HZ / 1000;
	int bytes;

	if (!e->joiner) {
		samples = e->ptime_ms * RATE_HZ / 1000;
		bytes = opus_encode(e->opus, channels_fill(e, pcm, samples),
				    samples, dst, CODEC_ENCODED_MAX);
		return bytes < 0 ? -EINVAL : bytes;
	}
	opus_repacketizer_init(e->joiner);
	for (int i = 0; i < e->ptime_ms / PART_MS; i++) {
		bytes = opus_encode(
			e->opus, channels_fill(e, pcm + i * samples, samples),
			samples, e->part[i], sizeof(e->part[i]));
		if (bytes < 0 ||
		    opus_repacketizer_cat(e->joiner, e->part[i], bytes))
			return -EINVAL;
	}
	bytes = opus_repacketizer_out(e->joiner, dst, CODEC_ENCODED_MAX);
	return bytes < 0 ? -EINVAL : bytes;
}

static int encode(const struct codec *codec, void *encoder, uint8_t *dst,
		  const int16_t *pcm, size_t count)
{
	struct encoder *e = encoder;
	int bytes;

	(void)codec;
	if (count != (size_t)e->ptime_ms * RATE_HZ / 1000)
		return -EINVAL;
	bytes = packet_encode(e, pcm, dst);
	return e->dtx && bytes > 0 && bytes <= DTX_BYTES_MAX ? 0 : bytes;
}

static int decoder_new(void **ret)
{
	int err;
	OpusDecoder *decoder = opus_decoder_create(RATE_HZ, 1, &err);

	if (!decoder)
		return -ENOMEM;
	*ret = decoder;
	return 0;
}

static void decoder_free(void *decoder)
{
	if (decoder)
		opus_decoder_destroy(decoder);
}

static int decode(const struct codec *codec, void *decoder, int16_t *dst,
		  size_t max, const uint8_t *payload, size_t bytes)
{
	int count;

	(void)codec;
	/* opus_decode() takes no data for a lost packet, and conceals `max`
	 * samples; a packet has at least one byte (RFC 6716 section 3.1) */
	if (bytes == 0)
		return -EBADMSG;
	count = opus_decode(decoder, payload, (opus_int32)bytes, dst, (int)max,
			    0);
	return count < 0 ? -EBADMSG : count;
}

/* @return the payload has a copy of the previous frame (LBRR, RFC 6716 section
 *         4.2.4): a flag after the voice activity flags of the first frame,
 *         which has one for each 20 ms */
static bool has_copy(const uint8_t *payload, size_t bytes)
{
	const unsigned char *frames[FRAMES_MAX];
	opus_int16 sizes[FRAMES_MAX];
	unsigned char toc;
	int samples, silk;

	if (bytes == 0 || payload[0] & TOC_CELT_ONLY ||
	    opus_packet_parse(payload, (opus_int32)bytes, &toc, frames, sizes,
			      NULL) < 1 ||
	    sizes[0] == 0)
		return false;
	samples = opus_packet_get_samples_per_frame(payload, RATE_HZ);
	silk = samples > RATE_HZ / 50 ? samples / (RATE_HZ / 50) : 1;
	if (frames[0][0] >> (7 - silk) & 1)
		return true;
	return opus_packet_get_nb_channels(payload) == 2 &&
	       frames[0][0] >> (6 - 2 * silk) & 1;
}

static int recover(const struct codec *codec, void *decoder, int16_t *dst,
		   size_t max, const uint8_t *payload, size_t bytes)
{
	int frame, packet, count;

	(void)codec;
	if (!has_copy(payload, bytes))
		return 0;
	frame = opus_packet_get_samples_per_frame(payload, RATE_HZ);
	packet =
		opus_packet_get_nb_samples(payload, (opus_int32)bytes, RATE_HZ);
	if (frame <= 0 || (size_t)frame > max || packet < 0 ||
	    frame + packet > CODEC_SAMPLES_MAX)
		return 0;
	count = opus_decode(decoder, payload, (opus_int32)bytes, dst, frame, 1);
	return count < 0 ? 0 : count;
}

const struct codec codec_opus = {
	.name = "opus",
	.rtpmap = "opus",
	.pt = 96,
	.channels = 2,
	.clock_hz = RATE_HZ,
	.sample_hz = RATE_HZ,
	.ptime_step_ms = 10,
	.fmtp = "useinbandfec=1",
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.encode = encode,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decode = decode,
	.recover = recover,
};
