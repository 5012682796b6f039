/**
 * Commands of the loop to the media threads, and how a thread is woken for
 * them. A session has its commands in a list of its own and gives each to the
 * threads that have a part in it. Thread: loop. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_THREAD_COMMAND_H
#define OFFHOOK_MEDIA_ENGINE_THREAD_COMMAND_H

#include "media/audio/audio_session.h"
#include "media/audio/prompt.h"
#include "media/measure/measure_session.h"
#include "media/media_thread.h"
#include "media/rx/rx_session.h"
#include "media/tx/tx_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Commands of one session that may be under way; the command rings hold this
 * many for every session, so they are never full. */
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

/** A thread, as the loop has it. */
struct engine_thread {
	struct media_thread shared; /* with the thread */
	int64_t woken_ns;           /* by the loop, last */
	bool wake_due;              /* by engine_threads_flush() */
	bool started;
	pthread_t id;
};

/** The threads of an engine. */
struct engine_threads {
	struct engine_thread list[THREAD_COUNT];
	/* constant; as in struct media_engine_params */
	void (*flush_h)(void *arg);
	void *flush_arg;
	bool flush_requested; /* engine_threads_flush() will be called */
};

/** Wake the threads that were left asleep since flush_h was called. */
void engine_threads_flush(struct engine_threads *threads);

/** A session as its commands need it. */
struct session_commands {
	/* constant after command_push() was called first */
	struct engine_threads *threads;
	struct rx_session *rx;
	struct tx_session *tx; /* NULL: TX has no part in it */
	struct measure_session *measure;
	struct audio_session *audio; /* NULL: nothing is decoded */
	/* not given back yet, the newest first; but for those that are embedded
	 * in the session */
	struct command *list;
};

/**
 * What the loop tells the media threads at one time: a command for each thread
 * that it is pushed to. Owned by the session, constant once pushed, and free
 * for reuse when `holders` is 0. Thread: loop, but for what it embeds.
 */
struct command {
	enum command_kind kind;
	struct session_commands *owner;
	struct command *next; /* of owner->list */
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

/** Make a command, dated now. Those that all threads gave back are freed.
 * @return 0; -EAGAIN SESSION_COMMANDS_MAX are under way; -ENOMEM */
int command_new(struct command **ret, struct session_commands *owner,
		enum command_kind kind);
/** Give it to threads, which have their part in the session. Those that do not
 * look for it in time by themselves are woken, or will be by
 * engine_threads_flush(). @param threads  TO_... */
void command_push(struct command *c, unsigned threads);
/** Free the one that was made last and not pushed. */
void command_drop(struct command *c);
/** Free all of a session. No thread may have one. */
void commands_release(struct session_commands *owner);
/** @return TO_AUDIO if the audio thread has a part in the session; 0 */
unsigned command_to_audio(const struct session_commands *owner);
/** @return TO_... of all threads that have a part in it */
unsigned command_to_all(const struct session_commands *owner);

#endif
