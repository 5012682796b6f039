/**
 * What MOS the packets of a capture or of a run would have given behind other
 * de-jitter buffers and with another codec, and the least buffer that reaches a
 * MOS. Docs: docs/reference/rescore.md
 * Thread: any; one owner.
 */
#ifndef OFFHOOK_CONTROL_RESCORE_RESCORE_H
#define OFFHOOK_CONTROL_RESCORE_RESCORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "control/rescore/packets.h"
#include "media/analysis/buffer_trial.h"

#define RESCORE_LEAST_MAX      4.5 /* MOS */
#define RESCORE_NETWORK_MAX_MS 1000.0
#define RESCORE_REASON_BYTES   160

#define RESCORE_CURVE     200 /* fixed buffers of 1, 2, ... ms */
#define RESCORE_ASKED_MAX 8   /* of --jitter-buffer */
#define RESCORE_USUAL     2   /* those that every measurement has */
#define RESCORE_TRIALS    (1 + RESCORE_CURVE + RESCORE_USUAL + RESCORE_ASKED_MAX)

_Static_assert(RESCORE_TRIALS <= CAPTURE_TRIALS_MAX, "buffers of a stream");

/** What was asked. Contains pointers into itself: do not copy it. */
struct rescore_options {
	double least_mos;
	bool has_network; /* --network-delay */
	double network_ms;
	const char *codec;           /* --codec; NULL: each stream's own */
	struct emodel_values values; /* of it */
	size_t asked;                /* buffers of --jitter-buffer */
	struct capture_options capture;
	/* ideal, the curve, fixed:60 and adaptive, those asked for */
	struct buffer_setting trial[RESCORE_TRIALS];
};

/** Indices of trials. */
#define RESCORE_FIRST_FIXED 1
#define RESCORE_FIRST_USUAL (1 + RESCORE_CURVE)
#define RESCORE_FIRST_ASKED (RESCORE_FIRST_USUAL + RESCORE_USUAL)

struct rescore_row {
	size_t trial;
	bool other_codec; /* that of --codec */
	struct buffer_outcome outcome;
};

#define RESCORE_ROWS_MAX (2 * RESCORE_USUAL + RESCORE_ASKED_MAX)

/** One stream. */
struct rescore_stream {
	const struct packets_part *part;
	struct capture_stream *stream; /* borrowed */
	const json_t *run; /* the run's figures of it; borrowed; NULL: none */
	bool has_network;
	double network_ms;
	size_t measured; /* rows of the stream as it was */
	size_t rows;     /* those, and the ones that were asked for */
	struct rescore_row row[RESCORE_ROWS_MAX];
	struct buffer_outcome curve[RESCORE_CURVE];
	struct buffer_least least;
};

/** All streams, and what was read. */
struct rescore {
	const struct rescore_options *options;
	struct packets *packets;
	const json_t *run;     /* the run; NULL: a file */
	const json_t *streams; /* run_streams_new(); NULL: a file */
	/* found by rescore_each() */
	size_t count;                  /* streams */
	size_t skipped;                /* sent by a role of the run */
	size_t reached[RESCORE_CURVE]; /* streams that reach least_mos behind
					* the buffer of so many ms, less 1 */
};

/** Set what the options leave open. */
void rescore_options_init(struct rescore_options *o);

/** Add the buffers of a text ("fixed:60,adaptive:20-100").
 * @param reason  filled on failure
 * @return 0; -EINVAL */
int rescore_options_buffers(struct rescore_options *o, const char *text,
			    char reason[static RESCORE_REASON_BYTES]);

/** Set the codec: a row of `offhook emodel --list`, or an RTP encoding.
 * @param name  borrowed
 * @return 0; -ENOENT there are no values of it */
int rescore_options_codec(struct rescore_options *o, const char *name);

/** Gets a stream. @return 0; else the walk ends */
typedef int(rescore_stream_h)(const struct rescore_stream *s, void *arg);

/** Hand out all streams, by interface and first packet, and count.
 * @return 0; what the handler returned */
int rescore_each(struct rescore *r, rescore_stream_h *handler, void *arg);

/** The shortest fixed buffer behind which as many streams as possible reach the
 * MOS, after rescore_each(). @return ms; 0: none reaches it behind any */
unsigned rescore_least_of_all(const struct rescore *r, size_t *ret_streams);

/** Name of the codec of a row. */
const char *rescore_codec_name(const struct rescore *r,
			       const struct rescore_stream *s,
			       const struct rescore_row *row);

/** Say in one sentence which buffer reaches the MOS, or why none does.
 * @return new; NULL: no memory */
char *rescore_sentence(const struct rescore *r, const struct rescore_stream *s);

/** Addresses, ports and SSRC of a stream, as `offhook analyze --json` prints them, too.
 * @return new; NULL: no memory */
json_t *rescore_key_json(const struct flow_key *k);

/** Rescore all streams.
 * @return what docs/reference/rescore.md calls JSON, new; NULL: no memory */
json_t *rescore_json(struct rescore *r);

#endif
