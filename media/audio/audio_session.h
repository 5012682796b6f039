/**
 * The audio of a session: what is received and sent is decoded, measured,
 * listened to and recorded. Docs: docs/reference/audio.md
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_SESSION_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_SESSION_H

#include "media/analysis/stream.h"
#include "media/audio/audio_early.h"
#include "media/audio/audio_leg.h"
#include "media/audio/audio_marker.h"
#include "media/audio/audio_match.h"
#include "media/audio/audio_record.h"
#include "media/audio/dtmf_tones.h"
#include "media/command.h"
#include "media/record_ring.h"
#include "media/thread_records.h"

#include <stdbool.h>
#include <stdint.h>

/** All of it is the caller's, and outlives the audio session. */
struct audio_session_params {
	struct media_session *session; /* whom the records are about */
	uint32_t slot;
	bool tapped;           /* media of another program */
	unsigned wanted;       /* enum media_audio */
	int64_t ntp_offset_ns; /* wall clock minus monotonic */
	/* what should be heard; NULL: nothing is expected */
	struct audio_reference *reference;
	struct record_ring *records; /* to the loop */
	struct session_end *end;
};

/** A command to the audio thread. */
struct audio_command {
	struct command_head head;
	struct audio_session *session;
	/* COMMAND_APPLY */
	const struct rtp_payload_map *map;
	const struct codec *codec; /* that we send with */
	bool encrypted;
	bool sends;    /* by direction */
	bool receives; /* by direction */
	/* COMMAND_LISTEN */
	struct media_listen listen;
	/* COMMAND_RECORD: in, out; NULL: end. The thread takes them */
	char *paths[2];
};

/** Made by the loop, then the audio thread's until audio_done is set. */
struct audio_session {
	struct audio_session_params p; /* constant */

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

/** Thread: loop. @return 0; -ENOMEM */
int audio_session_new(struct audio_session **ret,
		      const struct audio_session_params *params);
/** Thread: loop, after audio_done, or before any thread knows it.
 * @param a  may be NULL @return NULL */
struct audio_session *audio_session_free(struct audio_session *a);

/* ---- thread: audio ---- */

/** What offer and answer settled. @param scratch  room for samples */
void audio_session_apply(struct audio_session *a, const struct audio_command *c,
			 struct audio_samples *scratch);

/** Listen for something. */
void audio_session_listen(struct audio_session *a,
			  const struct audio_command *c);

/** Begin or end to record. */
void audio_session_record(struct audio_session *a, struct audio_command *c);

/** A packet. @param scratch  room for its samples */
void audio_session_take(struct audio_session *a, const struct payload *head,
			const uint8_t *data, struct audio_samples *scratch);

/** Close seconds that are over; with `over` set everything.
 * @return false: a total is still to be published, try again */
bool audio_session_time(struct audio_session *a, int64_t now_ns);

#endif
