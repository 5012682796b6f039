/**
 * A session of the media engine as the loop has it: its own part, those of the
 * threads, and the commands to them. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H

#include "base/prefetch.h"
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

/**
 * A session: the loop's part, and embedded in it a part for each thread, in
 * the order of the threads, each on cache lines of its own. After
 * media_session_new() the loop reads of those only what is constant.
 */
struct media_session {
	/* constant after media_session_new() */
	_Alignas(PREFETCH_LINE) struct media_engine *engine;
	uint32_t slot;
	uint32_t ssrc;
	struct audio_session *audio; /* NULL: nothing is decoded */
	unsigned audio_wanted;       /* enum media_audio */
	bool tapped;                 /* TX has no part in it */
	bool any_port;               /* its sockets' ports were chosen here */
	struct media_local local;
	struct prompt *expected; /* NULL: nothing is */
	void *user;

	/* loop */
	int64_t start_ns;      /* 0: not applied */
	struct tx_phase phase; /* its place in the packet time */
	struct session_prompt prompt;
	struct session_tones tones;
	bool has_event; /* telephone-event was agreed */
	bool recording;
	bool dtmf_busy; /* an order of digits is under way */
	bool stop_given;
	bool stopped;  /* MEDIA_RECORD_STOPPED was polled */
	bool released; /* the owner let go: destroy when stopped */
	struct session_commands commands;
	struct session_keys keys_rx[SOCKET_COUNT];
	struct session_keys keys_tx[SOCKET_COUNT];
	/* as media_session_apply() got it last, for NAT traversal and DTLS;
	 * not kept where there is neither */
	struct media_negotiated settled;
	struct session_dtls dtls;
	struct session_nat nat;
	struct command add;
	struct command stop;

	struct rx_session rx;
	struct tx_session tx;

	/* RX, TX and audio: what is left at the end */
	struct session_end end;

	/* analysis thread; last: see SESSION_CLEARED_BYTES */
	struct measure_session measure;
};

/* The start of a session, all zero when it is made. */
#define SESSION_CLEARED_BYTES                      \
	(offsetof(struct media_session, measure) + \
	 MEASURE_SESSION_CLEARED_BYTES)

/** Release all of it; no other thread may know it any more. */
void session_destroy(struct media_session *s);

#endif
