#include "control/wire/job_decode.h"

#include "base/str.h"
#include "control/wire/action.h"
#include "control/wire/action_members.h"
#include "control/wire/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_S_DEFAULT     10
#define INTERVAL_S_MAX         3600
#define MAX_DURATION_S_DEFAULT 3600
#define MAX_DURATION_S_MAX     (7 * 86400)
#define ROLE_BYTES_MAX         32
#define PEERS_MAX              32

struct job_box {
	struct wire_job job; /* must be first: wire_job_free() casts it */
	struct arena arena;
};

static int peer_decode(struct decoder *d, const char *role, json_t *users,
		       struct wire_peer_role *ret)
{
	size_t mark = decoder_enter(d, "/peers/%.32s", role);
	size_t count = json_array_size(users);
	const char **list;

	if (!json_is_array(users))
		return decoder_refuse(d, "must be an array");
	if (count > WIRE_CREDENTIALS_MAX)
		return decoder_refuse(d, "has more than %d entries",
				      WIRE_CREDENTIALS_MAX);
	list = arena_alloc(d->arena, count, sizeof(*list));
	ret->role = arena_text(d->arena, role);
	if (!list || !ret->role)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *user = json_string_value(json_array_get(users, i));

		if (!user || strlen(user) > WIRE_NAME_BYTES_MAX)
			return decoder_refuse(d, "entry %zu is no user name",
					      i);
		list[i] = arena_text(d->arena, user);
		if (!list[i])
			return -ENOMEM;
	}
	ret->usernames = list;
	ret->username_count = count;
	decoder_leave(d, mark);
	return 0;
}

static int peers_decode(struct decoder *d, json_t *spec, struct wire_job *job)
{
	json_t *peers = json_object_get(spec, "peers");
	struct wire_peer_role *list;
	const char *role;
	json_t *users;

	if (!peers || json_is_null(peers))
		return 0;
	if (!json_is_object(peers))
		return decoder_refuse_member(d, "peers", "must be an object");
	if (json_object_size(peers) > PEERS_MAX)
		return decoder_refuse_member(
			d, "peers", "has more than %d roles", PEERS_MAX);
	list = arena_alloc(d->arena, json_object_size(peers), sizeof(*list));
	if (!list)
		return -ENOMEM;
	job->peers = list;
	json_object_foreach(peers, role, users)
	{
		int err = peer_decode(d, role, users, &list[job->peer_count]);

		if (err)
			return err;
		job->peer_count++;
	}
	return 0;
}

/* @param registered  in/out: the last register action so far */
static int step_decode(struct decoder *d, json_t *step,
		       const struct wire_job *job,
		       const struct wire_action **registered,
		       struct wire_step *ret)
{
	size_t count = json_array_size(step);
	struct wire_action *actions;

	if (!json_is_array(step))
		return decoder_refuse(d, "must be an array of actions");
	if (count > WIRE_ACTIONS_MAX)
		return decoder_refuse(d, "has more than %d actions",
				      WIRE_ACTIONS_MAX);
	actions = arena_alloc(d->arena, count, sizeof(*actions));
	if (!actions)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t mark = decoder_enter(d, "/%zu", i);
		int err = wire_action_decode(d, json_array_get(step, i), i, job,
					     *registered, &actions[i]);

		if (err)
			return err;
		if (actions[i].type == WIRE_ACTION_REGISTER)
			*registered = &actions[i];
		decoder_leave(d, mark);
	}
	ret->actions = actions;
	ret->action_count = count;
	return 0;
}

static int steps_decode(struct decoder *d, json_t *spec, struct wire_job *job)
{
	const struct wire_action *registered = NULL;
	struct wire_step *steps;
	json_t *array;
	int err;

	err = decode_array(d, spec, "steps", WIRE_STEPS_MAX, &array);
	if (err)
		return err;
	if (json_array_size(array) == 0)
		return decoder_refuse_member(d, "steps", "is missing or empty");
	job->step_count = json_array_size(array);
	steps = arena_alloc(d->arena, job->step_count, sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < job->step_count; i++) {
		size_t mark = decoder_enter(d, "/steps/%zu", i);

		err = step_decode(d, json_array_get(array, i), job, &registered,
				  &steps[i]);
		if (err)
			return err;
		decoder_leave(d, mark);
	}
	job->steps = steps;
	return 0;
}

static int head_decode(struct decoder *d, json_t *spec, struct wire_job *job)
{
	static const char *const records[] = {"none", "sip", "media", NULL};
	const char *record = "none";
	uint32_t attempt = 1;
	size_t i;
	int err;

	err = decode_text(d, spec, "session_id", TEXT_WORD, 64,
			  &job->session_id);
	if (!err)
		err = decode_text(d, spec, "role", TEXT_WORD, ROLE_BYTES_MAX,
				  &job->role);
	if (!err)
		err = decode_u32(d, spec, "attempt", 0, 1000, &attempt);
	if (!err)
		err = decode_u32(d, spec, "interval_s", 1, INTERVAL_S_MAX,
				 &job->interval_s);
	if (!err)
		err = decode_u32(d, spec, "max_duration_s", 1,
				 MAX_DURATION_S_MAX, &job->max_duration_s);
	if (!err)
		err = decode_text(d, spec, "record", TEXT_WORD, 16, &record);
	if (err)
		return err;
	job->attempt = attempt;
	if (!job->session_id || !uuid_valid(job->session_id))
		return decoder_refuse_member(d, "session_id", "must be a UUID");
	if (!job->role)
		return decoder_refuse_member(d, "role", "is missing");
	if (!decode_word(records, record, &i))
		return decoder_refuse_member(d, "record",
					     "must be none, sip or media");
	if (wire_share_decode(&job->share, json_object_get(spec, "share"),
			      WIRE_SHARDS_MAX))
		return decoder_refuse_member(d, "share",
					     "must be an index below `of`, at "
					     "most %u",
					     WIRE_SHARDS_MAX);
	job->record_sip = i > 0;
	job->record_media = i == 2;
	return 0;
}

int wire_job_decode(struct wire_job **ret, json_t *spec,
		    char reason[static WIRE_REASON_BYTES])
{
	struct job_box *box = calloc(1, sizeof(*box));
	struct decoder d;
	int err;

	if (!box)
		return -ENOMEM;
	decoder_init(&d, &box->arena, reason);
	box->job.interval_s = INTERVAL_S_DEFAULT;
	box->job.max_duration_s = MAX_DURATION_S_DEFAULT;
	box->job.share.of = 1;
	if (!json_is_object(spec))
		err = decoder_refuse(&d, "a job must be an object");
	else
		err = head_decode(&d, spec, &box->job);
	if (!err)
		err = peers_decode(&d, spec, &box->job);
	if (!err)
		err = steps_decode(&d, spec, &box->job);
	if (err) {
		if (err == -ENOMEM)
			str_copy(reason, WIRE_REASON_BYTES, "out of memory");
		wire_job_free(&box->job);
		return err;
	}
	*ret = &box->job;
	return 0;
}

struct wire_job *wire_job_free(struct wire_job *job)
{
	struct job_box *box = (struct job_box *)job;

	if (box) {
		arena_release(&box->arena);
		free(box);
	}
	return NULL;
}
