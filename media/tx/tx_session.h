/**
 * The TX thread's part of a session, and its commands. The loop creates the
 * session and fills the constant fields. From the first command on only the TX
 * thread touches it, until session_end.tx_done.
 * Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_TX_TX_SESSION_H
#define OFFHOOK_MEDIA_TX_TX_SESSION_H

#include "base/prefetch.h"
#include "media/audio/codec.h"
#include "media/audio/dtmf_send.h"
#include "media/audio/dtmf_tones.h"
#include "media/command.h"
#include "media/packet_copy.h"
#include "media/payload_ring.h"
#include "media/security/session_key.h"
#include "media/socket.h"
#include "media/thread_records.h"
#include "media/tx/rtcp_build.h"
#include "media/tx/tx_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A command to the TX thread. */
struct tx_command {
	struct command_head head;
	struct tx_session *session;
	int64_t until_ns; /* COMMAND_UNTIL */
	/* COMMAND_APPLY */
	int64_t start_ns; /* when the first packet is due */
	struct media_addr rtp;
	struct media_addr rtcp;
	/* if relayed, to the peer addresses above: */
	struct media_addr via;
	uint16_t channel_rtp; /* 0: directly */
	uint16_t channel_rtcp;
	bool rtcp_mux;
	bool sends;   /* the direction lets us send */
	bool joins;   /* as in struct tx_session */
	bool aligned; /* the clip is in step with the wall clock */
	uint8_t pt;
	uint8_t noise_pt; /* comfort noise in a clip */
	bool has_event;
	uint8_t event_pt;
	uint32_t event_clock_hz;
	unsigned xr;     /* bits of enum media_xr that the peer asks for */
	bool encrypted;  /* SRTP; a NULL key is not known yet */
	bool rtcp_keyed; /* as in struct rx_command */
	struct session_key *keys[SOCKET_COUNT];
	/* COMMAND_APPLY, COMMAND_PLAY, COMMAND_TONES */
	const struct codec *codec;
	uint16_t ptime_ms;
	/* COMMAND_APPLY: of the prompt, may still be growing. COMMAND_PLAY: of
	 * the file, complete */
	const struct clip *clip;
	/* COMMAND_APPLY, COMMAND_MUTE: silence instead of the clip; NULL: not
	 * muted */
	const struct clip *mute;
	struct dtmf_order order; /* COMMAND_DTMF */
	struct dtmf_clip tones;  /* COMMAND_TONES */
};

/** A file that is played once, instead of the prompt. */
struct tx_play {
	const struct tx_command *command; /* COMMAND_PLAY, held; NULL: none */
	size_t at;                        /* next byte or frame of its clip */
	size_t packet;
};

/** Digits that are sent as tones, instead of the prompt. */
struct tx_tones {
	const struct tx_command *command; /* COMMAND_TONES, held; NULL: none */
	size_t at;                        /* next byte or frame of its clip */
	size_t packet;
	size_t digit;
};

struct tx_session {
	/* hot: used for each packet; the first TX_HOT_BYTES are prefetched
	 * together */
	_Alignas(PREFETCH_LINE) int64_t due_ns; /* of the next packet */
	int64_t until_ns;                       /* 0: no limit */
	const struct clip *clip;                /* may still be growing */
	const struct clip *mute; /* silence instead of clip; NULL: not muted */
	/* NULL: not encrypted, or nothing may be sent; as in struct
	 * tx_command */
	struct session_key *keys[SOCKET_COUNT];
	const struct tx_path *path; /* constant */
	size_t clip_at;             /* next byte or frame of the clip */
	size_t stream_bytes;        /* of one packet of a byte stream */
	uint32_t slot;              /* constant */
	uint32_t ssrc;              /* constant: ours */
	int fds[SOCKET_COUNT];      /* constant */
	uint32_t ts;                /* of the next packet */
	uint32_t ticks;             /* of one packet */
	uint16_t seq;               /* of the next packet */
	uint16_t ptime_ms;
	uint16_t channel_rtp; /* 0: directly */
	uint8_t pt;
	uint8_t noise_pt; /* of comfort noise in clips */
	bool applied;
	bool sends;  /* the direction lets us send; until_ns limits it */
	bool marker; /* the next packet begins a talkspurt */
	bool encrypted;
	bool decodes;  /* constant: give what is sent to the audio thread */
	bool captured; /* constant: packets are copied to `copies` */
	bool aligned;  /* the clip is in step with the wall clock */
	uint64_t packets;
	uint64_t payload_bytes;
	uint64_t packets_before; /* value of `packets` when the RTP address was
				  * set */
	struct tx_play play;
	struct tx_tones tones;
	struct media_addr rtp; /* the first bytes, IPv4 or IPv6 */
	struct dtmf_send dtmf; /* the first byte */
	bool queued;           /* a packet of it waits in `queue` */
	bool joins; /* the peer is on this host: its packets may be joined to
		      * one send with those of others */
	struct tx_queue *queue; /* constant: of shared sockets; NULL: a socket
				 * of its own */
	/* cold */
	struct payload_ring *payloads; /* constant: to the audio thread */
	struct packet_copies copies;   /* constant */
	struct session_end *end;       /* constant */
	int stream_fds[SOCKET_COUNT];  /* constant: connections to the TURN
					* server; -1: none */
	char cname[RTCP_CNAME_BYTES];  /* constant */
	const struct codec *codec;
	uint32_t clock_hz;
	size_t mute_at;
	struct media_addr rtcp;
	struct media_addr via; /* address of the TURN server */
	uint16_t channel_rtcp; /* 0: directly */
	bool rtcp_mux;
	bool rtcp_keyed;
	/* while `keys` has none: the last one used; NULL: none was */
	struct session_key *keys_before[SOCKET_COUNT];
	bool has_event; /* telephone-event was agreed */
	uint8_t event_pt;
	uint32_t event_clock_hz;
	/* RTCP */
	unsigned xr; /* bits of enum media_xr that the peer asks for */
	/* how often the kernel refused the present addresses before the first
	 * packet was sent to them */
	uint32_t refusals[SOCKET_COUNT];
	bool rtcp_reached;
	bool report_wanted; /* the analysis was asked for report blocks */
	bool leaving;       /* stopped; the BYE waits for the last report
			     * block */
	bool rtcp_sent;
	uint32_t members;
	uint32_t peer_senders;
	double average_bytes;
	int64_t rtcp_last_ns;
	uint64_t packets_reported[2]; /* value of `packets` at the last two
				       * reports */
	uint64_t random;              /* state of the generator */
};

#define TX_HOT_BYTES (offsetof(struct tx_session, dtmf) + 1)

#endif
