/**
 * Inside of the media engine: a session, with the part of each thread, and
 * the commands the loop thread gives the media threads. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H

#include "base/prefetch.h"
#include "media/analysis/quality.h"
#include "media/analysis/stream.h"
#include "media/audio/codec.h"
#include "media/audio/dtmf_receive.h"
#include "media/audio/dtmf_send.h"
#include "media/audio/prompt.h"
#include "media/media.h"
#include "media/nat/session_nat.h"
#include "media/rx/rx_linger.h"
#include "media/security/session_dtls.h"
#include "media/security/session_key.h"
#include "media/socket.h"
#include "media/tx/rtcp_build.h"
#include "media/tx/tx_phase.h"
#include "media/tx/tx_play.h"
#include "media/tx/tx_tones.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Received streams (SSRCs) of one session that are measured at a time; see
 * streams_find() for what happens to more. */
#define SESSION_STREAMS_MAX 4
/* A stream that was silent for so long makes room for another. More than a
 * second: it has no packet in the open one. */
#define STREAM_ENDED_NS INT64_C(2000000000)

/* Commands of one session that may be under way; the command rings hold this
 * many for every session, so they are never full. */
#define SESSION_COMMANDS_MAX 16

enum command_kind {
	COMMAND_ADD,   /* the session exists */
	COMMAND_APPLY, /* offer and answer are settled (again) */
	COMMAND_UNTIL, /* do not send at or after until_ns */
	COMMAND_DTMF,  /* send digits */
	COMMAND_TONES, /* the same as tones */
	COMMAND_PLAY,  /* a file, once */
	COMMAND_MUTE,  /* send silence, or no longer */
	COMMAND_LISTEN,
	COMMAND_RECORD, /* begin, or end */
	COMMAND_REKEY,  /* new keys of ours are on offer: the peer may use new
			* ones of its own before they are known */
	COMMAND_TAP,    /* ports of a tapped session */
	COMMAND_RELAY, /* what comes from a TURN server, and by which channel */
	COMMAND_STOP,
};

/**
 * What the loop thread tells the media threads. Constant once pushed; owned by
 * the session. A thread gives it back by lowering `holders`, with release, and
 * the loop may reuse it when that is 0.
 */
struct command {
	enum command_kind kind;
	struct media_session *session;
	struct command *next; /* loop: list of the session */
	_Atomic unsigned holders;
	int64_t mono_ns;  /* when it was given */
	int64_t until_ns; /* COMMAND_UNTIL */
	/* COMMAND_APPLY */
	int64_t start_ns; /* when the first packet is due */
	bool begins;      /* the session's first one */
	struct media_addr rtp;
	struct media_addr rtcp;
	/* through a TURN server, to the peers above: */
	struct media_addr via;
	uint16_t channel_rtp; /* 0: straight */
	uint16_t channel_rtcp;
	struct handover_known known; /* ICE: the peer's candidates */
	bool rtcp_mux;
	bool sends;
	bool receives; /* by direction */
	bool aligned;  /* the clip keeps step with the wall clock */
	uint8_t pt;
	const struct codec *codec;
	/* of the session's prompt, may still grow. COMMAND_PLAY: of the
	 * file's, whole */
	const struct clip *clip;
	const struct clip *mute; /* silence, instead; NULL: not muted */
	struct prompt *prompt;   /* held by COMMAND_PLAY */
	uint8_t noise_pt;        /* of comfort noise in a clip */
	uint16_t ptime_ms;
	bool has_event;
	uint8_t event_pt;
	uint32_t event_clock_hz;
	unsigned xr; /* enum media_xr: what the peer asks for */
	struct rtp_payload_map map;
	bool encrypted; /* SRTP; a key that is NULL is still to come */
	/* by port where RTCP has keys of its own, see rtcp_keyed; else all goes
	 * with the first */
	struct session_key *keys_rx[SOCKET_COUNT];
	struct session_key *keys_tx[SOCKET_COUNT];
	bool rtcp_keyed;      /* DTLS-SRTP on two ports (RFC 5764 section 3) */
	const char *suite_rx; /* static text; NULL: plain */
	const char *suite_tx;
	/* COMMAND_RELAY */
	unsigned socket;
	struct relay_map relay;
	/* COMMAND_DTMF */
	struct dtmf_order order;
	/* COMMAND_TONES, of `codec`; given back when they were sent */
	struct dtmf_clip tones;
	/* COMMAND_LISTEN */
	struct media_listen listen;
	/* COMMAND_RECORD: in, out; NULL: end. The audio thread takes them */
	char *paths[2];
	/* COMMAND_TAP */
	bool any_peer; /* COMMAND_APPLY of a tapped session: ICE of the
			* program's finds out who the peer is */
	struct media_addr tap_rtp;
	struct media_addr tap_rtcp;
};

/* ---- RX thread ---- */

struct rx_socket {
	struct media_session *session;
	int fd;         /* constant after media_session_new() */
	bool rtcp;      /* constant */
	bool stream;    /* constant: frames of a TURN server, see
			 * media/nat/turn_stream.h */
	uint32_t drops; /* SO_RXQ_OVFL last seen */
	uint32_t turn;  /* of the thread, when it was last read */
	uint8_t batch;  /* datagrams it was asked for, > 0 */
	struct relay_map relay;
};

/** Of one port. */
struct rx_keys {
	struct session_key *key; /* NULL: not known yet */
	struct session_key *before;
	int64_t before_until_ns; /* once there is a key after it */
};

struct rx_session {
	/* hot: each packet; one line up to the peer's IPv4 or IPv6 address */
	/* SRTP is expected, or may be settled: nothing is read in plain */
	_Alignas(PREFETCH_LINE) bool encrypted;
	bool tap_secure; /* a tapped one is SRTP: only headers can be read */
	int64_t peer_ns;
	struct media_addr peer; /* negotiated RTP address; len 0: none */
	/* cold, but for the first bytes of what is read */
	struct rx_socket sockets[SOCKET_COUNT];
	struct rx_socket streams[SOCKET_COUNT];      /* fd -1: none */
	struct media_addr peer_before;               /* until peer_ns */
	uint32_t event_clock_hz[PACKET_PT_MASK + 1]; /* 0: no event type */
	struct rx_lingering linger;
	struct media_addr rtcp_peer; /* for DTLS; len 0: not known */
	bool rtcp_mux;               /* agreed on: no DTLS for RTCP alone */
	struct handover_gate dtls[SOCKET_COUNT];
	struct handover_gate stun;
	struct handover_gate stun_known; /* from the peer, or a server */
	struct handover_known known;     /* the peer's candidates */
	int64_t rekeying_until_ns; /* what no key fits waits for the next one */
	struct rx_keys keys[SOCKET_COUNT]; /* as in struct command */
	bool rtcp_keyed;
	uint64_t audio_dropped; /* payloads the audio thread has not got */
	uint32_t own_ssrc; /* whom the peer's reports are about: ours, or that
			    * of the program of a tapped session */
};

/* ---- TX thread ---- */

enum tx_timer {
	TX_TIMER_RTP,
	TX_TIMER_RTCP,
	TX_TIMER_COUNT
};

struct tx_session {
	/* hot: each packet; TX_HOT_BYTES from here, asked for together */
	_Alignas(PREFETCH_LINE) int64_t due_ns; /* of the next packet */
	int64_t until_ns;                       /* 0: no limit */
	const struct clip *clip;                /* it may still grow */
	const struct clip *mute; /* silence, instead; NULL: not muted */
	/* NULL: plain, or nothing may be sent; as in struct command */
	struct session_key *keys[SOCKET_COUNT];
	size_t clip_at;      /* next byte, or frame, of the clip */
	size_t stream_bytes; /* a packet of a byte stream */
	uint32_t ts;         /* of the next packet */
	uint32_t ticks;      /* a packet */
	uint16_t seq;        /* of the next packet */
	uint16_t ptime_ms;
	uint16_t channel_rtp; /* 0: straight */
	uint8_t pt;
	uint8_t noise_pt; /* of clips with comfort noise */
	bool applied;
	bool sends;  /* by direction; until_ns limits it too */
	bool marker; /* the next packet begins a talkspurt */
	bool encrypted;
	uint64_t packets;
	uint64_t payload_bytes;
	struct tx_play play;
	struct tx_tones tones;
	struct media_addr rtp; /* the first bytes, IPv4 or IPv6 */
	struct dtmf_send dtmf; /* the first byte */
	/* cold */
	bool aligned; /* as in the command */
	const struct codec *codec;
	uint32_t clock_hz;
	size_t mute_at;
	struct media_addr rtcp;
	struct media_addr via; /* a TURN server */
	uint16_t channel_rtcp; /* 0: straight */
	bool rtcp_mux;
	bool rtcp_keyed;
	bool has_event; /* telephone-event was agreed */
	uint8_t event_pt;
	uint32_t event_clock_hz;
	/* RTCP */
	unsigned xr; /* enum media_xr: what the peer asks for */
	/* of the present addresses: how often the kernel refused them before
	 * the first packet left */
	uint32_t refusals[SOCKET_COUNT];
	uint64_t packets_before; /* sent to RTP addresses before this one */
	bool rtcp_reached;
	bool report_wanted; /* the analysis was asked for a report block */
	bool leaving;       /* stopped; its BYE waits for the last block */
	bool rtcp_sent;
	uint32_t members;
	uint32_t peer_senders;
	double average_bytes;
	int64_t rtcp_last_ns;
	uint64_t packets_reported[2]; /* at the last two reports */
	uint64_t random;              /* state of the generator */
	uint64_t audio_dropped;       /* as in rx_session; of a tapped session
				       * RX's */
};

#define TX_HOT_BYTES (offsetof(struct tx_session, dtmf) + 1)

/* ---- analysis thread ---- */

enum analysis_state {
	ANALYSIS_WAITING, /* not applied yet: packets are kept, see early[] */
	ANALYSIS_RUNNING,
	ANALYSIS_STOPPING, /* until RX and TX are done with it */
	ANALYSIS_CLOSING,  /* totals and STOPPED on their way */
};

/* Sources that made room for others, which are told of one by one. */
#define SESSION_SOURCES_ENDED_MAX 12

/** A received stream of a session. */
struct measure_stream {
	_Alignas(PREFETCH_LINE) struct rtp_stream rtp;
	struct rtp_quality quality;
	int64_t first_ns; /* its first packet */
	bool has_sr;      /* the source's last sender report */
	uint32_t lsr;
	int64_t sr_ns;
	int64_t block_ns; /* rtp.seq.max_ns of our last report block; 0: none */
};

/* A peer may send as soon as it has our offer, or its answer is on the way (RFC
 * 3264 section 5.1): what came this long before the start belongs to the
 * stream. The seconds begin with it, so it is less than one. */
#define EARLY_PACKETS_MAX 128
#define EARLY_NS          INT64_C(900000000)

struct measure_session {
	/* cold */
	struct stream_total ended; /* streams that made room: as one */
	uint64_t ended_most;       /* packets of the largest of them */
	uint32_t sources_ended_count;
	uint64_t sources_left_out;         /* ended ones beyond */
	struct stream_second ended_second; /* what no second has told of them */
	size_t early_count;
	int64_t stop_ns; /* valid from ANALYSIS_STOPPING on */
	unsigned map;    /* which of maps[] is in force */
	bool has_rrtr;   /* a request for a DLRR that is not answered yet */
	struct rtcp_dlrr rrtr;
	int64_t rrtr_ns;
	/* received, in none of the streams: long before the start, more SSRCs
	 * than are measured */
	uint64_t stray_packets;
	uint64_t stray_bytes;
	uint64_t stray_packets_before; /* at the start of the second */
	uint64_t stray_bytes_before;
	const char *suite_in; /* SRTP; NULL: plain */
	const char *suite_out;
	uint16_t ptime_ms; /* that we send with; 0: nothing settled */
	uint64_t srtp_refused;
	uint64_t srtp_replayed;
	uint64_t srtp_refused_before; /* at the start of the second */
	uint64_t srtp_replayed_before;
	uint64_t published_in; /* packets in closed seconds */
	uint64_t published_out;
	const struct codec *codec; /* being sent */
	uint8_t closing_step;
	uint32_t closing_source; /* the next one to tell of */
	/* hot: every received packet; one cache line, the first of streams[]
	 * follows */
	_Alignas(PREFETCH_LINE) enum analysis_state state;
	uint32_t running_at;    /* place in the list of running sessions */
	int64_t second_ns;      /* start of the open second */
	uint32_t stream_count;  /* of streams[] */
	uint32_t stream_recent; /* last one that received */
	bool has_rtp;
	bool has_rtcp;
	struct dtmf_receive dtmf; /* hot: the first byte */
	/* From here on a new session has the contents of a released one: each
	 * part is written whole before it is read. That is two thirds of a
	 * session which the loop need not clear for each call. */
	struct measure_stream streams[SESSION_STREAMS_MAX]; /* stream_count */
	struct rtp_sender
		sender; /* by measure_session_start(), measure_session_never() */
	struct stream_source sources_ended[SESSION_SOURCES_ENDED_MAX];
	struct packet_record early[EARLY_PACKETS_MAX]; /* oldest first */
	struct rtp_payload_map maps[2]; /* by measure_session_start() */
};

/* ---- the session ---- */

struct tones_work; /* media_session_audio.c */

struct media_session {
	/* constant after media_session_new() */
	_Alignas(PREFETCH_LINE) struct media_engine *engine;
	uint32_t slot;
	uint32_t ssrc;
	struct audio_session *audio; /* NULL: nothing is decoded */
	bool audio_sent;             /* what we send is decoded, too */
	/* so far in one line: each packet reads it */
	bool tapped; /* TX has no part in it */
	bool marker; /* marker tones instead of a prompt */
	char cname[RTCP_CNAME_BYTES];
	struct media_local local;
	struct prompt *prompt;
	struct prompt *expected; /* NULL: nothing is */
	void *user;
	/* DTLS: suites by preference; none: all */
	enum media_srtp_suite suites[MEDIA_SRTP_SUITE_COUNT];
	size_t suite_count;

	/* loop */
	int64_t start_ns;          /* 0: not applied */
	struct tx_phase phase;     /* its place in the packet time */
	const struct codec *codec; /* to send, in force; NULL: none yet */
	struct codec_settings codec_settings;
	uint16_t ptime_ms;
	bool suppresses; /* silence_suppression */
	bool muted;
	struct prompt *silence; /* NULL: never muted */
	struct prompt *play;    /* to be played once it is encoded */
	bool playing;           /* one is under way */
	bool has_event;         /* telephone-event was agreed */
	bool recording;
	bool dtmf_busy;           /* an order is under way */
	struct tones_work *tones; /* that is being encoded; NULL: none */
	bool stop_given;
	bool stopped;  /* MEDIA_RECORD_STOPPED was polled */
	bool released; /* the owner let go: destroy when stopped */
	struct command *commands;
	struct session_keys keys_rx[SOCKET_COUNT];
	struct session_keys keys_tx[SOCKET_COUNT];
	struct session_dtls dtls;
	struct session_nat nat;
	struct command add;
	struct command stop;

	/* RX thread */
	struct rx_session rx;

	/* TX thread */
	struct tx_session tx;

	/* set once by RX and TX, read by the analysis when `done` is set: the
	 * number of their ring's last record that may be of this session */
	uint64_t rx_last_packet;
	uint64_t rx_last_rtcp;
	uint64_t tx_last_packet;
	uint64_t tx_packets;
	uint64_t tx_payload_bytes;
	_Atomic bool rx_done;
	_Atomic bool tx_done;

	/* set by the audio thread when it is through with the session */
	_Atomic bool audio_done;

	/* analysis thread; last: see SESSION_CLEARED_BYTES */
	struct measure_session analysis;
};

/* The start of a session, all zero when it is made. */
#define SESSION_CLEARED_BYTES                       \
	(offsetof(struct media_session, analysis) + \
	 offsetof(struct measure_session, streams))

#define TO_RX       (1u << THREAD_RX)
#define TO_TX       (1u << THREAD_TX)
#define TO_ANALYSIS (1u << THREAD_ANALYSIS)
#define TO_AUDIO    (1u << THREAD_AUDIO)

/** A command, dated now. Thread: loop. @return 0; -EAGAIN; -ENOMEM */
int command_new(struct command **ret, struct media_session *s,
		enum command_kind kind);
/** Give it to threads. @param threads  TO_... */
void command_push(struct command *c, unsigned threads);
/** Forget the one made last, which was not pushed. */
void command_drop(struct command *c);
/** Free all of a session. No thread may have one. */
void commands_release(struct media_session *s);
/** The audio thread, if it has a part in the session. @return TO_AUDIO; 0 */
unsigned command_to_audio(const struct media_session *s);
/** All threads that have a part in it. @return TO_... */
unsigned command_to_all(const struct media_session *s);

/** Tell the RX thread what a TURN server sends. @return 0; -EAGAIN; -ENOMEM */
int session_relay_put(struct media_session *s, unsigned socket,
		      const struct relay_map *map);

/** What is being encoded for it is not wanted any more. Thread: loop */
void session_tones_forget(struct media_session *s);

/** Release everything. Thread: loop; no other thread may know it. */
void session_destroy(struct media_session *s);

/** A command was taken; the thread does not touch it after. */
static inline void command_done(struct command *c)
{
	/* release: pairs with the acquire in commands_sweep(); the command was
	 * read before it is used again */
	atomic_fetch_sub_explicit(&c->holders, 1, memory_order_release);
}

#endif
