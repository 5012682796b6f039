/**
 * The media engine: its threads, the rings between them, and the sessions.
 * Thread: loop, unless noted otherwise. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_ENGINE_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_ENGINE_H

#include "base/ring.h"
#include "base/slab.h"
#include "media/engine/media_session.h"
#include "media/engine/payload_maps.h"
#include "media/engine/socket_pool.h"
#include "media/engine/thread_command.h"
#include "media/record_ring.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* 400 kB: datagrams that wait for the next turn of the loop */
#define ENGINE_HANDOVERS 256

struct media_engine {
	/* constant after media_engine_new() */
	struct media_engine_params params;
	uint32_t slots; /* sessions_max, and room for freed sessions that the
			 * threads still use */
	int64_t ntp_offset_ns; /* wall minus monotonic: the clock of our SRs;
				* steps of the wall clock do not change it */
	struct engine_threads threads;
	sem_t scheduled; /* posted by RX, TX and analysis once their class is
			  * set */
	struct ring *received;            /* packet_record; RX -> analysis */
	struct ring *rtcp;                /* rtcp_event; RX -> analysis */
	struct ring *sent;                /* packet_record; TX -> analysis */
	struct ring *answers;             /* report_answer; analysis -> TX */
	struct ring *datagrams;           /* handover; RX -> loop */
	struct record_ring records;       /* analysis -> loop */
	struct record_ring audio_records; /* audio -> loop */
	/* number of sessions with a DTLS handshake in progress, or with STUN,
	 * TURN or ICE: the analysis thread wakes the loop for their timers */
	_Atomic unsigned ticking;
	int records_fd; /* eventfd */
	int epoll_fd;

	/* loop */
	struct prompt_cache *prompts;
	struct payload_maps maps;
	struct slab *session_memory;
	struct slab *seldom_memory; /* session_seldom */
	struct socket_pool *socket_pool;
	struct shared_sockets *shared;   /* NULL: no session shares yet */
	struct media_session **sessions; /* by slot; NULL: free */
	uint32_t slot_next;
	struct tx_phases phases;
	struct dtls_sessions dtls;
	struct nat_sessions nat;
	uint32_t sessions_owned; /* not freed by the owner; at most
				  * sessions_max */

	_Atomic bool quit; /* written by the loop */

	struct packet_capture *capture; /* NULL: none */
	bool captured;                  /* loop: its file is closed */

	/* states of the threads */
	struct rx *rx;
	struct tap_sessions *tap; /* used by RX; NULL: nothing is tapped */
	struct tx *tx;
	struct measure_thread *measure;
	struct audio *audio;
};

#endif
