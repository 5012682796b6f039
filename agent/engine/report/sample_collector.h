/**
 * Samples of all calls of the role, gathered into one distribution per
 * direction, measure and reporting interval (docs/internals/engine.md): exact
 * figures, plus the mergeable sketch.
 * Thread: the loop thread.
 */
#ifndef OFFHOOK_AGENT_ENGINE_REPORT_SAMPLE_COLLECTOR_H
#define OFFHOOK_AGENT_ENGINE_REPORT_SAMPLE_COLLECTOR_H

#include "control/wire/measure.h"
#include "media/analysis/summary.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sample_collector;

/* A rate of a shorter second would be mostly rounding: one packet more or
 * less would move it by more than two a second. */
#define COLLECT_RATE_NS_MIN INT64_C(500000000)

/* Samples of one distribution; what comes above is counted as dropped. */
#define COLLECT_SAMPLES_MAX (2u << 20)

/* Intervals open at a time; what belongs to none is counted as dropped. */
#define COLLECT_OPEN_MAX 8

/** @param role  copied */
int sample_collector_new(struct sample_collector **ret, const char *role,
			 uint32_t interval_s);
struct sample_collector *sample_collector_free(struct sample_collector *c);

/** One sample. @param wall_ns  when it was taken, since 1970 */
void sample_collector_add(struct sample_collector *c, bool outgoing,
			  enum measure m, int64_t wall_ns, double value);

/** One second of a stream: a sample of each measure it knows.
 * @param wall_offset_ns  wall minus monotonic clock */
void sample_collector_second(struct sample_collector *c, bool outgoing,
			     const struct stream_second *second,
			     int64_t wall_offset_ns);

/** The same of decoded audio. */
void sample_collector_audio(struct sample_collector *c, bool outgoing,
			    const struct audio_second *second,
			    int64_t wall_offset_ns);

typedef void(collect_point_h)(json_t *point, void *arg); /* new reference */

/**
 * Close the intervals that ended at or before a time: their points go to the
 * handler, in order of time; samples that come later for them are dropped.
 * @param wall_ns  INT64_MAX: all
 * @return 0; -ENOMEM some points are lost (counted as dropped)
 */
int sample_collector_close(struct sample_collector *c, int64_t wall_ns,
			   collect_point_h *handler, void *arg);

/** Samples that are in no point. */
uint64_t sample_collector_dropped(const struct sample_collector *c);

#endif
