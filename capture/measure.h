/**
 * The figures of one stream of a capture: brief for the table, or all.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_MEASURE_H
#define OFFHOOK_CAPTURE_MEASURE_H

#include "capture/capture.h"

/** @param budget  borrowed. @return NULL: no memory */
struct capture_stream *measure_new(const struct capture_options *options,
				   struct samples_budget *budget);
struct capture_stream *measure_free(struct capture_stream *s);

/** Key and payload map are set: begin with a packet at ns. */
void measure_start(struct capture_stream *s,
		   const struct capture_options *options, int64_t ns);

void measure_take(struct capture_stream *s, const struct packet_record *r,
		  const struct capture_options *options,
		  struct spool *intervals);

/** Close the interval at end_ns; not detailed, as capture_interval_h says. */
void measure_tick(struct capture_stream *s, int64_t end_ns,
		  struct capture_interval *ret);

void measure_finish(struct capture_stream *s,
		    const struct capture_options *options,
		    struct spool *intervals);

#endif
