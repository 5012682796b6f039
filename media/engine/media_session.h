/**
 * A session of the media engine as the loop has it: its own part, those of the
 * threads, and the commands to them. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_H

#include "base/prefetch.h"
#include "media/audio/audio_session.h"
#include "media/audio/prompt.h"
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

/* Commands of one session that may be under way; the command rings hold this
 * many for every session, so they are never full. */
#define SESSION_COMMANDS_MAX 16

/**
 * What the loop tells the media threads at one time: a command for each thread
 * that it is pushed to. Owned by the session, constant once pushed, and free
 * for reuse when `holders` is 0. Thread: loop, but for what it embeds.
 */
struct command {
	enum command_kind kind;
	struct media_session *session;
	struct command *next; /* of the session */
	_Atomic unsigned holders;
	int64_t mono_ns; /* when it was given */
	bool begins;     /* the session's first COMMAND_APPLY */
	/* what the threads' commands point to */
	struct rtp_payload_map map;
	struct prompt *prompt; /* held by COMMAND_PLAY */
	struct rx_command rx;
	struct tx_command tx;
	struct measure_command measure;
	struct audio_command audio;
};

struct tones_work; /* media_session_audio.c */

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
	bool marker;                 /* marker tones instead of a prompt */
	struct media_local local;
	struct prompt *prompt;
	struct prompt *expected; /* NULL: nothing is */
	void *user;

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

/** What is being encoded for it is not wanted any more. Thread: loop */
void session_tones_forget(struct media_session *s);

/** Release everything. Thread: loop; no other thread may know it. */
void session_destroy(struct media_session *s);

#endif
