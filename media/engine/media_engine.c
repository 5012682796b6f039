#include "media/engine/media_engine.h"

#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "media/audio/audio_thread.h"
#include "media/audio/prompt.h"
#include "media/capture/packet_capture.h"
#include "media/engine/session_prompt.h"
#include "media/engine/shared_sockets.h"
#include "media/measure/measure.h"
#include "media/rx/rx.h"
#include "media/security/srtp_libsrtp2.h"
#include "media/tap/tap_sessions.h"
#include "media/tx/tx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SESSIONS_MAX 10000
/* A released session keeps its slot for about 0.1 s, until the threads no
 * longer use it. */
#define SLOTS_SPARE 32

/* Records per session in a ring: 64 packets are 1.3 s of 20 ms packets, 4 records to
 * the loop 2 s. A thread may be delayed for this long before a record is lost (and
 * counted). A ring that was once full keeps its memory: the ceilings are for 4096
 * sessions. */
#define PACKETS_PER_SESSION 64
#define RTCP_PER_SESSION    8
#define RECORDS_PER_SESSION 4
#define RING_MIN            4096
#define RECORDS_MIN         1024
#define PACKETS_MAX         (1u << 18)
#define RTCP_MAX            (1u << 15)
#define RECORDS_MAX         (1u << 14)

static size_t ring_size(uint32_t sessions, size_t per_session, size_t min,
			size_t max)
{
	size_t want = sessions * per_session;
	size_t size = min;

	while (size < want && size < max)
		size *= 2;
	return size;
}

static int records_fd_open(int *ret)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

static int rings_open(struct media_engine *e)
{
	uint32_t max = e->slots;
	uint32_t calls = e->params.sessions_max; /* others send no more RTP */
	size_t packets =
		ring_size(calls, PACKETS_PER_SESSION, RING_MIN, PACKETS_MAX);
	size_t records =
		ring_size(calls, RECORDS_PER_SESSION, RECORDS_MIN, RECORDS_MAX);
	int err;

	err = ring_new(&e->received, sizeof(struct packet_record), packets);
	if (!err)
		err = ring_new(&e->sent, sizeof(struct packet_record), packets);
	if (!err)
		err = ring_new(
			&e->rtcp, sizeof(struct rtcp_event),
			ring_size(calls, RTCP_PER_SESSION, RING_MIN, RTCP_MAX));
	if (!err)
		err = ring_new(&e->datagrams, sizeof(struct handover),
			       ENGINE_HANDOVERS);
	if (!err)
		err = ring_new(&e->answers, sizeof(struct report_answer),
			       ring_size(max, 1, RING_MIN, RTCP_MAX));
	if (!err)
		err = record_ring_open(&e->records, records);
	if (!err)
		err = record_ring_open(&e->audio_records, records);
	for (int i = 0; !err && i < THREAD_COUNT; i++) {
		struct media_thread *t = &e->threads.list[i].shared;

		t->realtime = e->params.realtime;
		t->scheduled = &e->scheduled;
		t->quit = &e->quit;
		err = wake_open(&t->wake);
		if (!err)
			err = ring_new(&t->commands, sizeof(void *),
				       ring_size(max, SESSION_COMMANDS_MAX,
						 RING_MIN, SIZE_MAX / 2));
	}
	return err;
}

static int tables_open(struct media_engine *e)
{
	uint32_t max = e->slots;
	int err;

	e->sessions = calloc(max, sizeof(struct media_session *));
	if (!e->sessions)
		return -ENOMEM;
	err = slab_new(&e->session_memory, sizeof(struct media_session),
		       SESSION_CLEARED_BYTES, SLAB_HUGE_PAGES);
	if (!err)
		err = slab_new(&e->seldom_memory, sizeof(struct session_seldom),
			       0, SLAB_SMALL_PAGES);
	if (!err)
		err = socket_pool_new(&e->socket_pool, e->params.port_min,
				      e->params.port_max);
	if (!err)
		err = prompt_cache_new(&e->prompts, e->records_fd,
				       e->params.realtime);
	e->dtls.ticking = &e->ticking;
	e->dtls.loop_fd = e->records_fd;
	e->nat.ticking = &e->ticking;
	e->nat.loop_fd = e->records_fd;
	return err;
}

static int states_new(struct media_engine *e)
{
	struct engine_thread *threads = e->threads.list;
	const struct rx_params rx = {
		.slots = e->slots,
		.thread = &threads[THREAD_RX].shared,
		.epoll_fd = e->epoll_fd,
		.received = e->received,
		.rtcp = e->rtcp,
		.datagrams = e->datagrams,
		.loop_fd = e->records_fd,
		.tap = e->tap,
	};
	const struct tx_params tx = {
		.slots = e->slots,
		.rtcp_interval_ms = e->params.rtcp_interval_ms,
		.ntp_offset_ns = e->ntp_offset_ns,
		.thread = &threads[THREAD_TX].shared,
		.sent = e->sent,
		.answers = e->answers,
	};
	const struct measure_params measure = {
		.slots = e->slots,
		.ntp_offset_ns = e->ntp_offset_ns,
		.thread = &threads[THREAD_ANALYSIS].shared,
		.received = e->received,
		.rtcp = e->rtcp,
		.sent = e->sent,
		.answers = e->answers,
		.tx_wake = &threads[THREAD_TX].shared.wake,
		.records = &e->records,
		.loop_fd = e->records_fd,
		.ticking = &e->ticking,
	};
	const struct audio_params audio = {
		.slots = e->slots,
		.sessions_max = e->params.sessions_max,
		.thread = &threads[THREAD_AUDIO].shared,
		.records = &e->audio_records,
		.loop_fd = e->records_fd,
	};
	int err = rx_new(&e->rx, &rx);

	if (!err)
		err = tx_new(&e->tx, &tx);
	if (!err)
		err = measure_thread_new(&e->measure, &measure);
	if (!err)
		err = audio_new(&e->audio, &audio);
	return err;
}

static int epoll_open(struct media_engine *e)
{
	/* data.ptr NULL: the commands */
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epoll_fd < 0)
		return -errno;
	if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD,
		      e->threads.list[THREAD_RX].shared.wake.fd, &event) < 0)
		return -errno;
	return 0;
}

static int tap_open_all(struct media_engine *e)
{
	const struct media_engine_params *p = &e->params;
	char reason[MEDIA_REASON_BYTES];
	int fds[2];
	size_t count;
	int err;

	if (p->tap.len == 0)
		return 0;
	err = tap_sessions_new(&e->tap, &p->tap, p->port_min, p->port_max,
			       p->reason ? p->reason : reason);
	if (err)
		return err;
	count = tap_sessions_fds(e->tap, fds);
	for (size_t i = 0; i < count; i++) {
		struct epoll_event event = {.events = EPOLLIN,
					    .data.ptr = e->tap};

		if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
			return -errno;
	}
	return 0;
}

static int srtp_library_init(const struct media_engine_params *p)
{
	const char *suite;
	int err;

	if (p->srtp_library != MEDIA_SRTP_LIBRARY_LIBSRTP2)
		return 0;
	err = srtp_libsrtp2_init(&suite);
	if (err && p->reason)
		str_print(p->reason, MEDIA_REASON_BYTES,
			  "srtp_library: libsrtp2 of this host refuses the "
			  "suite %s: set srtp_library = builtin",
			  suite);
	return err;
}

#define SCHEDULED_THREADS 3 /* RX, TX, analysis */

/* Wait until the scheduling classes are set, which media_engine_evidence()
 * reports. */
static void scheduled_wait(struct media_engine *e)
{
	for (int i = 0; i < SCHEDULED_THREADS; i++) {
		while (sem_wait(&e->scheduled) && errno == EINTR)
			continue;
	}
}

static int threads_start(struct media_engine *e)
{
	struct {
		void *(*run)(void *arg);
		void *arg;
		const char *name;
	} work[THREAD_COUNT] = {
		[THREAD_RX] = {rx_thread, e->rx, "media-rx"},
		[THREAD_TX] = {tx_thread, e->tx, "media-tx"},
		[THREAD_ANALYSIS] = {measure_thread, e->measure,
				     "media-analysis"},
		[THREAD_AUDIO] = {audio_thread, e->audio, "media-audio"},
	};
	int err = 0;

	/* only the loop thread handles signals */
	for (int i = 0; !err && i < THREAD_COUNT; i++) {
		struct engine_thread *t = &e->threads.list[i];

		err = thread_start(&t->id, work[i].name, work[i].run,
				   work[i].arg);
		t->started = err == 0;
	}
	if (!err)
		scheduled_wait(e);
	return err;
}

static void threads_stop(struct media_engine *e)
{
	/* release: pairs with the acquire in the threads' loops */
	atomic_store_explicit(&e->quit, true, memory_order_release);
	for (int i = 0; i < THREAD_COUNT; i++) {
		if (!e->threads.list[i].started)
			continue;
		wake_signal(&e->threads.list[i].shared.wake);
		pthread_join(e->threads.list[i].id, NULL);
	}
}

int media_engine_new(struct media_engine **ret,
		     const struct media_engine_params *params)
{
	struct media_engine *e;
	int err;

	if (params->sessions_max < 1 || params->sessions_max > SESSIONS_MAX ||
	    params->port_min == 0 || params->port_max <= params->port_min)
		return -EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->params = *params;
	e->threads.flush_h = params->flush_h;
	e->threads.flush_arg = params->flush_arg;
	e->slots =
		params->sessions_max + params->sessions_max / 4 + SLOTS_SPARE;
	e->ntp_offset_ns = clock_wall_offset_ns();
	e->epoll_fd = -1;
	e->records_fd = -1;
	for (int i = 0; i < THREAD_COUNT; i++)
		e->threads.list[i].shared.wake.fd = -1;
	sem_init(&e->scheduled, 0, 0);
	err = srtp_library_init(params);
	if (!err)
		err = rings_open(e);
	if (!err)
		err = records_fd_open(&e->records_fd);
	if (!err)
		err = tables_open(e);
	if (!err)
		err = epoll_open(e);
	if (!err)
		err = tap_open_all(e);
	if (!err && params->capture.path)
		err = packet_capture_new(&e->capture, &params->capture,
					 PACKET_CAPTURE_RING_BYTES);
	if (!err)
		err = states_new(e);
	if (!err)
		err = threads_start(e);
	if (err) {
		media_engine_free(e);
		return err;
	}
	*ret = e;
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

struct media_engine *media_engine_free(struct media_engine *e)
{
	if (!e)
		return NULL;
	threads_stop(e);
	for (uint32_t i = 0; e->sessions && i < e->slots; i++) {
		if (e->sessions[i]) /* freed, but the threads still used it */
			session_destroy(e->sessions[i]);
	}
	prompt_cache_free(e->prompts); /* its thread writes to records_fd */
	for (int i = 0; i < THREAD_COUNT; i++) {
		ring_free(e->threads.list[i].shared.commands);
		wake_close(&e->threads.list[i].shared.wake);
	}
	close_if_open(e->epoll_fd);
	close_if_open(e->records_fd);
	sem_destroy(&e->scheduled);
	packet_capture_free(e->capture);
	audio_free(e->audio);
	measure_thread_free(e->measure);
	tx_free(e->tx);
	rx_free(e->rx);
	shared_sockets_free(e->shared);
	tap_sessions_free(e->tap);
	ring_free(e->received);
	ring_free(e->rtcp);
	ring_free(e->sent);
	ring_free(e->answers);
	ring_free(e->datagrams);
	dtls_sessions_free(&e->dtls);
	nat_sessions_free(&e->nat);
	record_ring_close(&e->records);
	record_ring_close(&e->audio_records);
	payload_maps_release(&e->maps);
	free(e->sessions);
	slab_free(e->session_memory);
	slab_free(e->seldom_memory);
	socket_pool_free(e->socket_pool);
	free(e);
	return NULL;
}

int media_engine_capture_end(struct media_engine *e, struct media_captured *ret)
{
	if (!e->capture || e->captured)
		return -ENOENT;
	e->captured = true;
	packet_capture_end(e->capture, ret);
	return 0;
}

int media_engine_prepare(struct media_engine *e,
			 const struct media_session_params *params)
{
	int err = 0;

	if (!params->tapped)
		err = session_prompt_prepare(e->prompts, params, NULL);
	if (!err && params->expect_file)
		err = prompt_prepare(e->prompts, PROMPT_FILE,
				     params->expect_file, NULL, 0, true);
	return err;
}

int media_engine_prepare_play(struct media_engine *e,
			      const struct media_session_params *params,
			      const char *file)
{
	return session_prompt_prepare(e->prompts, params, file);
}

bool media_engine_prepared(const struct media_engine *e)
{
	return !prompt_cache_busy(e->prompts);
}

int media_engine_prepare_failed(const struct media_engine *e,
				const char **ret_file)
{
	return prompt_cache_failed(e->prompts, ret_file);
}

void media_engine_flush(struct media_engine *e)
{
	engine_threads_flush(&e->threads);
}

int media_engine_fd(const struct media_engine *e)
{
	return e->records_fd;
}

void media_engine_evidence(const struct media_engine *e,
			   struct media_evidence *ret)
{
	const struct rx_counters *rx = rx_counters(e->rx);
	const struct tx_counters *tx = tx_counters(e->tx);

	memset(ret, 0, sizeof(*ret));
	ret->packets_sent = COUNTER_READ(&tx->packets);
	ret->send_errors = COUNTER_READ(&tx->errors);
	ret->packets_unsent = COUNTER_READ(&tx->unsent);
	ret->packets_received = COUNTER_READ(&rx->packets);
	ret->invalid_packets = COUNTER_READ(&rx->invalid);
	ret->rtcp_invalid = COUNTER_READ(&rx->rtcp_invalid);
	ret->rtp_send_refused = COUNTER_READ(&tx->refused[0]);
	ret->rtcp_send_refused = COUNTER_READ(&tx->refused[1]);
	ret->foreign_packets = COUNTER_READ(&rx->foreign);
	ret->unassigned_packets = COUNTER_READ(&rx->unassigned);
	ret->ssrc_collisions = COUNTER_READ(&rx->collisions);
	ret->srtp_refused = COUNTER_READ(&rx->srtp_refused);
	ret->srtp_replayed = COUNTER_READ(&rx->srtp_replayed);
	ret->dtls_dropped = COUNTER_READ(&rx->dtls_dropped) + e->dtls.dropped +
			    ring_dropped(e->datagrams);
	ret->dtls_refused = e->dtls.refused;
	ret->stun_dropped = COUNTER_READ(&rx->stun_dropped);
	ret->srtp_unkeyed = COUNTER_READ(&rx->srtp_unkeyed);
	ret->receive_queue_drops = COUNTER_READ(&rx->queue_drops);
	for (int i = 0; i < 2; i++) {
		const struct payload_ring *payloads = audio_ring(e->audio, i);

		if (payloads)
			ret->ring_drops += payload_ring_dropped(payloads);
	}
	ret->ring_drops += ring_dropped(e->received) + ring_dropped(e->rtcp) +
			   ring_dropped(e->sent) + ring_dropped(e->answers) +
			   COUNTER_READ(&e->records.dropped) +
			   COUNTER_READ(&e->audio_records.dropped);
	ret->sending =
		scheduling_read(&e->threads.list[THREAD_TX].shared.scheduling);
	ret->receiving =
		scheduling_read(&e->threads.list[THREAD_RX].shared.scheduling);
	lateness_read(&tx->lateness, &ret->send_lateness_ms,
		      &ret->send_lateness_p99_ms);
}

const struct lateness *media_engine_lateness(const struct media_engine *e)
{
	return &tx_counters(e->tx)->lateness;
}

/* ---- records from the threads, datagrams from RX ---- */

/* Maximum of records delivered in one turn of the loop; the rest follows in the
 * next. */
#define POLL_MAX 4096

static void record_deliver(const struct media_record *record,
			   media_record_h *handler, void *arg)
{
	struct media_session *s = record->session;
	bool released = s->released;

	if (record->kind == MEDIA_RECORD_STOPPED)
		s->stopped = true;
	if (record->kind == MEDIA_RECORD_SECOND)
		(void)commands_sweep(&s->commands);
	if (record->kind == MEDIA_RECORD_DTMF && record->outgoing &&
	    record->u.dtmf.last)
		s->dtmf_busy = false;
	if (record->kind == MEDIA_RECORD_PLAYED)
		s->prompt.playing = false;
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

	while (record_ring_pop(&e->audio_records, &record)) {
		record_deliver(&record, handler, arg);
		count++;
	}
	return count;
}

static void prompts_poll(struct media_engine *e)
{
	if (!prompt_cache_take(e->prompts))
		return;
	for (uint32_t i = 0; i < e->slots; i++) {
		struct media_session *s = e->sessions[i];

		if (s && !s->stop_given)
			session_prompt_poll(&s->prompt);
	}
}

/* Process the datagrams that the RX thread handed over. */
static void handovers_take(struct media_engine *e)
{
	struct handover d;

	for (int i = 0; i < ENGINE_HANDOVERS && ring_pop(e->datagrams, &d);
	     i++) {
		struct media_session *s = e->sessions[d.slot];

		if (!s || s->ssrc != d.ssrc || s->stop_given)
			continue;
		if (d.kind == HANDOVER_DTLS)
			session_dtls_input(&s->dtls, &d);
		else
			session_nat_input(&s->nat, &d);
	}
}

void media_engine_poll(struct media_engine *e, media_record_h *handler,
		       void *arg)
{
	struct media_record record;
	int left = POLL_MAX;

	wake_fd_clear(e->records_fd);
	handovers_take(e);
	prompts_poll(e);
	session_nat_poll(&e->nat, handler, arg);
	session_dtls_poll(&e->dtls, handler, arg);
	left -= audio_poll(e, handler, arg);
	while (left-- > 0 && record_ring_pop(&e->records, &record)) {
		/* the audio thread ended its part before: deliver its records
		 * first */
		if (record.kind == MEDIA_RECORD_STOPPED)
			audio_poll(e, handler, arg);
		record_deliver(&record, handler, arg);
	}
	if (left < 0)
		wake_fd_signal(e->records_fd); /* there may be more */
}
