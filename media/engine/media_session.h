/**
 * A session of the media engine: the loop's part, the threads' parts, and the
 * commands to them. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H

#include "base/prefetch.h"
#include "media/engine/session_path.h"
#include "media/engine/session_prompt.h"
#include "media/engine/session_tones.h"
#include "media/engine/thread_command.h"
#include "media/measure/measure_session.h"
#include "media/media.h"
#include "media/nat/session_nat.h"
#include "media/rx/rx_session.h"
#include "media/security/session_dtls.h"
#include "media/security/session_key.h"
#include "media/socket.h"
#include "media/thread_records.h"
#include "media/tx/tx_phase.h"
#include "media/tx/tx_session.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What few sessions use, in memory of its own (slab.h: small pages). Not cleared:
 * a new session contains what a freed one left there. */
struct session_seldom {
	/* analysis thread */
	struct measure_seldom measure;
	/* loop: last argument of media_session_apply(), for NAT traversal and
	 * DTLS, only valid with one of them */
	_Alignas(PREFETCH_LINE) struct media_negotiated settled;
};

/**
 * A session: the loop's part, and embedded in it a part for each thread, in the
 * order of the threads, each on its own cache lines. After media_session_new()
 * the loop reads only the constant fields of the threads' parts.
 */
struct media_session {
	/* constant after media_session_new() */
	_Alignas(PREFETCH_LINE) struct media_engine *engine;
	uint32_t slot;
	uint32_t ssrc;
	struct audio_session *audio; /* NULL: no audio is decoded */
	unsigned audio_wanted;       /* bits of enum media_audio */
	bool tapped;                 /* TX has no part in the session */
	const struct session_path *path;
	struct shared_pair *pair;  /* loop; NULL: it has its own sockets */
	bool any_port;             /* its ports were chosen here, not by the
				      * caller */
	struct media_local *local; /* of media_local_bytes(); owned */
	struct prompt *expected;   /* NULL: nothing is expected */
	void *user;

	/* loop */
	int64_t start_ns;      /* 0: not applied */
	struct tx_phase phase; /* phase in the packet time */
	struct session_prompt prompt;
	struct session_tones tones;
	bool has_event; /* telephone-event was agreed */
	bool recording;
	bool dtmf_busy; /* an order of digits is being sent */
	bool stop_given;
	bool stopped;  /* MEDIA_RECORD_STOPPED was polled */
	bool released; /* freed by the owner: destroy it when stopped */
	struct session_commands commands;
	struct session_keys keys_rx[SOCKET_COUNT];
	struct session_keys keys_tx[SOCKET_COUNT];
	struct session_seldom *seldom;
	bool keeps_settled; /* constant: with NAT traversal or DTLS */
	struct session_dtls dtls;
	struct session_nat nat;
	struct command stop; /* embedded: it cannot fail */

	struct rx_session rx;
	struct tx_session tx;

	/* final counts of RX, TX and audio */
	struct session_end end;

	/* analysis thread; last member: see SESSION_CLEARED_BYTES */
	struct measure_session measure;
};

/* The first bytes of a session, which are zero when it is created. */
#define SESSION_CLEARED_BYTES                      \
	(offsetof(struct media_session, measure) + \
	 MEASURE_SESSION_CLEARED_BYTES)

/** Release everything. No thread may use the session any more. */
void session_destroy(struct media_session *s);

#endif
