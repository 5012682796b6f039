/* What the job plays and expects is loaded and encoded before its first step,
 * by a thread of its own; what cannot be had ends the job before it calls. */
#include "agent/engine/call/call_media.h"
#include "agent/engine/engine_internal.h"

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

/* Each file that the calls of an action play by one `play`. @return false: the
 * handler had enough */
static bool play_walk(struct engine *e, const struct wire_action *a,
		      const char *argument, file_h tell_h, void *arg)
{
	struct wire_fillings fillings;
	char before[WIRE_ARGUMENT_BYTES] = "";
	char name[WIRE_ARGUMENT_BYTES];

	wire_fillings_init(&fillings, e->job, a,
			   wire_registered_before(e->job, a));
	if (!wire_argument_is_template(argument))
		fillings.count = 1;
	for (unsigned n = 0; n < fillings.count; n++) {
		struct file f = {.member = "play", .name = name};

		/* checked when the job was decoded */
		if (wire_filling(name, &fillings, argument, n) < 0 ||
		    strcmp(name, before) == 0)
			continue;
		memcpy(before, name, sizeof(before));
		f.err = engine_play(e, a, name, f.path, sizeof(f.path));
		if (!tell_h(e, &f, arg))
			return false;
	}
	return true;
}

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

		if (c->type == WIRE_SCRIPT_PLAY &&
		    !play_walk(e, a, c->argument, tell_h, arg))
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

/* Of a file that a client with media of its own plays. */
static const char *client_reason(int err)
{
	switch (-err) {
	case E2BIG:
		return "is one too many: client baresip plays 64 files";
	case EFBIG:
		return "is too long: client baresip plays 2 min at most";
	case EIO:
	case ENOSPC:
		return "cannot be written for client baresip: is there room "
		       "in the agent's TMPDIR (unset: /tmp)?";
	default:
		return reason(err);
	}
}

static void fail(struct engine *e, const struct file *f, const char *why)
{
	report_end_job(e->report, "error", "role %s: %s \"%s\" %s",
		       e->job->role, f->member, f->name, why);
}

static bool missing_tell(struct engine *e, const struct file *f, void *arg)
{
	(void)arg;
	if (f->err)
		fail(e, f, reason(f->err));
	return !f->err;
}

struct preparation {
	const struct wire_action *action;
	const struct media_session_params *params;
};

/* A client with media of its own reads a file that is made here, once. */
static bool play_prepare(struct engine *e, const struct file *f, void *arg)
{
	const struct preparation *p = arg;
	char wav[CLIENT_SOUND_PATH_BYTES];
	int64_t ns;
	int err = f->err;

	if (!err && p->action->client == WIRE_CLIENT_NATIVE) {
		(void)media_engine_prepare_play(e->media, p->params, f->path);
		return true;
	}
	if (!err)
		err = client_sounds_get(&e->sounds, f->path, wav, &ns);
	if (err)
		fail(e, f, client_reason(err));
	return !err;
}

/* What fails but by its file shows at the call that needs it. */
static int prepare_action(struct engine *e, const struct wire_action *a)
{
	struct media_session_params params;
	struct call_media_files files;
	struct preparation preparation = {a, &params};
	bool good = true;

	if (call_media_params(e, a, &files, &params) ||
	    media_engine_prepare(e->media, &params))
		log_warning("run=%s role=%s a prompt is not prepared",
			    e->job->session_id, e->job->role);
	for (size_t i = 0; good && i < a->client_action_count; i++) {
		const struct wire_client_action *c = &a->client_actions[i];

		if (c->type == WIRE_SCRIPT_PLAY)
			good = play_walk(e, a, c->argument, play_prepare,
					 &preparation);
	}
	return good ? 0 : -ENOENT;
}

int prompt_preparation_start(struct engine *e)
{
	const struct wire_action *a;
	struct place at = {0, 0};

	while ((a = next_action(e, &at)) != NULL) {
		if (!files_walk(e, a, missing_tell, NULL))
			return -ENOENT;
		if (prepare_action(e, a))
			return -ENOENT;
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
		fail(e, f, reason(failure->err));
	return !found;
}

bool prompt_preparation_failed(struct engine *e)
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
