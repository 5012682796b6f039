/**
 * Inside the analysis thread: shared by analyse.c (the order in which records
 * are taken), analyse_publish.c, analyse_dtmf.c and analyse_end.c.
 * Thread: analysis.
 */
#ifndef OFFHOOK_MEDIA_ANALYSE_INTERNAL_H
#define OFFHOOK_MEDIA_ANALYSE_INTERNAL_H

#include "media/engine.h"

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

struct analyse {
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

/* ---- analyse_publish.c ---- */

/** The loop has not polled what would make room for another record. */
bool analyse_records_full(const struct media_engine *e);

/** Tell the loop. @return false: the ring is full */
bool analyse_publish(struct analyse *an, const struct media_record *record);

/** A record that is lost, and counted, when the loop does not keep up. */
void analyse_publish_or_drop(struct analyse *an,
			     const struct media_record *record);

/** One without contents. @return false: the ring is full; the next packet tries
 * again */
bool analyse_publish_event(struct analyse *an, struct media_session *s,
			   enum media_record_kind kind, int64_t mono_ns);

/** Close the open second of both directions. */
void analyse_second_close(struct analyse *an, struct media_session *s,
			  int64_t end_ns);

/* ---- analyse_dtmf.c ---- */

/** A telephone-event packet was received. */
void analyse_dtmf_event(struct analyse *an, struct media_session *s,
			const struct packet_record *r);

/** A digit that is being heard ends when nothing more comes of it; only while
 * s->analysis.dtmf.open. @param mono_ns  now; INT64_MAX: nothing more comes */
void analyse_dtmf_time(struct analyse *an, struct media_session *s,
		       int64_t mono_ns);

/** TX has sent one. */
void analyse_digit_sent(struct analyse *an, struct media_session *s,
			const struct packet_record *r);

/* ---- analyse_end.c ---- */

/** Close the ending sessions of which everything has been taken. */
void analyse_endings_check(struct analyse *an);

#endif
