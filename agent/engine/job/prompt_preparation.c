/* Prompts that the job plays and expects are loaded and encoded before its first
 * step, by a separate thread. A file that cannot be loaded ends the job before any
 * call. */
#include "agent/engine/account/client_sounds.h"
#include "agent/engine/job/job_internal.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

/* A file that an action names. */
struct file {
	const char *member; /* of the action */
	const char *name;
	char path[ENGINE_PATH_BYTES * 2];
	int err; /* not 0: path is not set */
};

/* @return false: stop */
typedef bool (*file_h)(struct actions *actions, const struct file *file,
		       void *arg);

/* Call the handler for each file that a `play` action may play.
 * @return false: the handler stopped */
static bool play_walk(struct actions *actions, const struct wire_action *a,
		      const char *argument, file_h tell_h, void *arg)
{
	struct wire_fillings fillings;
	char before[WIRE_ARGUMENT_BYTES] = "";
	char name[WIRE_ARGUMENT_BYTES];

	wire_fillings_init(&fillings, actions->job, a,
			   wire_registered_before(actions->job, a));
	if (!wire_argument_is_template(argument))
		fillings.count = 1;
	for (unsigned n = 0; n < fillings.count; n++) {
		struct file f = {.member = "play", .name = name};

		/* checked when the job was decoded */
		if (wire_filling(name, &fillings, argument, n) < 0 ||
		    strcmp(name, before) == 0)
			continue;
		memcpy(before, name, sizeof(before));
		f.err = calls_play_path(actions->calls, a, name, f.path,
					sizeof(f.path));
		if (!tell_h(actions, &f, arg))
			return false;
	}
	return true;
}

/* Call the handler for each file of an action. @return false: it stopped */
static bool files_walk(struct actions *actions, const struct wire_action *a,
		       file_h tell_h, void *arg)
{
	struct file f = {.member = "prompt", .name = a->prompt};

	f.err = engine_prompt(actions->settings, a, f.path, sizeof(f.path));
	if (!f.name) /* of the agent's configuration */
		f.name = actions->settings->default_prompt;
	if (a->client == WIRE_CLIENT_NATIVE && (f.err || f.path[0]) &&
	    !tell_h(actions, &f, arg))
		return false;
	f = (struct file){.member = "expect_prompt", .name = a->expect_prompt};
	f.err = engine_expected(actions->settings, a, f.path, sizeof(f.path));
	if (f.name && !tell_h(actions, &f, arg))
		return false;
	for (size_t i = 0; i < a->client_action_count; i++) {
		const struct wire_client_action *c = &a->client_actions[i];

		if (c->type == WIRE_SCRIPT_PLAY &&
		    !play_walk(actions, a, c->argument, tell_h, arg))
			return false;
	}
	return true;
}

struct place {
	size_t step;
	size_t action;
};

/* The next action with media. @return NULL: there is none */
static const struct wire_action *next_action(const struct actions *actions,
					     struct place *at)
{
	for (; at->step < actions->job->step_count;
	     at->step++, at->action = 0) {
		const struct wire_step *step = &actions->job->steps[at->step];

		while (at->action < step->action_count) {
			const struct wire_action *a =
				&step->actions[at->action++];

			if (wire_action_originates(a->type) ||
			    a->type == WIRE_ACTION_ANSWER)
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

/* Why a file for a client with media of its own was not made. */
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

static void fail(struct actions *actions, const struct file *f, const char *why)
{
	report_end_job(actions->report, "error", "role %s: %s \"%s\" %s",
		       actions->job->role, f->member, f->name, why);
}

static bool missing_tell(struct actions *actions, const struct file *f,
			 void *arg)
{
	(void)arg;
	if (f->err)
		fail(actions, f, reason(f->err));
	return !f->err;
}

struct preparation {
	const struct wire_action *action;
	const struct media_session_params *params;
};

/* Make the WAV that a client with media of its own plays, once. */
static bool play_prepare(struct actions *actions, const struct file *f,
			 void *arg)
{
	const struct preparation *p = arg;
	char wav[CLIENT_SOUND_PATH_BYTES];
	int64_t ns;
	int err = f->err;

	if (!err && p->action->client == WIRE_CLIENT_NATIVE) {
		(void)media_engine_prepare_play(actions->media, p->params,
						f->path);
		return true;
	}
	if (!err)
		err = client_sounds_get(user_agents_sounds(actions->accounts),
					f->path, wav, &ns);
	if (err)
		fail(actions, f, client_reason(err));
	return !err;
}

/* A failure that is not the file's is reported at the call that needs it. */
static int prepare_action(struct actions *actions, const struct wire_action *a)
{
	struct media_session_params params;
	struct calls_media_files files;
	struct preparation preparation = {a, &params};
	bool good = true;

	if (calls_media_params(actions->calls, a, &files, &params) ||
	    media_engine_prepare(actions->media, &params))
		log_warning("run=%s role=%s a prompt is not prepared",
			    actions->job->session_id, actions->job->role);
	for (size_t i = 0; good && i < a->client_action_count; i++) {
		const struct wire_client_action *c = &a->client_actions[i];

		if (c->type == WIRE_SCRIPT_PLAY)
			good = play_walk(actions, a, c->argument, play_prepare,
					 &preparation);
	}
	return good ? 0 : -ENOENT;
}

int prompt_preparation_start(struct actions *actions)
{
	const struct wire_action *a;
	struct place at = {0, 0};

	while ((a = next_action(actions, &at)) != NULL) {
		if (!files_walk(actions, a, missing_tell, NULL))
			return -ENOENT;
		if (prepare_action(actions, a))
			return -ENOENT;
	}
	return 0;
}

/* A file that the media engine could not load, and why. */
struct failure {
	const char *path;
	int err;
};

static bool failure_tell(struct actions *actions, const struct file *f,
			 void *arg)
{
	const struct failure *failure = arg;
	bool found = strcmp(f->path, failure->path) == 0;

	if (found)
		fail(actions, f, reason(failure->err));
	return !found;
}

bool prompt_preparation_failed(struct actions *actions)
{
	const struct wire_action *a;
	struct failure failure;
	struct place at = {0, 0};

	failure.err =
		media_engine_prepare_failed(actions->media, &failure.path);
	if (!failure.err)
		return false;
	while ((a = next_action(actions, &at)) != NULL) {
		if (!files_walk(actions, a, failure_tell, &failure))
			return true;
	}
	return false;
}
