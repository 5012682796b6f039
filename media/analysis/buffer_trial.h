/**
 * What the packets of one stream would have been worth behind other de-jitter
 * buffers and with another codec: any number of buffers receive the same
 * packets, and each has a score. It is an observer of rtp_stream.
 * Docs: docs/reference/rescore.md
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_BUFFER_TRIAL_H
#define OFFHOOK_MEDIA_ANALYSIS_BUFFER_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/detail.h"
#include "media/analysis/emodel_values.h"
#include "media/analysis/jitter_buffer.h"
#include "media/analysis/pattern.h"
#include "media/analysis/stream.h"

enum buffer_kind {
	BUFFER_IDEAL, /* plays every packet received, without any delay: the
		       * loss of the network alone */
	BUFFER_FIXED,
	BUFFER_ADAPTIVE,
};

struct buffer_setting {
	enum buffer_kind kind;
	double min_ms; /* fixed: the playout delay; adaptive: its limits */
	double max_ms; /* adaptive only */
};

/* The longest delay of an adaptive buffer: that of G.107 Table 3. A fixed one
 * has at most JB_FIXED_MAX_MS. */
#define BUFFER_ADAPTIVE_LONGEST_MS 500.0
#define BUFFER_SETTING_BYTES       40

/**
 * Parse "fixed:60", "adaptive" (its usual limits) or "adaptive:20-200"; ms.
 * @param ret_reason  static, written on failure
 * @return 0; -EINVAL
 */
int buffer_setting_parse(struct buffer_setting *ret, const char *text,
			 const char **ret_reason);

/** Write a setting as buffer_setting_parse() reads it; "ideal". */
void buffer_setting_text(const struct buffer_setting *setting,
			 char ret[static BUFFER_SETTING_BYTES]);

/** One buffer. Private. */
struct buffer_trial {
	struct buffer_setting setting;
	struct jb_fixed fixed;
	struct jb_adaptive adaptive;
	struct loss_pattern pattern; /* bad: lost, or discarded */
};

/** The buffers of one stream. Private. */
struct buffer_trials {
	const struct rtp_stream *stream;
	size_t count;
	struct buffer_trial *trial;
};

/**
 * Start, before the first packet of the stream. Then set the stream's observer
 * to buffer_trials_observer, with these buffers as its argument.
 * @param stream    borrowed
 * @param settings  of each buffer; the first one is BUFFER_IDEAL
 * @param trial     memory for `count` trials, borrowed
 */
void buffer_trials_init(struct buffer_trials *t,
			const struct rtp_stream *stream,
			const struct buffer_setting *settings,
			struct buffer_trial *trial, size_t count);

/** The observer; its argument is a struct buffer_trials. */
extern const struct rtp_observer buffer_trials_observer;

/** The stream has ended, and rtp_stream_end_run() was called. Once. */
void buffer_trials_finish(struct buffer_trials *t);

/** With what the buffers are scored. */
struct buffer_rating {
	const struct emodel_values *values; /* of the codec; NULL: the
					     * stream's own */
	double network_ms; /* delay of the network, one way; 0: unknown */
};

/** What a stream is worth behind one buffer. */
struct buffer_outcome {
	uint64_t expected;
	uint64_t discarded;
	double discarded_pct; /* of the expected ones */
	double burst_r;       /* of lost and discarded packets; not clamped */
	double buffer_ms;     /* mean delay of the buffer */
	double ta_ms;         /* with network, packet time and look-ahead */
	struct score score;
};

/** Score the buffer i, after buffer_trials_finish(). */
void buffer_trials_outcome(const struct buffer_trials *t, size_t i,
			   const struct buffer_rating *rating,
			   struct buffer_outcome *ret);

/** Why no fixed buffer reaches a MOS. */
enum buffer_limit {
	BUFFER_LIMIT_NONE,     /* one does */
	BUFFER_LIMIT_NO_SCORE, /* the codec has no values for it */
	BUFFER_LIMIT_CODEC,    /* not even without loss and delay */
	BUFFER_LIMIT_NETWORK,  /* its delay alone is too long */
	BUFFER_LIMIT_LOSS,     /* the packets that the network lost */
	BUFFER_LIMIT_JITTER,   /* short buffers discard too much, and long ones
				* delay too much */
};

struct buffer_least {
	enum buffer_limit limit;
	double delay_ms;    /* of the least buffer; if limit is NONE */
	bool has_best;      /* a fixed buffer has a score */
	double best_ms;     /* the shortest of those with the highest MOS */
	double best_mos;    /* its MOS */
	double limit_mos;   /* what the limit leaves: CODEC, NETWORK, LOSS */
	const char *reason; /* NO_SCORE: static; else NULL */
};

/** Find the shortest fixed buffer that reaches a MOS. The fixed ones must be in
 * order of delay. */
void buffer_trials_least(const struct buffer_trials *t,
			 const struct buffer_rating *rating, double mos,
			 struct buffer_least *ret);

#endif
