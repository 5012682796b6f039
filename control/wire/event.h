/**
 * Encoding of events, streams, distributions and SIP messages (docs/internals/wire.md).
 * Thread: any. Frequent events are written as text by a writer; every other
 * encoder returns a new reference, NULL when out of memory.
 */
#ifndef OFFHOOK_CONTROL_WIRE_EVENT_H
#define OFFHOOK_CONTROL_WIRE_EVENT_H

#include "base/buf.h"
#include "base/state.h"
#include "control/wire/calibration.h"
#include "control/wire/writer.h"
#include "media/analysis/summary.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Encode a distribution. @param d  d->n > 0 */
json_t *wire_distribution_encode(const struct distribution *d);
/**
 * Write the totals of a stream: an object that is left open, as its sources and
 * its audio follow as members.
 */
void wire_stream_begin(struct writer *w, const struct stream_total *total,
		       bool outgoing);

/**
 * Write the error bounds of what this host measured of the stream: of a sent one only that
 * of the round trip, as the peer counts its loss and jitter.
 * @param w  after wire_stream_begin()
 */
void wire_stream_bounds(struct writer *w, const struct stream_total *total,
			bool outgoing, const struct wire_calibration *c);

/**
 * Add the sources of a received stream to what wire_stream_begin() wrote.
 * @param sources  objects of wire_source_write(), separated by commas; empty:
 *                 nothing is written
 */
void wire_stream_sources(struct writer *w, const struct buf *sources);

/**
 * Write a complete stream.
 * @param begun  what wire_stream_begin() and wire_stream_sources() wrote;
 *               empty: nothing is written
 * @param audio  of wire_audio_encode(), borrowed; NULL: none
 */
void wire_stream_finish(struct writer *w, const struct buf *begun,
			const json_t *audio);

/** Write one source (SSRC) of a received stream.
 * @param wall_offset_ns  wall clock minus monotonic clock */
void wire_source_write(struct writer *w, const struct stream_source *source,
		       int64_t wall_offset_ns);

/** Encode the measurements of a decoded stream: member "audio" of a stream. */
json_t *wire_audio_encode(const struct audio_total *total, bool outgoing);

/* When an event happened. */
struct wire_time {
	int64_t wall_us; /* since 1970 */
	int64_t mono_ns;
};

/**
 * Write a `state` event.
 * @param account  may be NULL
 * @param call     NULL for REGISTER_*
 * @param text     may be NULL
 */
void wire_event_state(struct writer *w, struct wire_time when,
		      enum ua_state state, const char *account,
		      const char *call, const char *text);

struct wire_event_register {
	const char *account;
	bool ok;
	unsigned code;
	const char *reason;
	double ms;
	uint32_t expires_s;
};
json_t *wire_event_register(struct wire_time when,
			    const struct wire_event_register *r);

struct wire_event_call {
	const char *call;
	const char *account;
	bool outgoing;
	const char *placed_for; /* call whose REFER it serves; NULL: none */
	const char *peer;
	const char *call_id;
	bool established;
	bool has_pdd;
	double pdd_ms;
	bool has_setup;
	double setup_ms;
	bool has_duration;
	double duration_ms;
	const char *end;
	bool expected_end; /* it ended as the test asked for */
	unsigned code;     /* 0: none */
	const char *reason;
	const char *warning; /* of the peer that refused it; NULL: none */
	/* the action's codecs (none: PCMU and PCMA) and encryption */
	const char *const *codecs;
	size_t codec_count;
	const char *encryption; /* as media_encryption; NULL: none */
	struct buf streams[2];  /* in, out; as of wire_stream_finish() */
	const json_t *audio[2]; /* the same */
	const json_t *path; /* of wire_path_encode(), borrowed; may be NULL */
};
void wire_event_call(struct writer *w, struct wire_time when,
		     const struct wire_event_call *c);

struct wire_path_pair {
	const char *local_type;  /* host, srflx, prflx, relay */
	const char *local;       /* "addr:port" */
	const char *remote_type; /* NULL: not known without ICE */
	const char *remote;
};

/** The media path of a call, found by STUN, TURN or ICE. */
struct wire_path {
	const char *mode;   /* "stun", "turn", "ice" */
	const char *reason; /* why it failed; NULL: it did not */
	bool controlling;   /* ice */
	bool lite;
	size_t pair_count; /* RTP, RTCP: 0 to 2 */
	struct wire_path_pair pairs[2];
};
json_t *wire_path_encode(const struct wire_path *path);
/** Encode a `path` event. @param path  of wire_path_encode(), borrowed */
json_t *wire_event_path(struct wire_time when, const char *call, json_t *path);

struct wire_event_dtmf {
	const char *call;
	bool outgoing;
	char digit;
	const char *via; /* rtpevent, info, inband */
	bool has_ms;
	double ms;
};
/** Encode a `dtmf` event: a digit that was sent, or received to its end. */
json_t *wire_event_dtmf(struct wire_time when, const struct wire_event_dtmf *d);

json_t *wire_event_assert(struct wire_time when, const char *call,
			  const char *action, const char *argument,
			  const char *text);

/* What is not always known of a load generator. */
enum wire_generator_known {
	WIRE_GENERATOR_SENT = 1 << 0,      /* packets were sent */
	WIRE_GENERATOR_LOOP = 1 << 1,      /* lateness of the loop */
	WIRE_GENERATOR_STEAL = 1 << 2,     /* of the host, by a hypervisor */
	WIRE_GENERATOR_THROTTLED = 1 << 3, /* by control groups */
	WIRE_GENERATOR_WAIT = 1 << 4,      /* for a processor */
	WIRE_GENERATOR_SIP = 1 << 5,       /* drops of the SIP socket */
};

/* How the load generator itself fared within a time: an interval, or the job. */
struct wire_generator {
	unsigned known;           /* enum wire_generator_known */
	uint64_t packets_late;    /* later than the agent's limit */
	uint64_t sip_queue_drops; /* datagrams, by the kernel */
	double send_lateness_p99_ms;
	double send_lateness_max_ms;
	double loop_lateness_p99_ms;
	double loop_lateness_max_ms;
	double processor_pct; /* of one processor, all threads of the engine */
	double processor_wait_pct; /* of the time the loop waited for one */
	double steal_pct;          /* of the host's processor time */
	uint64_t throttled;        /* periods */
	double throttled_ms;
	double clock_step_ms; /* wall clock against monotonic clock; signed */
};

struct wire_event_generator {
	double interval_s; /* the time it is about, up to the event's time */
	uint64_t packets_sent;
	uint64_t packets_received;
	uint64_t receive_queue_drops;
	uint64_t ring_drops;
	uint64_t starts_missed;
	struct wire_generator generator;
};
/** Encode a `generator` event: one an interval. */
json_t *wire_event_generator(struct wire_time when,
			     const struct wire_event_generator *e);

struct wire_event_evidence {
	uint64_t packets_sent;
	uint64_t packets_received;
	uint64_t send_errors;
	uint64_t receive_queue_drops;
	uint64_t ring_drops;
	uint64_t invalid_packets;
	uint64_t rtcp_invalid;
	uint64_t rtp_send_refused;
	uint64_t rtcp_send_refused;
	/* unexpected, unauthentic and dropped packets (media/media.h) */
	uint64_t foreign_packets;
	uint64_t unassigned_packets;
	uint64_t ssrc_collisions;
	uint64_t srtp_refused;
	uint64_t srtp_replayed;
	uint64_t srtp_unkeyed;
	uint64_t dtls_dropped;
	uint64_t dtls_refused;
	uint64_t packets_unsent;
	uint64_t stun_dropped;
	uint64_t starts_missed; /* calls that were due and were not placed */
	struct wire_generator generator; /* of the whole job */
	const struct wire_calibration
		*calibration; /* of the host; NULL: none */
	uint32_t calls_most;  /* that were up at once; with a calibration */
	struct distribution send_lateness_ms; /* n = 0: none */
	double send_lateness_p99_ms;
	/* scheduling of the send threads: normal, nice, realtime, overrun;
	 * NULL: there are none */
	const char *send_scheduling;
	const char *receive_scheduling;
};
json_t *wire_event_evidence(struct wire_time when,
			    const struct wire_event_evidence *e);

struct wire_event_sipp {
	const char *scenario;
	bool ok;
	const char *end;  /* how it ended, in words */
	int status;       /* of exit(); -1: it was killed */
	json_t *counters; /* of its statistics, borrowed; NULL: none */
	json_t *errors;   /* sentences of its error log, borrowed */
	uint64_t more_errors;
	uint64_t unmeasured; /* calls that shared the RTP port of another */
	uint64_t unreported; /* calls that had no room in the engine */
	uint64_t unread;     /* messages that are no SIP */
};
/** Encode a `sipp` event: a SIPp has ended. */
json_t *wire_event_sipp(struct wire_time when, const struct wire_event_sipp *e);

json_t *wire_event_flaw(struct wire_time when, const char *name, uint64_t count,
			const char *text);

/** Encode an `artifact_lost` event: the file does not reach the controller. */
json_t *wire_event_artifact_lost(struct wire_time when, const char *name,
				 const char *text);

/** Encode an `artifact_cut` event: the file has less than it should. */
json_t *wire_event_artifact_cut(struct wire_time when, const char *name,
				const char *text);

struct wire_sip_message {
	bool sent;
	const char *transport; /* "udp", "tcp", "tls" */
	const char *local;     /* "addr:port" */
	const char *peer;
	const char *data;
	size_t len;
};
void wire_sip_message_write(struct writer *w, struct wire_time when,
			    const struct wire_sip_message *m);

#endif
