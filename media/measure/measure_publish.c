#include "media/measure/measure_internal.h"
#include "media/measure/measure_session.h"

bool measure_records_full(const struct media_engine *e)
{
	/* acquire: pairs with the release in media_engine_poll(); what was
	 * polled has left the ring */
	uint64_t polled =
		atomic_load_explicit(&e->records_polled, memory_order_acquire);

	return e->records_pushed - polled >= e->records_count;
}

bool measure_publish(struct measure_thread *an,
		     const struct media_record *record)
{
	if (measure_records_full(an->e))
		return false;
	ring_push(an->e->records, record);
	an->e->records_pushed++;
	an->published = true;
	return true;
}

void measure_publish_or_drop(struct measure_thread *an,
			     const struct media_record *record)
{
	if (!measure_publish(an, record))
		COUNTER_ADD(&an->e->records_dropped, 1);
}

bool measure_publish_event(struct measure_thread *an, struct media_session *s,
			   enum media_record_kind kind, int64_t mono_ns)
{
	struct media_record record = {
		.kind = kind,
		.session = s,
		.mono_ns = mono_ns,
	};

	return measure_publish(an, &record);
}

/* A second of one direction, written where the loop will read it; closed all
 * the same, and counted, when the loop does not keep up. */
static void second_publish(struct measure_thread *an, struct media_session *s,
			   int64_t end_ns, bool outgoing)
{
	struct media_engine *e = an->e;
	struct media_record *record =
		measure_records_full(e) ? NULL : ring_reserve(e->records);
	struct stream_second unheard;
	struct stream_second *second = record ? &record->u.second : &unheard;

	if (outgoing)
		rtp_sender_close_second(&s->analysis.sender, end_ns, second);
	else
		measure_session_close_in(&s->analysis, end_ns, second);
	if (!record) {
		COUNTER_ADD(&e->records_dropped, 1);
		return;
	}
	record->kind = MEDIA_RECORD_SECOND;
	record->session = s;
	record->outgoing = outgoing;
	record->mono_ns = end_ns;
	ring_commit(e->records);
	e->records_pushed++;
	an->published = true;
}

void measure_second_close(struct measure_thread *an, struct media_session *s,
			  int64_t end_ns)
{
	second_publish(an, s, end_ns, false);
	second_publish(an, s, end_ns, true);
	s->analysis.second_ns = end_ns;
}
