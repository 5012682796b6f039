/**
 * Inside the analysis thread: shared by measure.c (the order in which records
 * are taken), measure_publish.c, measure_dtmf.c and measure_end.c.
 * Thread: analysis.
 */
#ifndef OFFHOOK_MEDIA_MEASURE_MEASURE_INTERNAL_H
#define OFFHOOK_MEDIA_MEASURE_MEASURE_INTERNAL_H

#include "media/engine/media_engine.h"

/* A source of records, with the next one taken out and looked at. */
struct head {
	bool full;
	int64_t mono_ns;
	uint64_t taken; /* records of it that are dealt with */
};

struct running {
	int64_t second_end_ns; /* here, so that the walk stays in the cache */
	struct media_session *session;
};

struct measure_thread {
	struct media_engine *e;
	struct media_session **slots; /* all that exist; NULL: free */
	uint32_t slots_used;
	struct running *running;
	uint32_t running_count;
	struct media_session **ending; /* STOPPING and CLOSING */
	uint32_t ending_count;
	bool published; /* since the loop was last woken */

	struct head received_head;
	struct head sent_head;
	struct head rtcp_head;
	struct head command_head;
	/* the oldest records, where they lie in the rings; valid if the head
	 * is full */
	const struct packet_record *received;
	const struct packet_record *sent;
	const struct rtcp_event *rtcp;
	struct command *command;
};

/* ---- measure_publish.c ---- */

/** The loop has not polled what would make room for another record. */
bool measure_records_full(const struct media_engine *e);

/** Tell the loop. @return false: the ring is full */
bool measure_publish(struct measure_thread *an,
		     const struct media_record *record);

/** A record that is lost, and counted, when the loop does not keep up. */
void measure_publish_or_drop(struct measure_thread *an,
			     const struct media_record *record);

/** One without contents. @return false: the ring is full; the next packet tries
 * again */
bool measure_publish_event(struct measure_thread *an, struct media_session *s,
			   enum media_record_kind kind, int64_t mono_ns);

/** Close the open second of both directions. */
void measure_second_close(struct measure_thread *an, struct media_session *s,
			  int64_t end_ns);

/* ---- measure_dtmf.c ---- */

/** A telephone-event packet was received. */
void measure_dtmf_event(struct measure_thread *an, struct media_session *s,
			const struct packet_record *r);

/** A digit that is being heard ends when nothing more comes of it; only while
 * s->analysis.dtmf.open. @param mono_ns  now; INT64_MAX: nothing more comes */
void measure_dtmf_time(struct measure_thread *an, struct media_session *s,
		       int64_t mono_ns);

/** TX has sent one. */
void measure_digit_sent(struct measure_thread *an, struct media_session *s,
			const struct packet_record *r);

/* ---- measure_end.c ---- */

/** Close the ending sessions of which everything has been taken. */
void measure_endings_check(struct measure_thread *an);

#endif
