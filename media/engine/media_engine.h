/**
 * Inside of the media engine: the engine, its threads and the rings between
 * them. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_ENGINE_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_ENGINE_H

#include "base/ring.h"
#include "base/slab.h"
#include "media/analysis/record.h"
#include "media/engine/media_session.h"
#include "media/lateness.h"
#include "media/media.h"
#include "media/payload_ring.h"
#include "media/scheduling.h"
#include "media/tx/tx_heap.h"
#include "media/wake.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The analysis takes records this long after they happened: late enough that
 * what the RX and TX threads still hold is in order with the rest. */
#define ANALYSIS_DELAY_NS (50 * NS_PER_MS)
#define ANALYSIS_TICK_MS  20
#define ANALYSIS_TICK_NS  (ANALYSIS_TICK_MS * NS_PER_MS)

/* 400 kB: datagrams that wait for a turn of the loop */
#define ENGINE_HANDOVERS 256

enum media_thread {
	THREAD_RX,
	THREAD_TX,
	THREAD_ANALYSIS,
	THREAD_AUDIO,
	THREAD_COUNT
};

/** Private records in the rings of packets. */
enum {
	PACKET_REPORT_WANTED = PACKET_PRIVATE,
	/* in the ring of received ones */
	PACKET_SRTP_REFUSED, /* not authentic */
	PACKET_SRTP_REPLAYED,
	/* A digit was sent: seq its character, payload_bytes its ms (0: it was
	 * not), marker_pt enum digit_sent */
	PACKET_DIGIT_SENT,
	/* A file was played: marker_pt whether to its end */
	PACKET_PLAYED,
	/* The kernel refuses the peer's address: seq the errno, marker_pt
	 * whether it is RTCP's */
	PACKET_UNREACHABLE,
	/* The program of a tapped session sent it: as PACKET_RTP_SENT */
	PACKET_TAPPED_SENT,
	/* A telephone-event packet was received, besides its record: seq the
	 * event, payload_bytes its duration, marker_pt the E bit, lateness_us
	 * the clock rate */
	PACKET_EVENT_RECEIVED,
};

/* marker_pt of PACKET_REPORT_WANTED: the last report, which goes with BYE */
#define REPORT_FINAL 1

enum digit_sent {
	DIGIT_LAST = 1, /* of an order */
	DIGIT_TONE = 2, /* in the audio */
};

enum rtcp_event_kind {
	RTCP_EVENT_SEEN,   /* a valid compound packet came */
	RTCP_EVENT_SENDER, /* `ssrc` sent an SR with `lsr` */
	RTCP_EVENT_REPORT, /* `ssrc` reported on us */
	RTCP_EVENT_RRTR,   /* `ssrc` asks for a DLRR with `lsr` */
	RTCP_EVENT_DLRR,   /* `ssrc` answers our RRTR */
	RTCP_EVENT_VOIP,   /* metrics of `ssrc` about us */
	RTCP_EVENT_SUMMARY,
};

/** RX -> analysis: what a received RTCP packet said. */
struct rtcp_event {
	int64_t mono_ns; /* kernel's receive time */
	uint32_t slot;
	uint32_t ssrc;
	enum rtcp_event_kind kind;
	uint32_t lsr;
	union {
		struct rtcp_report report;
		struct rtcp_dlrr dlrr;
		struct rtcp_voip_metrics voip;
		struct rtcp_stat_summary summary;
	} u;
};

/** A report block about one source. */
struct report_block {
	struct rtcp_report report; /* without dlsr */
	int64_t sr_ns; /* when the SR of report.lsr came; valid if lsr != 0 */
};

/** Analysis -> TX: what to put into the next RTCP packet. */
struct report_answer {
	uint32_t slot;
	uint32_t ssrc; /* ours: tells whether the slot is still the session's */
	bool final;    /* as REPORT_FINAL asked for */
	uint32_t members;
	uint32_t senders;
	uint32_t block_count;
	struct report_block blocks[RTCP_REPORTS_MAX];
	struct rtcp_xr xr; /* without RRTR, and without the delay of its DLRR */
	int64_t rrtr_ns;   /* when the RRTR of xr.dlrr came */
};

struct thread {
	pthread_t id;
	bool started;
	struct wake wake;      /* commands or answers wait */
	int64_t woken_ns;      /* by the loop, last */
	bool wake_due;         /* by media_engine_flush(); the loop's */
	struct ring *commands; /* struct command *; producer: loop */
	struct scheduling scheduling;
};

/** Counters of the RX thread; relaxed: statistics, they order nothing. */
struct rx_counters {
	_Atomic uint64_t packets;
	_Atomic uint64_t invalid;
	_Atomic uint64_t rtcp_invalid; /* of these: RTCP */
	_Atomic uint64_t foreign;
	_Atomic uint64_t collisions;
	_Atomic uint64_t queue_drops;
	_Atomic uint64_t srtp_refused;
	_Atomic uint64_t srtp_replayed;
	_Atomic uint64_t srtp_unkeyed;
	_Atomic uint64_t dtls_dropped; /* the loop adds to it too */
	_Atomic uint64_t dtls_refused; /* by the loop */
	_Atomic uint64_t stun_dropped;
};

struct tx_counters {
	_Atomic uint64_t packets;
	_Atomic uint64_t errors;
	_Atomic uint64_t unsent; /* places without an encoding */
	/* by the kernel, to an address that has taken no packet: RTP, RTCP */
	_Atomic uint64_t refused[2];
	struct lateness lateness;
};

struct media_engine {
	/* constant after media_engine_new() */
	struct media_engine_params params;
	uint32_t slots; /* sessions_max and room for released ones that the
			 * threads have not let go of yet */
	int64_t ntp_offset_ns; /* wall minus monotonic: the clock of our SRs,
				* which no step of the wall clock moves */
	struct thread threads[THREAD_COUNT];
	sem_t scheduled; /* RX, TX and analysis, once they have their class */
	struct ring *received;      /* packet_record; RX -> analysis */
	struct ring *rtcp;          /* rtcp_event; RX -> analysis */
	struct ring *sent;          /* packet_record; TX -> analysis */
	struct ring *answers;       /* report_answer; analysis -> TX */
	struct ring *records;       /* media_record; analysis -> loop */
	struct ring *datagrams;     /* handover; RX -> loop */
	struct ring *audio_records; /* media_record; audio -> loop */
	/* payloads to decode, received and sent ones; RX, TX -> audio; made
	 * with the first session that wants audio */
	struct payload_ring *payloads[2];
	/* DTLS handshakes under way, ICE agents: the analysis wakes the loop
	 * for their timers */
	_Atomic unsigned ticking;
	size_t records_count;
	int records_fd; /* eventfd */
	int epoll_fd;

	/* loop */
	struct prompt_cache *prompts;
	struct slab *session_memory;
	struct media_session **sessions; /* by slot; NULL: free */
	uint32_t slot_next;
	struct tx_phases phases;
	struct dtls_identity *identity;     /* NULL: no session wanted DTLS */
	struct media_session *handshakes;   /* by session_dtls.next */
	struct media_session *nat_sessions; /* by session_nat.next */
	struct turn_streams *relay_streams; /* NULL: no session wanted one */
	uint32_t sessions_owned; /* not released; at most sessions_max */
	bool flush_asked;        /* media_engine_flush() will be called */

	_Atomic bool quit; /* written by the loop */

	/* RX thread */
	struct rx *rx_state;
	struct tap_sessions *tap; /* NULL: nothing is tapped */
	struct rx_counters rx;
	uint64_t received_pushed;
	uint64_t rtcp_pushed;

	/* TX thread */
	struct tx_counters tx;
	struct tx_heap heap;
	struct media_session **tx_sessions; /* by slot; applied, not stopped */
	uint64_t sent_pushed;

	/* analysis thread, and the loop's side of the same ring */
	struct measure_thread *analyse_state;
	uint64_t records_pushed;
	_Atomic uint64_t records_polled;  /* loop */
	_Atomic uint64_t records_dropped; /* the audio thread adds to it too */

	/* audio thread, and the loop's side of the same ring */
	struct audio *audio_state;
	uint64_t audio_pushed;
	_Atomic uint64_t audio_polled; /* loop */
};

/* State of a thread that is too large for its stack; made by the loop. */
struct tap_sessions;
struct rx;
struct measure_thread;

int rx_new(struct rx **ret, struct media_engine *e);
struct rx *rx_free(struct rx *rx);
void *rx_thread(void *rx);

void *tx_thread(void *engine);

/** Take the thread's class, if one is wanted. Thread: RX, TX, analysis, before all. */
void engine_schedule(struct media_engine *e, enum media_thread thread,
		     int priority);

int measure_thread_new(struct measure_thread **ret, struct media_engine *e);
struct measure_thread *measure_thread_free(struct measure_thread *an);
void *measure_thread(void *an);

/** Wake the loop by records_fd. Thread: any; never blocks. */
void engine_wake(int fd);
/** Clear its wake-up. Thread: the loop. */
void engine_wake_clear(int fd);

/** Wall time of our SRs at a monotonic time, as NTP. */
static inline uint64_t engine_ntp(const struct media_engine *e, int64_t mono_ns)
{
	return rtcp_ntp(mono_ns + e->ntp_offset_ns);
}

#define COUNTER_ADD(p, n) \
	atomic_fetch_add_explicit((p), (n), memory_order_relaxed)
#define COUNTER_SUB(p, n) \
	atomic_fetch_sub_explicit((p), (n), memory_order_relaxed)
#define COUNTER_READ(p) atomic_load_explicit((p), memory_order_relaxed)

#endif
