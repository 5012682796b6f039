/**
 * The media engine: its threads, the rings between them, and the sessions.
 * Thread: loop, but for what is said otherwise. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_ENGINE_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_ENGINE_H

#include "base/ring.h"
#include "base/slab.h"
#include "media/engine/media_session.h"
#include "media/media_thread.h"
#include "media/record_ring.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* 400 kB: datagrams that wait for a turn of the loop */
#define ENGINE_HANDOVERS 256

enum media_thread_id {
	THREAD_RX,
	THREAD_TX,
	THREAD_ANALYSIS,
	THREAD_AUDIO,
	THREAD_COUNT
};

/** A thread, as the loop has it. */
struct engine_thread {
	struct media_thread shared; /* with the thread */
	int64_t woken_ns;           /* by the loop, last */
	bool wake_due;              /* by media_engine_flush() */
	bool started;
	pthread_t id;
};

struct media_engine {
	/* constant after media_engine_new() */
	struct media_engine_params params;
	uint32_t slots; /* sessions_max and room for released ones that the
			 * threads have not let go of yet */
	int64_t ntp_offset_ns; /* wall minus monotonic: the clock of our SRs,
				* which no step of the wall clock moves */
	struct engine_thread threads[THREAD_COUNT];
	sem_t scheduled; /* RX, TX and analysis, once they have their class */
	struct ring *received;            /* packet_record; RX -> analysis */
	struct ring *rtcp;                /* rtcp_event; RX -> analysis */
	struct ring *sent;                /* packet_record; TX -> analysis */
	struct ring *answers;             /* report_answer; analysis -> TX */
	struct ring *datagrams;           /* handover; RX -> loop */
	struct record_ring records;       /* analysis -> loop */
	struct record_ring audio_records; /* audio -> loop */
	/* sessions with a DTLS handshake under way, or with STUN, TURN or ICE:
	 * the analysis thread wakes the loop for their timers */
	_Atomic unsigned ticking;
	int records_fd; /* eventfd */
	int epoll_fd;

	/* loop */
	struct prompt_cache *prompts;
	struct slab *session_memory;
	struct media_session **sessions; /* by slot; NULL: free */
	uint32_t slot_next;
	struct tx_phases phases;
	struct dtls_sessions dtls;
	struct nat_sessions nat;
	uint32_t sessions_owned; /* not released; at most sessions_max */
	bool flush_asked;        /* media_engine_flush() will be called */

	_Atomic bool quit; /* written by the loop */

	/* states of the threads */
	struct rx *rx;
	struct tap_sessions *tap; /* RX's; NULL: nothing is tapped */
	struct tx *tx;
	struct measure_thread *measure;
	struct audio *audio;
};

#endif
