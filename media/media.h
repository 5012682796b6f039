/**
 * The media engine: RTP and RTCP sockets, and the threads that receive, send,
 * analyse and decode.
 *
 * Thread: one thread, the loop thread of the engine process, calls all
 * functions here. None of them blocks, and none makes a media thread allocate,
 * lock or log. media_engine_poll() delivers what the threads measured.
 */
#ifndef OFFHOOK_MEDIA_MEDIA_H
#define OFFHOOK_MEDIA_MEDIA_H

#include "media/analysis/emodel_values.h"
#include "media/analysis/summary.h"
#include "media/dtmf.h"
#include "media/params.h"

struct lateness;
struct media_engine;
struct media_session; /* one audio stream of a call, both directions */

/** A file of the packets that sessions send and receive. */
struct media_capture_params {
	const char *path;       /* created; NULL: none */
	int64_t wall_offset_ns; /* wall clock minus monotonic */
	uint64_t bytes_max;     /* of the file; later packets are not written */
};

/** What is in the file. */
struct media_captured {
	uint64_t packets;
	uint64_t unwritten; /* after bytes_max was reached or writing failed */
	uint64_t dropped;   /* a queue to the writer was full */
	bool full;          /* bytes_max was reached */
	int err;            /* creating or writing the file failed: -errno */
};

struct media_engine_params {
	uint16_t port_min; /* port range: RTP uses even ports, RTCP the next
			    * one */
	uint16_t port_max;
	uint32_t sessions_max;     /* maximum number of sessions, 1..10000 */
	uint32_t rtcp_interval_ms; /* 0: computed (RFC 3550 section 6.2) with
				    * the reduced minimum of 360/kbps seconds */
	/* Run the threads that send and receive at real-time priority, or as
	 * near to it as the system allows */
	bool realtime;
	enum media_srtp_library srtp_library;
	const struct emodel_declarations *declarations; /* NULL: none */
	/* Capture what another program sends and receives at this address and
	 * in the port range above, for sessions with `tapped`; len 0: no
	 * capture */
	struct media_addr tap;
	/* For sessions with `capture` */
	struct media_capture_params capture;
	/* MEDIA_REASON_BYTES, or NULL. Receives the reason if
	 * media_engine_new() fails because capturing is not possible or
	 * libsrtp2 cannot be used */
	char *reason;
	/* Called on the loop thread when commands are held back: call
	 * media_engine_flush() within MEDIA_FLUSH_MS. NULL: no command is ever
	 * held back */
	void (*flush_h)(void *arg);
	void *flush_arg;
};

#define MEDIA_FLUSH_MS 5

#define MEDIA_REASON_BYTES 256

/** Scheduling class of a thread that sends or receives. */
enum media_scheduling {
	MEDIA_SCHEDULING_NORMAL,   /* the default class */
	MEDIA_SCHEDULING_NICE,     /* a negative nice value */
	MEDIA_SCHEDULING_REALTIME, /* SCHED_FIFO */
	MEDIA_SCHEDULING_OVERRUN,  /* back to normal, since it ran for a second
				   * without waiting */
};

/** @return "normal", "nice", "realtime", "overrun"; static */
const char *media_scheduling_name(enum media_scheduling scheduling);

/** Evidence that the tester itself was not the bottleneck. */
struct media_evidence {
	uint64_t packets_sent;
	uint64_t packets_unsent;      /* packets skipped because the prompt was
				       * not encoded in time */
	uint64_t packets_received;    /* datagrams on RTP sockets */
	uint64_t send_errors;         /* sendto() failed */
	uint64_t receive_queue_drops; /* SO_RXQ_OVFL, all sockets */
	uint64_t ring_drops;          /* records lost between our threads */
	uint64_t invalid_packets;     /* invalid RTP or RTCP header */
	uint64_t rtcp_invalid;        /* of these: RTCP */
	/* Packets that this host (firewall, route) refused to send to an
	 * address that took none before. Once the address takes a packet, they
	 * count as send_errors instead */
	uint64_t rtp_send_refused;
	uint64_t rtcp_send_refused;
	uint64_t foreign_packets; /* RTP from another address than the
				   * negotiated one; measured like all others */
	/* datagrams to shared sockets that belong to no session */
	uint64_t unassigned_packets;
	uint64_t ssrc_collisions; /* RTP with our own SSRC, of another source or
				   * looped (RFC 3550 section 8.2) */
	uint64_t srtp_refused;    /* authentication failed: dropped */
	uint64_t srtp_replayed;   /* authentic but received before: measured as
				   * duplicates */
	uint64_t dtls_dropped;    /* DTLS datagrams not processed: too many, too
				* long, or from an unknown address */
	uint64_t dtls_refused; /* DTLS records and fragments that are invalid or
				* contradict others; the handshake goes on */
	uint64_t stun_dropped; /* STUN messages not processed: too many or too
				* long */
	uint64_t srtp_unkeyed; /* SRTP packets for which no key came in time */
	struct distribution send_lateness_ms; /* from due time to sendto(), all
					       * packets; the p99 below is exact
					       * to 1 % */
	double send_lateness_p99_ms;
	enum media_scheduling sending; /* current class of the TX thread */
	enum media_scheduling receiving;
};

enum media_record_kind {
	MEDIA_RECORD_SECOND,    /* one stream_second closed */
	MEDIA_RECORD_SOURCE,    /* received: one source (SSRC) of the
				 * session, in order of first packets, before
				 * the total */
	MEDIA_RECORD_TOTAL,     /* a direction ended: its totals; the session's
				 * last record of each direction */
	MEDIA_RECORD_FIRST_RTP, /* first RTP packet of the session received */
	MEDIA_RECORD_RTCP,      /* first RTCP packet of the session received */
	MEDIA_RECORD_SECURED,   /* the DTLS handshake succeeded or failed */
	MEDIA_RECORD_GATHERED,  /* the STUN and TURN servers have answered or
				 * failed: media_session_local() is complete */
	MEDIA_RECORD_PATH,      /* ICE selected a pair or failed; without ICE:
				 * the path through a server is open or lost */
	MEDIA_RECORD_DTMF,      /* a digit began or ended, or was sent */
	MEDIA_RECORD_PLAYED,    /* media_session_play() ended */
	MEDIA_RECORD_AUDIO_SECOND, /* one second of decoded audio was
				    * measured */
	MEDIA_RECORD_RECORDED,     /* the recording of one direction is
				    * closed */
	MEDIA_RECORD_HEARD,        /* the awaited sound or tone was heard */
	MEDIA_RECORD_AUDIO_TOTAL,  /* audio totals of a direction; the last
				    * record of its audio */
	MEDIA_RECORD_UNREACHABLE,  /* the kernel refuses to send to the
				    * peer's address, to which nothing was
				    * sent yet; these are no send_errors; may
				    * be repeated */
	MEDIA_RECORD_STOPPED, /* all results of the session are delivered; no
			       * record follows and it may be freed */
};

/** A digit in the audio stream. */
struct media_dtmf {
	char digit;
	enum dtmf_via via; /* DTMF_RTPEVENT or DTMF_INBAND */
	bool ended;        /* received: false when the digit begins */
	double ms;         /* when ended: its duration; 0: sent: the order was
			    * cut off here */
	bool last;         /* sent: the last digit of its order */
};

/** How a DTLS handshake ended. */
struct media_secured {
	const char *port;   /* "RTP", "RTCP": each has its own; static text;
			     * NULL: both share one (RFC 5761) */
	const char *suite;  /* negotiated SRTP suite; static; NULL: it failed */
	const char *reason; /* of the failure; valid for the session's life */
};

/** What to listen for. */
struct media_listen {
	unsigned id; /* copied to the record; 0: stop listening */
	double hz;   /* a tone of this frequency, Hz; 0: any sound */
	bool prompt; /* the expected prompt instead */
};

/** The awaited sound was heard. Reported once. */
struct media_heard {
	unsigned id;
	struct audio_tone tone; /* ms 0: any sound was awaited */
};

/** Result of a recording. */
struct media_recorded {
	bool written; /* the file is complete */
	bool cut;     /* a disk error or the size limit ended it early */
	int err;      /* why it was not written: -errno; 0: no error */
	double ms;
};

/** Result of ICE, or of the path through a server. */
struct media_path {
	enum media_nat mode;
	const char *reason; /* of the failure, valid for the session's life;
			     * NULL: it succeeded */
	bool controlling;
	bool lite; /* we are an ICE-lite agent */
	/* selected pairs: of RTP, and of RTCP if it has its own port */
	unsigned component_count;
	struct media_candidate local[MEDIA_ICE_COMPONENTS];
	struct media_candidate remote[MEDIA_ICE_COMPONENTS];
};

/** An address in the peer's SDP to which nothing can be sent. */
struct media_unreachable {
	int err; /* errno of sendto(), negative: -EPERM (a firewall), -EACCES,
		  * -ENETUNREACH, -EHOSTUNREACH, -EINVAL */
	bool rtcp;
};

/** One record, delivered by media_engine_poll(). */
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
		bool played; /* true: to its end; false: cut off */
		struct media_secured secured;
		struct media_unreachable unreachable;
		struct audio_second audio_second;
		struct audio_total audio_total;
		struct media_heard heard;
		struct media_recorded recorded;
		const struct media_path *path; /* valid during the call */
		const char *gathered; /* why a server gave no address, valid for
				       * the session's life; NULL: all servers
				       * answered */
	} u;
};

typedef void(media_record_h)(const struct media_record *record, void *arg);

/**
 * Start the engine and its threads. Thread: loop
 * @param params  borrowed during the call; `declarations` while the engine
 *                lives
 * @return 0; -EINVAL; -ENOMEM; -errno
 */
int media_engine_new(struct media_engine **ret,
		     const struct media_engine_params *params);

/** Stop the threads and release everything. All sessions must be freed before.
 * @param engine  may be NULL
 * @return NULL */
struct media_engine *media_engine_free(struct media_engine *engine);

/** @return a descriptor that becomes readable when media_engine_poll() has
 *         work; owned by the engine */
int media_engine_fd(const struct media_engine *engine);

/** Deliver what the threads published, in order for each session.
 * @param handler  called on this thread, once for each record */
void media_engine_poll(struct media_engine *engine, media_record_h *handler,
		       void *arg);

/** Wake the threads for the commands held back since flush_h was called. */
void media_engine_flush(struct media_engine *engine);

/** Read the counters over all sessions since the start. */
void media_engine_evidence(const struct media_engine *engine,
			   struct media_evidence *ret);

/** How late packets were sent (media/lateness.h); borrowed from the engine. */
const struct lateness *media_engine_lateness(const struct media_engine *engine);

/**
 * End the capture file: write what is left and close it. Blocks while that takes;
 * called when all sessions have reported MEDIA_RECORD_STOPPED.
 * @return 0; -ENOENT none was asked for, or it was ended before
 */
int media_engine_capture_end(struct media_engine *engine,
			     struct media_captured *ret);

/** What of a session's packets goes into the capture file. RTCP is captured whole. */
enum media_capture {
	MEDIA_CAPTURE_NONE,
	MEDIA_CAPTURE_HEADERS, /* of RTP */
	MEDIA_CAPTURE_WHOLE,
};

/** Why a session decodes audio, bits. With none of them it decodes nothing. */
enum media_audio {
	MEDIA_AUDIO_MEASURE = 1, /* both directions, one record a second */
	MEDIA_AUDIO_DTMF = 2,    /* detect digits sent as tones in received
				  * audio */
	MEDIA_AUDIO_RECORD = 4,  /* media_session_record() may be called */
	/* play marker tones instead of a prompt, and measure the delay of
	 * received ones; needs MEDIA_AUDIO_MEASURE */
	MEDIA_AUDIO_MARKER = 8,
};

struct media_session_params {
	struct media_addr bind; /* local address; port 0: any port of the range,
				 * else this even port */
	const char *codecs[MEDIA_CODECS_MAX]; /* names by preference, see
					       * media/audio/codec.h; empty:
					       * PCMU, PCMA */
	size_t codec_count;
	uint16_t ptime_ms; /* 0: 20 */
	/* Opus: the fmtp parameters we send (RFC 7587 section 6.1); NULL: the
	 * default */
	const char *opus_fmtp;
	/* Offer and accept comfort noise for 8000 Hz codecs (RFC 3389) and DTX
	 * for Opus (usedtx). If both sides agree, silence is not sent */
	bool silence_suppression;
	enum media_encryption encryption;
	/* SRTP suites by preference; suite_count 0: all of them */
	enum media_srtp_suite suites[MEDIA_SRTP_SUITE_COUNT];
	size_t suite_count;
	enum media_mux rtcp_mux;
	struct media_nat_params nat;
	bool no_events;          /* do not offer telephone-event */
	const char *prompt_file; /* WAV file to play in a loop, loaded before
				  * media_session_new() returns; NULL: a
				  * built-in tone sequence */
	unsigned audio;          /* bits of enum media_audio */
	/* Expect to hear this file; needs MEDIA_AUDIO_MEASURE. NULL: expect
	 * nothing */
	const char *expect_file;
	/* Share sockets with other sessions: no NAT traversal, DTLS, port or
	 * tap. The SSRC is announced in SDP */
	bool shared;
	enum media_capture capture; /* needs media_engine_params.capture */
	/* Another program sends and receives: only measure its media, from
	 * media_session_tap() on */
	bool tapped;
	void *user; /* returned by media_session_user() */
};

/**
 * Load the files that sessions with these parameters play and expect, and
 * encode them for all their codecs in a separate thread, so that
 * media_session_new() need not. The result is kept while the engine lives. A
 * failure is reported by media_engine_prepare_failed() and again by
 * media_session_new().
 * @return 0; -EINVAL as media_session_new(); -EAGAIN; -ENOMEM
 */
int media_engine_prepare(struct media_engine *engine,
			 const struct media_session_params *params);
/** The same for a file of media_session_play(). */
int media_engine_prepare_play(struct media_engine *engine,
			      const struct media_session_params *params,
			      const char *file);
/** @return everything is prepared, or has failed; media_engine_fd() becomes
 *         readable when that may have changed */
bool media_engine_prepared(const struct media_engine *engine);
/**
 * The first file that could not be loaded, or not be compared with.
 * @param ret_file  owned by the engine
 * @return 0: no file failed; -errno as of media_session_new()
 */
int media_engine_prepare_failed(const struct media_engine *engine,
				const char **ret_file);

/**
 * Reserve ports and prepare a session. Nothing is sent yet. Packets that arrive
 * within 0.9 s before offer and answer are settled are kept and measured (a
 * peer may send before we see its answer: RFC 3264 section 5.1); earlier ones
 * are stray.
 * @param params  borrowed during the call
 * @return 0; -EINVAL unknown codec or packet time, no server for the NAT
 *         mode, capture without a file, or not with shared sockets; -EADDRINUSE no port left; -ENOENT prompt file missing; -EILSEQ
 *         not audio; -ENODATA no sample in it; -ERANGE unsupported sample rate
 *         or channel count; -EFBIG longer than 10 min, or expected and longer
 *         than 2 min; -ENOSPC sessions_max reached; -ENOMEM; -errno
 */
int media_session_new(struct media_session **ret, struct media_engine *engine,
		      const struct media_session_params *params);

/** Our side for SDP; valid for the session's life. It is complete when
 * media_session_ready() returns true. */
const struct media_local *media_session_local(const struct media_session *s);

/** @return true: media_session_local() is complete; false: a STUN or TURN
 *         server was asked for our addresses; MEDIA_RECORD_GATHERED follows
 *         within 8 s */
bool media_session_ready(const struct media_session *s);

/** @return the `user` of its parameters */
void *media_session_user(const struct media_session *s);

/**
 * Apply the result of offer and answer. The first call starts the media. Later
 * calls change address, codec or direction without interrupting the
 * measurement. `direction` decides whether we send; received packets are always
 * measured.
 * @param negotiated  borrowed during the call
 * @return 0; -EINVAL unknown codec, packet time not 5..120 ms (0: that of the
 *         session), session stopped; -EAGAIN too many changes at once; -ENOMEM
 *         ; of one with shared sockets: -EADDRINUSE another session has the
 *         peer's address, and one of the two peers announces no SSRC; -EEXIST
 *         another one's peer announces the same SSRC (on each: nothing changed)
 */
int media_session_apply(struct media_session *s,
			const struct media_negotiated *negotiated);

/**
 * Make new keys of ours for the next offer or answer (RFC 4568 section 7.1.4).
 * media_session_local() then contains them; media_session_apply() puts them in
 * force. Packets that the peer encrypts with a new key of its own before that
 * wait for this key.
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
 * Record each direction to its own WAV file from now on, at most 48 MiB each.
 * MEDIA_RECORD_RECORDED reports each file when media_session_record_stop() or
 * the end of the session has closed it. A direction without audio gets no file.
 * @param path_in   of received audio
 * @param path_out  of sent audio
 * @return 0; -EINVAL stopped; -ENOTSUP without MEDIA_AUDIO_RECORD; -EBUSY a
 *         recording is running; -EAGAIN; -ENOMEM
 */
int media_session_record(struct media_session *s, const char *path_in,
			 const char *path_out);
/** @return 0; -EINVAL no recording is running, or stopped; -EAGAIN; -ENOMEM */
int media_session_record_stop(struct media_session *s);

/**
 * Set the addresses at which the program of a tapped session receives (RTP and
 * RTCP) and from which it sends. Call it as soon as they are known. A later
 * call replaces them.
 * @return 0; -EINVAL not tapped, stopped, no address; -EAGAIN; -ENOMEM
 */
int media_session_tap(struct media_session *s, const struct media_addr *rtp,
		      const struct media_addr *rtcp);

/** @return when the first packet is due, less than 20 ms after the first
 *         media_session_apply(): monotonic, ns. Packets are due at start + n *
 *         packet time. 0: not applied yet */
int64_t media_session_start_ns(const struct media_session *s);

/**
 * Stop sending at this time: packets due at or after it are not sent.
 * @param mono_ns  monotonic; 0: no limit
 * @return 0; -EINVAL session stopped; -EAGAIN; -ENOMEM
 */
int media_session_send_until(struct media_session *s, int64_t mono_ns);

/**
 * Send digits as telephone-events (RFC 4733) from now on, or as soon as the
 * session sends again. MEDIA_RECORD_DTMF reports each digit. An order that
 * a change of telephone-event cuts off ends with a record of ms 0.
 * @param order  checked by dtmf_order_check(), borrowed during the call
 * @return 0; -EINVAL an invalid order, session stopped; -ENOTSUP
 *         telephone-event was not agreed; -EBUSY an order is still being sent;
 *         -EAGAIN; -ENOMEM
 */
int media_session_dtmf(struct media_session *s, const struct dtmf_order *order);

/**
 * Send digits as tones in the audio instead of the prompt, as soon as a thread
 * has encoded them. The prompt goes on unheard. An order that a codec change
 * cuts off, or that cannot be encoded, ends with a record of ms 0.
 * @param order  as of media_session_dtmf()
 * @return 0; -EINVAL; -ENOTSUP tapped; -ENOTCONN not applied yet; -EBUSY;
 *         -EAGAIN; -ENOMEM
 */
int media_session_tones(struct media_session *s,
			const struct dtmf_order *order);

/**
 * Play a file once from its beginning, instead of the prompt, which goes on
 * unheard. If media_engine_prepare_play() has not loaded the file, it is loaded
 * now (prompt_get()). A separate thread encodes it before it begins.
 * MEDIA_RECORD_PLAYED reports that its last packet was sent, or that a change
 * of codec or packet time cut it off; the end of the session is not reported.
 * @return 0; -EINVAL stopped, tapped; -ENOTCONN not applied yet; -EBUSY a file
 *         is being played; of the file as media_session_new(); -EAGAIN; -ENOMEM
 */
int media_session_play(struct media_session *s, const char *file);

/**
 * Send silence instead of prompt and files, which go on unheard. Digits are
 * still sent.
 * @param mute  false: stop muting
 * @return 0; -EINVAL stopped, tapped; -EAGAIN; -ENOMEM
 */
int media_session_mute(struct media_session *s, bool mute);

/**
 * Listen for sound or a tone in the received audio from now on. This replaces
 * an earlier request. MEDIA_RECORD_HEARD reports the sound once.
 * @return 0; -EINVAL stopped; -ENOTSUP without MEDIA_AUDIO_MEASURE; -EAGAIN;
 *         -ENOMEM
 */
int media_session_listen(struct media_session *s,
			 const struct media_listen *what);

/**
 * End the session: send an RTCP BYE, receive for another 200 ms what the peer
 * sent before it learned of the end, then close the last, shorter second and
 * both totals. media_engine_poll() delivers MEDIA_RECORD_STOPPED at the end.
 */
void media_session_stop(struct media_session *s);

/**
 * Release a session that reported MEDIA_RECORD_STOPPED or was never applied.
 * Any other session is stopped first, and released when the threads no longer
 * use it; none of its records are delivered any more.
 * @return NULL
 */
struct media_session *media_session_free(struct media_session *s);

#endif
