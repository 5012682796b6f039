/**
 * Inside of the media engine: the audio thread. It decodes what sessions that
 * asked for it receive and send, off the path of the packets: RX and TX hand
 * payloads over through rings that never block them. Unlike the other media
 * threads it may allocate and write files. Docs: docs/reference/audio.md
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_THREAD_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_THREAD_H

#include "media/audio/audio_early.h"
#include "media/audio/audio_leg.h"
#include "media/audio/audio_marker.h"
#include "media/audio/audio_match.h"
#include "media/audio/audio_record.h"
#include "media/audio/dtmf_tones.h"
#include "media/media.h"

struct media_engine;
struct media_session;
struct command;

/** Made by the loop, then the audio thread's until audio_done is set. */
struct audio_session {
	struct media_session *session;
	unsigned wanted; /* enum media_audio; constant */

	bool running; /* offer and answer were settled */
	struct audio_early early;
	int64_t second_ns;
	struct audio_leg legs[2]; /* [1]: sent */
	struct audio_recorder recorders[2];
	struct dtmf_tones *dtmf;     /* NULL: not listened for */
	struct audio_match *match;   /* NULL: no prompt is expected */
	struct audio_marker *marker; /* NULL: none are looked for */
	bool has_delay;              /* within the open second */
	double delay_ms;
	uint64_t markers;
	double delay_sum_ms;
	double delay_min_ms;
	double delay_max_ms;
	int64_t start_ns;           /* audio was expected */
	struct media_listen listen; /* id 0: for nothing */
	int64_t listen_ns;          /* from then on */
	bool one_way_now;           /* sound sent, none heard: in every whole */
	int64_t one_way_ns;         /* second since */
	double one_way_ms;          /* the longest such time */
	int64_t stop_ns;            /* 0: not told to stop */
	bool over;                  /* RX and TX are through with it */
	unsigned totals;            /* published */
	/* payload type -> codec, in force; [1]: what we send with */
	const struct codec *codecs[128];
	const struct codec *codec_sent;
	unsigned noise_pt; /* of comfort noise; above all: none */
};

/** @param reference  what should be heard, borrowed; NULL: nothing is
 * @return 0; -ENOMEM */
int audio_session_new(struct audio_session **ret, struct media_session *s,
		      unsigned wanted, struct audio_reference *reference);
struct audio_session *audio_session_free(struct audio_session *a);

/* ---- what the audio thread does with one: audio_session.c ---- */

/** What offer and answer settled. @param scratch  room for samples */
void audio_session_apply(struct audio_session *a, const struct command *c,
			 struct audio_samples *scratch);

/** Listen for something. */
void audio_session_listen(struct audio_session *a, const struct command *c);

/** Begin or end to record. */
void audio_session_record(struct audio_session *a, struct command *c);

/** A packet. @param scratch  room for its samples */
void audio_session_take(struct audio_session *a, const struct payload *head,
			const uint8_t *data, struct audio_samples *scratch);

/** Close seconds that are over; with `over` set everything.
 * @return false: a total is still to be published, try again */
bool audio_session_time(struct audio_session *a, int64_t now_ns);

/* ---- the thread ---- */

struct audio;

int audio_new(struct audio **ret, struct media_engine *e);
struct audio *audio_free(struct audio *au);
void *audio_thread(void *au);

/** Rings of payloads for the first session that wants audio.
 * Thread: loop, before RX and TX know of the session. @return 0; -ENOMEM */
int audio_rings_open(struct media_engine *e);
void audio_rings_close(struct media_engine *e);

/** Hand a payload over. Thread: RX; TX for what it sends. Never blocks; what
 * does not fit is counted. */
void audio_push(struct media_session *s, const struct payload *head,
		const uint8_t *data);

/** Publish to the loop. Thread: audio. @return false: the ring is full */
bool audio_publish(struct media_session *s, const struct media_record *record);
void audio_publish_or_drop(struct media_session *s,
			   const struct media_record *record);

#endif
