/**
 * Inside of the media engine: what a session plays, and the encodings of it.
 * Thread: loop. Docs: docs/internals/media.md "Sending"
 */
#ifndef OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_PROMPT_H
#define OFFHOOK_MEDIA_ENGINE_MEDIA_SESSION_PROMPT_H

#include "media/audio/prompt_encode.h"
#include "media/media.h"

struct command;

/** Our side of SDP: codecs, events, comfort noise, packet time.
 * @return 0; -EINVAL */
int session_codecs_choose(struct media_local *local,
			  const struct media_session_params *params);

/** The prompt, and begin the encodings that are likely to be needed.
 * @return 0; as prompt_get() and prompt_clip_begin() */
int session_prompt_choose(struct media_session *s,
			  const struct media_session_params *params);

/** What the peer wants now. */
struct prompt_want session_prompt_want(const struct media_session *s);

/**
 * What to send, into a COMMAND_APPLY with codec and ptime_ms; it may still be
 * growing.
 * @param fmtp  the peer's
 * @return 0; as prompt_clip_begin()
 */
int session_prompt_fill(struct command *c, const char *fmtp, bool has_noise);

/** A file that is to be played may be ready. */
void session_prompts_poll(struct media_engine *e);

void session_prompt_release(struct media_session *s);

#endif
