/**
 * The media engine: RTP and RTCP sockets, one thread that receives, one that
 * sends, one that analyses (design: processes and threads of the agent).
 *
 * All functions here are called by ONE thread, the loop thread of the engine
 * process; none of them blocks, and none makes a media thread allocate, lock
 * or log. What the threads measured comes back through media_engine_poll().
 */
#ifndef OFFHOOK_MEDIA_MEDIA_H
#define OFFHOOK_MEDIA_MEDIA_H

#include "media/analysis/emodel_values.h"
#include "media/analysis/summary.h"
#include "media/dtmf.h"
#include "media/params.h"

struct media_engine;
struct media_session; /* the audio of one call */

struct media_engine_params {
	uint16_t port_min; /* RTP ports, even ones are RTP, the next is RTCP */
	uint16_t port_max;
	uint32_t sessions_max;     /* ceiling, 1..10000 */
	uint32_t rtcp_interval_ms; /* 0: RFC 3550 section 6.2 with the reduced
				    * minimum of 360/kbps seconds */
	/* Threads that send and receive are to run at real-time priority, or as
	 * near to it as the system allows */
	bool realtime;
	enum media_srtp_library srtp_library;
	const struct emodel_declarations *declarations; /* borrowed while the
				    * engine lives; NULL: none */
	/* Tap what another program sends and receives at this address and the
	 * ports above, for sessions with `tapped`; len 0: there are none */
	struct media_addr tap;
	/* MEDIA_REASON_BYTES; written if the engine cannot be made since it
	 * cannot tap, or libsrtp2 cannot be used; or NULL */
	char *reason;
	/* Called on the loop thread when media_engine_flush() is to be called
	 * within MEDIA_FLUSH_MS; NULL: never, no command is held back */
	void (*flush_h)(void *arg);
	void *flush_arg;
};

#define MEDIA_FLUSH_MS 5

#define MEDIA_REASON_BYTES 256

/** How a thread that sends or receives is scheduled. */
enum media_scheduling {
	MEDIA_SCHEDULING_NORMAL,   /* as any other */
	MEDIA_SCHEDULING_NICE,     /* a negative nice value */
	MEDIA_SCHEDULING_REALTIME, /* SCHED_FIFO */
	MEDIA_SCHEDULING_OVERRUN, /* normal since it never waited for a second */
};

/** "normal", "nice", "realtime", "overrun" */
const char *media_scheduling_name(enum media_scheduling scheduling);

/** Evidence that the tester itself was not the bottleneck (features D1). */
struct media_evidence {
	uint64_t packets_sent;
	uint64_t packets_unsent;      /* places in time that passed because the
				       * prompt was not encoded yet */
	uint64_t packets_received;    /* datagrams on RTP sockets */
	uint64_t send_errors;         /* sendto() refused */
	uint64_t receive_queue_drops; /* SO_RXQ_OVFL, all sockets */
	uint64_t ring_drops;          /* records lost between our threads */
	uint64_t invalid_packets;     /* failed the RTP or RTCP header checks */
	uint64_t rtcp_invalid;        /* of these: RTCP */
	/* refused by this host (firewall, route) to an address that took no
	 * packet before; once it takes one they are send_errors instead */
	uint64_t rtp_send_refused;
	uint64_t rtcp_send_refused;
	uint64_t foreign_packets; /* RTP from another address than the
				       * negotiated ones; measured all the
				       * same */
	uint64_t ssrc_collisions; /* RTP with our own SSRC: another source's
				       * or our own, looped (RFC 3550 8.2) */
	uint64_t srtp_refused;    /* not authentic: dropped */
	uint64_t srtp_replayed;   /* authentic, seen before: measured as what
				 * they are, duplicates */
	uint64_t dtls_dropped; /* DTLS datagrams not looked at: too many, from a
				* stranger, too long */
	uint64_t dtls_refused; /* records and fragments of it that cannot be, or
				* contradict others: the handshake goes on */
	uint64_t stun_dropped; /* STUN messages not looked at: too many, too
				* long */
	uint64_t srtp_unkeyed; /* came before a key, none came in time */
	struct distribution send_lateness_ms; /* every packet, due to sent; p99
					       * below, exact to 1 % */
	double send_lateness_p99_ms;
	enum media_scheduling sending; /* now; of the threads */
	enum media_scheduling receiving;
};

enum media_record_kind {
	MEDIA_RECORD_SECOND,    /* one stream_second closed */
	MEDIA_RECORD_SOURCE,    /* received: one of the session's sources, in
			       * order of their first packets, before the total */
	MEDIA_RECORD_TOTAL,     /* a stream ended: its totals; the last one of a
			      * session in each direction */
	MEDIA_RECORD_FIRST_RTP, /* first RTP packet of the session received */
	MEDIA_RECORD_RTCP,      /* first RTCP packet of the session received */
	MEDIA_RECORD_SECURED,   /* the DTLS handshake ended, well or not */
	MEDIA_RECORD_GATHERED,  /* the STUN and TURN servers have answered, or
			       * not: media_session_local() is complete */
	MEDIA_RECORD_PATH,      /* ICE selected a pair, or failed; without ICE:
			       * the way by a server is open, or lost */
	MEDIA_RECORD_DTMF,      /* a digit began or ended, or was sent */
	MEDIA_RECORD_PLAYED,    /* what media_session_play() began is over */
	MEDIA_RECORD_AUDIO_SECOND, /* a decoded second, where it was wanted */
	MEDIA_RECORD_RECORDED,     /* a recording of a direction is closed */
	MEDIA_RECORD_HEARD,        /* what was listened for */
	MEDIA_RECORD_AUDIO_TOTAL,  /* of a decoded direction; the last one of
				    * its audio */
	MEDIA_RECORD_UNREACHABLE,  /* the kernel refuses what is sent to the
				    * peer's address, to which nothing went
				    * yet; no send_errors; may come again */
	MEDIA_RECORD_STOPPED, /* the session is fully accounted for; nothing
			       * of it follows and it may be freed */
};

/** A digit in the audio stream. */
struct media_dtmf {
	char digit;
	enum dtmf_via via; /* DTMF_RTPEVENT or DTMF_INBAND */
	bool ended;        /* received: false when it begins */
	double ms;         /* when ended: how long it was */
	bool last;         /* sent: of its order */
};

/** How a DTLS handshake ended. */
struct media_secured {
	const char *port;   /* "RTP", "RTCP": each has its own; static text;
			     * NULL: both share one (RFC 5761) */
	const char *suite;  /* SRTP suite; static text; NULL: it failed */
	const char *reason; /* why; as long as the session */
};

/** What to listen for, from now on. */
struct media_listen {
	unsigned id; /* comes back with the record; 0: for nothing any more */
	double hz;   /* a tone of this frequency; 0: any sound */
	bool prompt; /* the prompt that is expected, instead */
};

/** Sound that was listened for, once. */
struct media_heard {
	unsigned id;
	struct audio_tone tone; /* ms 0: it was any sound */
};

/** How a recording went. */
struct media_recorded {
	bool written; /* a whole file is there */
	bool cut;     /* the disk or the ceiling ended it before its time */
	int err;      /* why there is none: -errno; 0: nothing went wrong */
	double ms;
};

/** Where ICE leads, or a server. */
struct media_path {
	enum media_nat mode;
	const char *reason; /* it failed; as long as the session; NULL: it did
			     * not */
	bool controlling;
	bool lite; /* we are */
	/* the pairs in use: of RTP, and of RTCP where it has its own */
	unsigned component_count;
	struct media_candidate local[MEDIA_ICE_COMPONENTS];
	struct media_candidate remote[MEDIA_ICE_COMPONENTS];
};

/** An address that a peer named and that nothing can be sent to. */
struct media_unreachable {
	int err; /* of sendto(): -EPERM (a firewall), -EACCES, -ENETUNREACH,
		  * -EHOSTUNREACH, -EINVAL */
	bool rtcp;
};

/** What media_engine_poll() delivers. */
struct media_record {
	enum media_record_kind kind;
	struct media_session *session;
	bool outgoing;   /* false: received by us (`in`) */
	int64_t mono_ns; /* when it happened */
	union {
		struct stream_second second;
		struct stream_source source;
		struct stream_total total;
		struct media_dtmf dtmf;
		bool played; /* to its end; false: it was cut off */
		struct media_secured secured;
		struct media_unreachable unreachable;
		struct audio_second audio_second;
		struct audio_total audio_total;
		struct media_heard heard;
		struct media_recorded recorded;
		const struct media_path *path; /* good during the call */
		const char *gathered; /* why a server gave no address; as long
				       * as the session; NULL: all did */
	} u;
};

typedef void(media_record_h)(const struct media_record *record, void *arg);

/** Start the engine and its threads. @return 0; -EINVAL; -ENOMEM; -errno */
int media_engine_new(struct media_engine **ret,
		     const struct media_engine_params *params);

/** Stop the threads, release everything. No session may be left. */
struct media_engine *media_engine_free(struct media_engine *engine);

/** A descriptor that becomes readable when media_engine_poll() has work. */
int media_engine_fd(const struct media_engine *engine);

/** Deliver what the threads published, in order per session. */
void media_engine_poll(struct media_engine *engine, media_record_h *handler,
		       void *arg);

/** Wake the threads for commands that wait since flush_h was called. */
void media_engine_flush(struct media_engine *engine);

/** Counters over all sessions since the start. */
void media_engine_evidence(const struct media_engine *engine,
			   struct media_evidence *ret);

/** What a session decodes for; without any it decodes nothing. */
enum media_audio {
	MEDIA_AUDIO_MEASURE = 1, /* both directions, a record a second */
	MEDIA_AUDIO_DTMF = 2,    /* digits as tones in what is heard */
	MEDIA_AUDIO_RECORD = 4,  /* media_session_record() may be called */
	/* play marker tones instead of a prompt, and measure the delay of those
	 * that come; with MEDIA_AUDIO_MEASURE */
	MEDIA_AUDIO_MARKER = 8,
};

struct media_session_params {
	struct media_addr bind; /* local address; port 0: any of the range,
				 * else this even one */
	const char *codecs[MEDIA_CODECS_MAX]; /* names by preference, see
					       * media/audio/codec.h; empty:
					       * PCMU, PCMA */
	size_t codec_count;
	uint16_t ptime_ms; /* 0: 20 */
	/* Opus: the parameters we announce (RFC 7587 6.1); NULL: the default */
	const char *opus_fmtp;
	/* Offer, and take, comfort noise for codecs of 8000 Hz (RFC 3389), and
	 * DTX of Opus (usedtx): silence is not sent where both agree */
	bool silence_suppression;
	enum media_encryption encryption;
	/* SRTP suites by preference; none: all of them */
	enum media_srtp_suite suites[MEDIA_SRTP_SUITE_COUNT];
	size_t suite_count;
	enum media_mux rtcp_mux;
	struct media_nat_params nat;
	bool no_events;          /* do not offer telephone-event */
	const char *prompt_file; /* WAV to play in a loop; NULL: a built-in
				  * tone sequence. Loaded before return. */
	unsigned audio;          /* enum media_audio */
	/* What should be heard is this file; with MEDIA_AUDIO_MEASURE. NULL:
	 * nothing is expected */
	const char *expect_file;
	/* another program sends and receives: nothing but its measurement, from
	 * media_session_tap() on */
	bool tapped;
	void *user; /* for media_session_user() */
};

/**
 * Load what sessions of these parameters play and expect, and encode it for all
 * their codecs, in a thread of its own, so that media_session_new() does not:
 * kept while the engine lives. What fails, fails there.
 * @return 0; -EINVAL as media_session_new(); -EAGAIN; -ENOMEM
 */
int media_engine_prepare(struct media_engine *engine,
			 const struct media_session_params *params);
/** The same for media_session_play(). */
int media_engine_prepare_play(struct media_engine *engine,
			      const struct media_session_params *params,
			      const char *file);
/** Whether all that is there; media_engine_fd() tells when it may be. */
bool media_engine_prepared(const struct media_engine *engine);
/**
 * The first file that could not be loaded, or compared with.
 * @param ret_file  the engine's
 * @return 0: none; -errno as of media_session_new()
 */
int media_engine_prepare_failed(const struct media_engine *engine,
				const char **ret_file);

/**
 * Reserve ports and prepare a session. Nothing is sent yet; what arrives is
 * kept and measured once offer and answer are settled, if that is within 0.9 s
 * (a peer may send before we see its answer: RFC 3264 section 5.1); else stray.
 * @return 0; -EINVAL codec or packet time unknown, no server for the way
 *         through NATs; -EADDRINUSE no port left;
 *         -ENOENT or -EILSEQ prompt missing or not audio; -ENODATA
 *         without a sample; -ERANGE of a rate or of channels that are not
 *         read; -EFBIG longer than 10 min, or expected and longer than
 *         2 min; -ENOSPC
 *         sessions_max reached; -ENOMEM; -errno
 */
int media_session_new(struct media_session **ret, struct media_engine *engine,
		      const struct media_session_params *params);

/** Our side for SDP; valid for the session's life. Complete when
 * media_session_ready() says so. */
const struct media_local *media_session_local(const struct media_session *s);

/** @return false: a STUN or TURN server was asked for our addresses;
 * MEDIA_RECORD_GATHERED will come, after 8 s at the latest */
bool media_session_ready(const struct media_session *s);

void *media_session_user(const struct media_session *s);

/**
 * Apply what offer and answer settled: first time starts the threads' work on
 * it, later ones change address, codec or direction without stopping the
 * measurement. Sending follows `direction`; receiving is always measured.
 * @return 0; -EINVAL codec unknown, packet time not 5..120 ms (0:
 *         that of the session), session stopped; -EAGAIN too many changes at
 *         once; -ENOMEM (each: nothing changed)
 */
int media_session_apply(struct media_session *s,
			const struct media_negotiated *negotiated);

/**
 * Make new keys of ours for the next offer or answer (RFC 4568 section 7.1.4):
 * media_session_local() has them, media_session_apply() puts them in force.
 * Packets that the peer encrypts with a new key of its own before that wait
 * for it.
 * @return 0; -EINVAL no SDES, or stopped; -EAGAIN; -ENOMEM
 */
int media_session_rekey(struct media_session *s);

/**
 * The peer has a new SDES key, which media_session_apply() will put in force.
 * Packets encrypted with it that arrive before wait for it.
 * @return 0; -EINVAL no SDES, or stopped; -EAGAIN; -ENOMEM
 */
int media_session_expect_key(struct media_session *s);

/**
 * Record both directions to WAV files of their own from now on, at most 48 MiB
 * each; MEDIA_RECORD_RECORDED comes for each when media_session_record_stop()
 * or the end of the session closed it. A direction without audio has no file.
 * @return 0; -EINVAL stopped; -ENOTSUP without MEDIA_AUDIO_RECORD; -EBUSY one
 *         is going on; -EAGAIN; -ENOMEM
 */
int media_session_record(struct media_session *s, const char *path_in,
			 const char *path_out);
/** @return 0; -EINVAL none is going on, or stopped; -EAGAIN; -ENOMEM */
int media_session_record_stop(struct media_session *s);

/**
 * Where the program of a tapped session receives (RTP and RTCP), and sends
 * from: as soon as it is known. A later one replaces it.
 * @return 0; -EINVAL not tapped, stopped, no address; -EAGAIN; -ENOMEM
 */
int media_session_tap(struct media_session *s, const struct media_addr *rtp,
		      const struct media_addr *rtcp);

/** When the first packet is due, less than 20 ms after the first
 * media_session_apply(): monotonic, ns; packets are due at start + n * packet
 * time. 0: not yet. */
int64_t media_session_start_ns(const struct media_session *s);

/**
 * Stop sending by itself at this monotonic time, to the packet: packets due
 * at or after it are not sent. 0: no limit.
 * @return 0; -EINVAL session stopped; -EAGAIN; -ENOMEM
 */
int media_session_send_until(struct media_session *s, int64_t mono_ns);

/**
 * Send digits as telephone-events (RFC 4733) from now on, or when the session
 * sends again; MEDIA_RECORD_DTMF reports each one.
 * @param order  as dtmf_order_check() wants it
 * @return 0; -EINVAL a bad order, session stopped; -ENOTSUP telephone-event was
 *         not agreed; -EBUSY an order is under way; -EAGAIN; -ENOMEM
 */
int media_session_dtmf(struct media_session *s, const struct dtmf_order *order);

/**
 * The same as tones in the audio, instead of the prompt (which goes on unheard),
 * as soon as a thread has encoded them. An order that a change of codec cuts off,
 * or that cannot be encoded, ends with a record of ms 0.
 * @return 0; -EINVAL; -ENOTSUP tapped; -ENOTCONN not applied yet; -EBUSY;
 *         -EAGAIN; -ENOMEM
 */
int media_session_tones(struct media_session *s,
			const struct dtmf_order *order);

/**
 * Play a file once, from its beginning, instead of the prompt, which goes on
 * unheard; MEDIA_RECORD_PLAYED comes when its last packet was sent, or when it
 * was cut off by a change of codec or packet time; not at the end of the
 * session. It is loaded (prompt_get()) now if media_engine_prepare() has not, and
 * encoded by a thread of its own before it begins.
 * @return 0; -EINVAL stopped, tapped; -ENOTCONN not applied yet; -EBUSY one is
 *         being played; of the file as media_session_new(); -EAGAIN; -ENOMEM
 */
int media_session_play(struct media_session *s, const char *file);

/**
 * Send silence instead of prompt and files, which go on unheard; digits are
 * sent. @param mute  false: no more
 * @return 0; -EINVAL stopped, tapped; -EAGAIN; -ENOMEM
 */
int media_session_mute(struct media_session *s, bool mute);

/**
 * Listen for sound or a tone in what is received from now on, instead of what
 * was listened for before; MEDIA_RECORD_HEARD comes when it is there.
 * @return 0; -EINVAL stopped; -ENOTSUP without MEDIA_AUDIO_MEASURE; -EAGAIN;
 *         -ENOMEM
 */
int media_session_listen(struct media_session *s,
			 const struct media_listen *what);

/**
 * End the session: sends an RTCP BYE, goes on receiving for 200 ms what the
 * peer had sent before it learned of the end, then closes the last second
 * (which ends now) and both totals; MEDIA_RECORD_STOPPED arrives through
 * media_engine_poll().
 */
void media_session_stop(struct media_session *s);

/** Release a session that reported MEDIA_RECORD_STOPPED or was never
 * applied. One that was neither is stopped first and released when the
 * threads let go of it; no record of it is delivered any more.
 * @return NULL */
struct media_session *media_session_free(struct media_session *s);

#endif
