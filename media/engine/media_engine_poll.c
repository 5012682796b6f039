/* What the threads tell the loop, and what the RX thread leaves to it. */
#include "media/engine/media_engine.h"

#include "media/engine/media_session_prompt.h"

/* Records delivered in one turn of the loop; the rest in the next. */
#define POLL_MAX 4096

static void record_deliver(const struct media_record *record,
			   media_record_h *handler, void *arg)
{
	struct media_session *s = record->session;
	bool released = s->released;

	if (record->kind == MEDIA_RECORD_STOPPED)
		s->stopped = true;
	if (record->kind == MEDIA_RECORD_DTMF && record->outgoing &&
	    record->u.dtmf.last)
		s->dtmf_busy = false;
	if (record->kind == MEDIA_RECORD_PLAYED)
		s->playing = false;
	if (!released)
		handler(record, arg); /* may free the session */
	else if (record->kind == MEDIA_RECORD_STOPPED)
		session_destroy(s);
}

static int audio_poll(struct media_engine *e, media_record_h *handler,
		      void *arg)
{
	struct media_record record;
	int count = 0;

	while (ring_pop(e->audio_records, &record)) {
		/* release: pairs with the acquire in audio_publish() */
		atomic_fetch_add_explicit(&e->audio_polled, 1,
					  memory_order_release);
		record_deliver(&record, handler, arg);
		count++;
	}
	return count;
}

/* What the RX thread handed over. */
static void handovers_take(struct media_engine *e)
{
	struct handover d;

	for (int i = 0; i < ENGINE_HANDOVERS && ring_pop(e->datagrams, &d);
	     i++) {
		struct media_session *s = e->sessions[d.slot];

		if (!s || s->ssrc != d.ssrc || s->stop_given)
			continue;
		if (d.kind == HANDOVER_DTLS)
			session_dtls_input(s, &d);
		else
			session_nat_input(s, &d);
	}
}

void media_engine_poll(struct media_engine *e, media_record_h *handler,
		       void *arg)
{
	struct media_record record;
	int left = POLL_MAX;

	engine_wake_clear(e->records_fd);
	handovers_take(e);
	session_prompts_poll(e);
	session_nat_poll(e, handler, arg);
	session_dtls_poll(e, handler, arg);
	left -= audio_poll(e, handler, arg);
	while (left-- > 0 && ring_pop(e->records, &record)) {
		/* release: pairs with the acquire in records_full() */
		atomic_fetch_add_explicit(&e->records_polled, 1,
					  memory_order_release);
		/* the audio thread was through with it before */
		if (record.kind == MEDIA_RECORD_STOPPED)
			audio_poll(e, handler, arg);
		record_deliver(&record, handler, arg);
	}
	if (left < 0)
		engine_wake(e->records_fd); /* there may be more */
}
