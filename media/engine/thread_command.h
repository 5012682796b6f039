/**
 * Commands of the loop to the media threads, and waking the threads for them. A
 * session has its own list of commands and gives each to the threads that have
 * a part in the session. Thread: loop. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_THREAD_COMMAND_H
#define OFFHOOK_MEDIA_ENGINE_THREAD_COMMAND_H

#include "media/audio/audio_session.h"
#include "media/audio/prompt.h"
#include "media/engine/payload_maps.h"
#include "media/measure/measure_session.h"
#include "media/media_thread.h"
#include "media/rx/rx_session.h"
#include "media/tx/tx_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Maximum of commands of one session in use. The command rings have room for
 * this many of every session, so they are never full. */
#define SESSION_COMMANDS_MAX 16

enum media_thread_id {
	THREAD_RX,
	THREAD_TX,
	THREAD_ANALYSIS,
	THREAD_AUDIO,
	THREAD_COUNT
};

#define TO_RX       (1u << THREAD_RX)
#define TO_TX       (1u << THREAD_TX)
#define TO_ANALYSIS (1u << THREAD_ANALYSIS)
#define TO_AUDIO    (1u << THREAD_AUDIO)

/** A thread, as seen by the loop. */
struct engine_thread {
	struct media_thread shared; /* shared with the thread */
	int64_t woken_ns;           /* when the loop last woke it, monotonic */
	bool wake_due;              /* engine_threads_flush() will wake it */
	bool started;
	pthread_t id;
};

/** The threads of an engine. */
struct engine_threads {
	struct engine_thread list[THREAD_COUNT];
	/* constant; see struct media_engine_params */
	void (*flush_h)(void *arg);
	void *flush_arg;
	bool flush_requested; /* engine_threads_flush() will be called */
};

/** Wake the threads whose waking was deferred since flush_h was called. */
void engine_threads_flush(struct engine_threads *threads);

/** The part of a session that its commands need. */
struct session_commands {
	/* constant after the first command_push() */
	struct engine_threads *threads;
	struct rx_session *rx;
	struct tx_session *tx; /* NULL: TX has no part in the session */
	struct measure_session *measure;
	struct audio_session *audio; /* NULL: no audio is decoded */
	/* in use by threads, newest first; without the one embedded in the
	 * session */
	struct command *list;
	/* The map of the newest COMMAND_APPLY that all threads returned: the
	 * analysis reads it until it takes the next one. NULL: none */
	const struct rtp_payload_map *map;
	uint64_t map_issue; /* of that command */
	uint64_t issues;    /* commands made */
};

/**
 * A command of the loop, with a part for each thread that it is pushed to.
 * Owned by the session, constant once pushed, and free for reuse when `holders`
 * is 0. Thread: loop; the threads read their parts.
 */
struct command {
	enum command_kind kind;
	struct session_commands *owner;
	struct command *next; /* of owner->list */
	_Atomic unsigned holders;
	int64_t mono_ns; /* when the loop issued it */
	uint64_t issue;  /* its number in the session */
	bool begins;     /* the session's first COMMAND_APPLY */
	/* referenced by the threads' parts */
	const struct rtp_payload_map *map; /* COMMAND_APPLY: a reference; else
					    * NULL */
	struct prompt *prompt;             /* held for COMMAND_PLAY */
	struct rx_command rx;
	struct tx_command tx;
	struct measure_command measure;
	struct audio_command audio;
};

/** Create a command with the present time. Commands that all threads have
 * returned are freed.
 * @return 0; -EAGAIN too many are in use (SESSION_COMMANDS_MAX); -ENOMEM */
int command_new(struct command **ret, struct session_commands *owner,
		enum command_kind kind);
/** Give a command to threads that have a part in the session. A thread that
 * would not look for it in time is woken, now or by engine_threads_flush().
 * @param threads  TO_... bits */
void command_push(struct command *c, unsigned threads);
/** Free the newest command, which was not pushed. */
void command_drop(struct command *c);
/** Free the commands that every thread has returned: a kilobyte each, which a call
 * would keep until its next command.
 * @return number of commands still in use */
size_t commands_sweep(struct session_commands *owner);
/** Free all commands of a session. No thread may use one. */
void commands_release(struct session_commands *owner);
/** @return TO_AUDIO if the audio thread has a part in the session, otherwise
 *         0 */
unsigned command_to_audio(const struct session_commands *owner);
/** @return TO_... bits of all threads that have a part in the session */
unsigned command_to_all(const struct session_commands *owner);

#endif
