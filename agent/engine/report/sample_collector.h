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

/* Samples of one distribution; further ones are counted as dropped. */
#define COLLECT_SAMPLES_MAX (2u << 20)

/* Intervals open at a time; samples of others are counted as dropped. */
#define COLLECT_OPEN_MAX 8

/** Make a collector. @param role  copied @param interval_s  reporting interval
 * @return 0; -ENOMEM */
int sample_collector_new(struct sample_collector **ret, const char *role,
			 uint32_t interval_s);
/** Free it; accepts NULL. @return NULL */
struct sample_collector *sample_collector_free(struct sample_collector *c);

/** Add one sample. @param wall_ns  when it was taken, ns since 1970 */
void sample_collector_add(struct sample_collector *c, bool outgoing,
			  enum measure m, int64_t wall_ns, double value);

/** Add one second of a stream: a sample of each measure that it has.
 * @param wall_offset_ns  wall minus monotonic clock */
void sample_collector_second(struct sample_collector *c, bool outgoing,
			     const struct stream_second *second,
			     int64_t wall_offset_ns);

/** Add one second of decoded audio, likewise. */
void sample_collector_audio(struct sample_collector *c, bool outgoing,
			    const struct audio_second *second,
			    int64_t wall_offset_ns);

typedef void(collect_point_h)(json_t *point, void *arg); /* new reference */

/**
 * Close the intervals that ended at or before a time, and pass their points to the
 * handler in order of time. Later samples of these intervals are dropped.
 * @param wall_ns  INT64_MAX: all
 * @return 0; -ENOMEM some points are lost (counted as dropped)
 */
int sample_collector_close(struct sample_collector *c, int64_t wall_ns,
			   collect_point_h *handler, void *arg);

/** Samples dropped so far. */
uint64_t sample_collector_dropped(const struct sample_collector *c);

#endif
