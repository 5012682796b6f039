/**
 * What a session plays: its prompt, files that are played once, and silence
 * while it is muted; and the codecs for which these are encoded. Worker threads
 * encode, in advance if a codec is likely to be needed.
 * Thread: loop. Docs: docs/internals/media.md "Sending"
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_PROMPT_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_PROMPT_H

#include "media/audio/prompt_encode.h"
#include "media/engine/thread_command.h"
#include "media/media.h"

#include <stdbool.h>
#include <stdint.h>

/** What a session plays. */
struct session_prompt {
	/* constant after session_prompt_open() */
	struct prompt_cache *cache;
	struct session_commands *commands;
	int64_t ntp_offset_ns; /* wall clock minus monotonic */
	struct prompt *prompt;
	bool marker;     /* marker tones instead of a prompt */
	bool suppresses; /* silence_suppression */
	/* encoding that is sent now; codec NULL: nothing was applied yet */
	struct prompt_want in_force;
	bool muted;
	struct prompt *silence; /* NULL: never muted */
	struct prompt *play;    /* waits for its encoding; NULL: none */
	bool playing;           /* a file is playing or waits */
};

/** Choose our side of SDP: codecs, telephone-event, comfort noise, packet time.
 * @param local  in/out: all zero but for addresses
 * @return 0; -EINVAL a codec or the packet time is unknown */
int session_codecs_choose(struct media_local *local,
			  const struct media_session_params *params);

struct session_prompt_params {
	struct prompt_cache *cache;
	struct session_commands *commands;
	int64_t ntp_offset_ns;
	const struct media_local *local; /* from session_codecs_choose() */
	const struct media_session_params *session;
};

/**
 * Load the prompt and begin the encodings that are likely to be needed.
 * @param p       all zero
 * @param params  borrowed during the call
 * @return 0; as prompt_get() and prompt_clip_begin()
 */
int session_prompt_open(struct session_prompt *p,
			const struct session_prompt_params *params);
/** Release prompt and files. */
void session_prompt_release(struct session_prompt *p);

/**
 * Do the same in worker threads, for later sessions.
 * @param params  borrowed during the call
 * @param file    to be played once; NULL: the prompt of the session
 * @return 0; -EINVAL; -EAGAIN; -ENOMEM
 */
int session_prompt_prepare(struct prompt_cache *cache,
			   const struct media_session_params *params,
			   const char *file);

/**
 * Set the clips of a COMMAND_APPLY whose codec and ptime_ms are set. The clips
 * may still be growing.
 * @param fmtp       the peer's format parameters
 * @param has_noise  comfort noise was agreed
 * @return 0; as prompt_clip_begin()
 */
int session_prompt_fill(struct session_prompt *p, struct command *c,
			const char *fmtp, bool has_noise);
/** The command is in force from now on.
 * @param fmtp, has_noise  as above */
void session_prompt_applied(struct session_prompt *p, const struct command *c,
			    const char *fmtp, bool has_noise);

/** An encoding has ended: play the file that waited for it. */
void session_prompt_poll(struct session_prompt *p);

/** See media_session_play(); a codec must be in force. */
int session_prompt_play(struct session_prompt *p, const char *file);
/** See media_session_mute(). */
int session_prompt_mute(struct session_prompt *p, bool mute);

#endif
