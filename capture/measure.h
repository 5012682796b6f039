/**
 * Measures one stream of a capture: the brief figures for the table, or all
 * (options->detailed).
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_MEASURE_H
#define OFFHOOK_CAPTURE_MEASURE_H

#include "capture/capture.h"
#include "capture/pool.h"

/** The memory of all streams of a capture; lives longer than they do. */
struct measure_memory {
	struct pool streams;
	struct pool details;
	struct pool trials; /* a block holds those of a stream */
	struct samples_budget samples;
};

void measure_memory_init(struct measure_memory *m,
			 const struct capture_options *options);
void measure_memory_release(struct measure_memory *m);

/** Make a stream. @param m  borrowed. @return NULL: no memory */
struct capture_stream *measure_new(const struct capture_options *options,
				   struct measure_memory *m);
/** Free a stream. @param m  as in measure_new(). @return NULL */
struct capture_stream *measure_free(struct capture_stream *s,
				    struct measure_memory *m);

/** Begin with a packet at ns. Key and payload map are set. */
void measure_start(struct capture_stream *s,
		   const struct capture_options *options, int64_t ns);

/** Take the next packet of the stream. */
void measure_take(struct capture_stream *s, const struct packet_record *r,
		  const struct capture_options *options,
		  struct chain_file *intervals);

/** Close the interval at end_ns, of a stream that is not detailed.
 * @param ret  see capture_interval_h */
void measure_tick(struct capture_stream *s, int64_t end_ns,
		  struct capture_interval *ret);

/** No more packets come: compute the final figures. Once. */
void measure_finish(struct capture_stream *s,
		    const struct capture_options *options,
		    struct chain_file *intervals);

#endif
