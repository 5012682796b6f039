/* What the job plays and expects is loaded and encoded before its first step,
 * by a thread of its own. */
#include "agent/engine/internal.h"

#include "base/log.h"

#include <string.h>

/* What fails shows at the call that needs it, with its reason. */
static void prepare_action(struct engine *e, const struct wire_action *a)
{
	struct media_session_params params;
	struct call_media_files files;
	char path[ENGINE_PATH_BYTES * 2];
	char wav[CLIENT_SOUND_PATH_BYTES];
	int64_t ns;

	if (call_media_params(e, a, &files, &params) ||
	    media_engine_prepare(e->media, &params))
		log_warning("run=%s role=%s a prompt is not prepared",
			    e->job->session_id, e->job->role);
	for (size_t i = 0; i < a->client_action_count; i++) {
		const struct wire_client_action *c = &a->client_actions[i];

		if (strcmp(c->name, "play") != 0 ||
		    engine_play(e, a, c->argument, path, sizeof(path)))
			continue;
		if (a->client != WIRE_CLIENT_NATIVE)
			(void)client_sounds_get(&e->sounds, path, wav, &ns);
		else
			(void)media_engine_prepare_play(e->media, &params,
							path);
	}
}

void preparing_start(struct engine *e)
{
	for (size_t s = 0; s < e->job->step_count; s++) {
		const struct wire_step *step = &e->job->steps[s];

		for (size_t i = 0; i < step->action_count; i++) {
			const struct wire_action *a = &step->actions[i];

			if (a->type == WIRE_ACTION_CALL ||
			    a->type == WIRE_ACTION_ANSWER ||
			    a->type == WIRE_ACTION_STREAM)
				prepare_action(e, a);
		}
	}
}
