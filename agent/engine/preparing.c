/* What the job plays and expects is loaded and encoded before its first step,
 * by a thread of its own; what cannot be had ends the job before it calls. */
#include "agent/engine/call_media.h"
#include "agent/engine/internal.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

/* A file that an action names. */
struct file {
	const char *member; /* of the action */
	const char *name;
	char path[ENGINE_PATH_BYTES * 2];
	int err; /* path is not set */
};

/* @return false: enough */
typedef bool (*file_h)(struct engine *e, const struct file *file, void *arg);

/* Each file of an action. @return false: the handler had enough */
static bool files_walk(struct engine *e, const struct wire_action *a,
		       file_h tell_h, void *arg)
{
	struct file f = {.member = "prompt", .name = a->prompt};

	f.err = engine_prompt(e, a, f.path, sizeof(f.path));
	if (!f.name) /* of the agent's configuration */
		f.name = e->settings.default_prompt;
	if (a->client != WIRE_CLIENT_BARESIP && (f.err || f.path[0]) &&
	    !tell_h(e, &f, arg))
		return false;
	f = (struct file){.member = "expect_prompt", .name = a->expect_prompt};
	f.err = engine_expected(e, a, f.path, sizeof(f.path));
	if (f.name && !tell_h(e, &f, arg))
		return false;
	for (size_t i = 0; i < a->client_action_count; i++) {
		const struct wire_client_action *c = &a->client_actions[i];

		if (strcmp(c->name, "play") != 0)
			continue;
		f = (struct file){.member = "play", .name = c->argument};
		f.err = engine_play(e, a, f.name, f.path, sizeof(f.path));
		if (!tell_h(e, &f, arg))
			return false;
	}
	return true;
}

struct place {
	size_t step;
	size_t action;
};

/* The next action with media. @return NULL: there is none */
static const struct wire_action *next_action(const struct engine *e,
					     struct place *at)
{
	for (; at->step < e->job->step_count; at->step++, at->action = 0) {
		const struct wire_step *step = &e->job->steps[at->step];

		while (at->action < step->action_count) {
			const struct wire_action *a =
				&step->actions[at->action++];

			if (a->type == WIRE_ACTION_CALL ||
			    a->type == WIRE_ACTION_ANSWER ||
			    a->type == WIRE_ACTION_STREAM)
				return a;
		}
	}
	return NULL;
}

static const char *reason(int err)
{
	switch (-err) {
	case ENOENT:
		return "is neither an uploaded prompt nor in the agent's "
		       "prompt_dir";
	case EILSEQ:
		return "is no audio file that libsndfile reads";
	case ENODATA:
		return "has no audio in it";
	case ERANGE:
		return "has a rate that is not from 4000 to 192000 Hz, or more "
		       "than 16 channels";
	case EFBIG:
		return "is too long: 10 min at most, 2 min to compare with";
	default:
		return strerror(-err);
	}
}

static void fail(struct engine *e, const struct file *f, int err)
{
	engine_end(e, "error", "role %s: %s \"%s\" %s", e->job->role, f->member,
		   f->name, reason(err));
}

static bool missing_tell(struct engine *e, const struct file *f, void *arg)
{
	(void)arg;
	if (f->err)
		fail(e, f, f->err);
	return !f->err;
}

/* What fails but by its file shows at the call that needs it. */
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

int preparing_start(struct engine *e)
{
	const struct wire_action *a;
	struct place at = {0, 0};

	while ((a = next_action(e, &at)) != NULL) {
		if (!files_walk(e, a, missing_tell, NULL))
			return -ENOENT;
		prepare_action(e, a);
	}
	return 0;
}

/* What media could not load, and why. */
struct failure {
	const char *path;
	int err;
};

static bool failure_tell(struct engine *e, const struct file *f, void *arg)
{
	const struct failure *failure = arg;
	bool found = strcmp(f->path, failure->path) == 0;

	if (found)
		fail(e, f, failure->err);
	return !found;
}

bool preparing_failed(struct engine *e)
{
	const struct wire_action *a;
	struct failure failure;
	struct place at = {0, 0};

	failure.err = media_engine_prepare_failed(e->media, &failure.path);
	if (!failure.err)
		return false;
	while ((a = next_action(e, &at)) != NULL) {
		if (!files_walk(e, a, failure_tell, &failure))
			return true;
	}
	return false;
}
