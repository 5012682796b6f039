/**
 * The audio of a session: received and sent audio is decoded, measured,
 * searched for tones and prompts, and recorded. Docs: docs/reference/audio.md
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_SESSION_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_SESSION_H

#include "media/analysis/payload_map.h"
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

/** Pointers are borrowed and outlive the audio session. */
struct audio_session_params {
	struct media_session *session; /* the session of the records */
	uint32_t slot;
	bool tapped;           /* media of another program */
	unsigned wanted;       /* bits of enum media_audio */
	int64_t ntp_offset_ns; /* wall clock minus monotonic */
	/* prompt that should be heard; NULL: none is expected */
	struct audio_reference *reference;
	struct record_ring *records; /* audio -> loop */
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
	bool sends;    /* the direction lets us send */
	bool receives; /* the direction lets us receive */
	/* COMMAND_LISTEN */
	struct media_listen listen;
	/* in, out; NULL: stop. The thread takes ownership */
	char *paths[2];
};

/** What the payload types of a session mean. */
struct audio_payloads {
	const struct codec *codecs[128]; /* of each payload type */
	const struct codec *sent;        /* the one that we send with */
	unsigned noise_pt; /* of comfort noise; out of range: none */
};

/** Created by the loop; then owned by the audio thread until audio_done is
 * set. */
struct audio_session {
	struct audio_session_params p; /* constant */

	bool running; /* offer and answer were settled */
	struct audio_early early;
	int64_t second_ns;
	struct audio_leg legs[2]; /* [1]: sent */
	struct audio_recorder recorders[2];
	struct dtmf_tones *dtmf;     /* NULL: not detected */
	struct audio_match *match;   /* NULL: no prompt is expected */
	struct audio_marker *marker; /* NULL: markers are not looked for */
	bool has_delay;              /* in the open second */
	double delay_ms;
	uint64_t markers;
	double delay_sum_ms;
	double delay_min_ms;
	double delay_max_ms;
	int64_t start_ns;           /* when audio was first expected */
	struct media_listen listen; /* id 0: nothing */
	int64_t listen_ns;          /* sound before this time does not count */
	bool one_way_now;           /* sound is sent and none is heard */
	int64_t one_way_ns;         /* start of the first such second */
	double one_way_ms;          /* the longest such time */
	int64_t stop_ns;            /* 0: not stopped */
	bool over;                  /* RX and TX have finished with the
				     * session */
	unsigned totals;            /* number published */
	struct audio_payloads payloads;
	/* of what we sent before changed_ns; 0: they never changed */
	struct audio_payloads payloads_before;
	int64_t changed_ns;
};

/** Thread: loop.
 * @param params  copied
 * @return 0; -ENOMEM */
int audio_session_new(struct audio_session **ret,
		      const struct audio_session_params *params);
/** Thread: loop, after audio_done, or before any thread uses it.
 * @param a  may be NULL
 * @return NULL */
struct audio_session *audio_session_free(struct audio_session *a);

/* ---- thread: audio ---- */

/** Apply the result of offer and answer.
 * @param scratch  room for samples */
void audio_session_apply(struct audio_session *a, const struct audio_command *c,
			 struct audio_samples *scratch);

/** Apply COMMAND_LISTEN. */
void audio_session_listen(struct audio_session *a,
			  const struct audio_command *c);

/** Start or stop recording. */
void audio_session_record(struct audio_session *a, struct audio_command *c);

/** Process a packet.
 * @param data     head->bytes bytes
 * @param scratch  room for its samples */
void audio_session_take(struct audio_session *a, const struct payload *head,
			const uint8_t *data, struct audio_samples *scratch);

/** Close the seconds that have ended; if `over` is set, everything.
 * @return false: a total could not be published yet, try again */
bool audio_session_time(struct audio_session *a, int64_t now_ns);

#endif
