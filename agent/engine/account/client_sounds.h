/**
 * Sound files for a client with media of its own (baresip), which reads WAV
 * files only.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_ACCOUNT_CLIENT_SOUNDS_H
#define OFFHOOK_AGENT_ENGINE_ACCOUNT_CLIENT_SOUNDS_H

#include "agent/engine/account/engine_settings.h"

#include <stddef.h>
#include <stdint.h>

#define CLIENT_SOUNDS_MAX       64
#define CLIENT_SOUND_PATH_BYTES 112 /* baresip takes 127 characters */

struct client_sound {
	char source[ENGINE_PATH_BYTES * 2];
	int64_t ns; /* of the prompt */
	int err;    /* it could not be made */
};

/** Files for a client with media of its own to play, in a folder of mode 0700
 * that is made with the first one. */
struct client_sounds {
	char folder[CLIENT_SOUND_PATH_BYTES - 16]; /* "": there is none */
	struct client_sound list[CLIENT_SOUNDS_MAX];
	size_t count;
};

/**
 * Find the file of a prompt; make it if this is the first time, in about 10 ms
 * per second of audio.
 * @param source  path of the prompt
 * @param dst     path of the file
 * @param ret_ns  length of the prompt; SIP_PLAY_TAIL_MS of silence follow it
 * @return 0; -E2BIG there are CLIENT_SOUNDS_MAX; -errno of open(); as
 *         prompt_wav() */
int client_sounds_get(struct client_sounds *s, const char *source,
		      char dst[static CLIENT_SOUND_PATH_BYTES],
		      int64_t *ret_ns);
/** Remove the files and their folder. */
void client_sounds_free(struct client_sounds *s);

#endif
