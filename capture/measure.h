/**
 * The figures of one stream of a capture: brief for the table, or all.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_MEASURE_H
#define OFFHOOK_CAPTURE_MEASURE_H

#include "capture/capture.h"
#include "capture/pool.h"

/** What streams are made of; outlives them. */
struct measure_memory {
	struct pool streams;
	struct pool details;
	struct samples_budget samples;
};

void measure_memory_init(struct measure_memory *m);
void measure_memory_release(struct measure_memory *m);

/** @param m  borrowed. @return NULL: no memory */
struct capture_stream *measure_new(const struct capture_options *options,
				   struct measure_memory *m);
/** @param m  that it was made of */
struct capture_stream *measure_free(struct capture_stream *s,
				    struct measure_memory *m);

/** Key and payload map are set: begin with a packet at ns. */
void measure_start(struct capture_stream *s,
		   const struct capture_options *options, int64_t ns);

void measure_take(struct capture_stream *s, const struct packet_record *r,
		  const struct capture_options *options,
		  struct chain_file *intervals);

/** Close the interval at end_ns; not detailed, as capture_interval_h says. */
void measure_tick(struct capture_stream *s, int64_t end_ns,
		  struct capture_interval *ret);

void measure_finish(struct capture_stream *s,
		    const struct capture_options *options,
		    struct chain_file *intervals);

#endif
