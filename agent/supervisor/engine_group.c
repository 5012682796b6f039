#include "agent/supervisor/engine_group.h"

#include "agent/merge/engine_merge.h"
#include "base/clock.h"
#include "control/wire/share.h"

#include <errno.h>
#include <stdlib.h>

struct member {
	struct engine_group *group;
	uint32_t index;
	struct engine_process *process; /* NULL: it has ended */
};

struct engine_group {
	struct engine_group_params p;
	struct engine_merge *merge; /* NULL: one engine */
	bool cancelled;             /* the others, after one has failed */
	struct member members[WIRE_ENGINES_MAX];
	const char *text; /* of the message that is handed out; or NULL */
	size_t text_len;
};

/* ---- what they report ---- */

static void hand_out(json_t *message, const char *text, size_t len, void *arg)
{
	struct engine_group *g = arg;

	g->text = text;
	g->text_len = len;
	g->p.handlers.message_h(message, g->p.handlers.arg);
	g->text = NULL;
}

/* End the engines that go on after one of them has failed. */
static void cancel_others(struct engine_group *g)
{
	json_t *message;

	if (g->cancelled || !engine_merge_failed(g->merge))
		return;
	g->cancelled = true;
	message = json_pack("{s:s}", "type", "cancel");
	if (message)
		(void)engine_group_send(g, message);
	json_decref(message);
	engine_group_kill_after(g, g->p.cancel_ms);
}

static void on_message(json_t *message, void *arg)
{
	struct member *member = arg;
	struct engine_group *g = member->group;
	size_t len;
	const char *text = process_text(member->process, &len);

	if (!g->merge) {
		hand_out(message, text, len, g);
		return;
	}
	engine_merge_message(g->merge, member->index, message, text, len);
	cancel_others(g);
}

static void on_end(const char *how, void *arg)
{
	struct member *member = arg;
	struct engine_group *g = member->group;

	member->process = engine_process_free(member->process);
	if (g->merge) {
		engine_merge_ended(g->merge, member->index, how);
		cancel_others(g);
	}
	for (uint32_t i = 0; i < g->p.engines; i++) {
		if (g->members[i].process)
			return;
	}
	g->p.handlers.end_h(how, g->p.handlers.arg); /* may free it */
}

/* ---- start and end ---- */

static int processes_take(struct engine_group *g, struct engine_pool *pool)
{
	for (uint32_t i = 0; i < g->p.engines; i++) {
		struct member *member = &g->members[i];
		const struct engine_process_handlers handlers = {
			.message_h = on_message,
			.end_h = on_end,
			.arg = member,
		};
		int err;

		member->group = g;
		member->index = i;
		err = engine_pool_take(pool, &member->process, &handlers);
		if (err)
			return err;
	}
	return 0;
}

int engine_group_new(struct engine_group **ret, struct engine_pool *pool,
		     const struct engine_group_params *params)
{
	struct engine_group *g = calloc(1, sizeof(*g));
	const struct engine_merge_params merge = {
		.engines = params->engines,
		.interval_s = params->interval_s,
		.role = params->role,
		.wall_offset_ns = clock_wall_offset_ns(),
		.message_h = hand_out,
		.arg = g,
	};
	int err = 0;

	if (!g)
		return -ENOMEM;
	g->p = *params;
	if (params->engines > 1)
		err = engine_merge_new(&g->merge, &merge);
	if (!err)
		err = processes_take(g, pool);
	if (err) {
		engine_group_free(g);
		return err;
	}
	*ret = g;
	return 0;
}

struct engine_group *engine_group_free(struct engine_group *g)
{
	if (!g)
		return NULL;
	for (uint32_t i = 0; i < g->p.engines; i++)
		engine_process_free(g->members[i].process);
	engine_merge_free(g->merge);
	free(g);
	return NULL;
}

/* ---- messages to them ---- */

static int share_send(struct member *member, json_t *job)
{
	const struct wire_share share = {.index = member->index,
					 .of = member->group->p.engines};
	json_t *own = json_copy(job);
	int err = own && json_object_set_new(own, "share",
					     wire_share_encode(&share)) == 0
			  ? engine_process_send(member->process, own)
			  : -ENOMEM;

	json_decref(own);
	return err;
}

int engine_group_job(struct engine_group *g, json_t *job)
{
	int err = 0;

	if (!g->merge)
		return engine_group_send(g, job);
	for (uint32_t i = 0; i < g->p.engines && !err; i++)
		err = share_send(&g->members[i], job);
	return err;
}

int engine_group_send(struct engine_group *g, json_t *message)
{
	int ret = 0;

	for (uint32_t i = 0; i < g->p.engines; i++) {
		struct engine_process *process = g->members[i].process;
		int err = process ? engine_process_send(process, message) : 0;

		if (err)
			ret = err;
	}
	return ret;
}

uint32_t engine_group_count(const struct engine_group *g)
{
	return g->p.engines;
}

const char *engine_group_text(const struct engine_group *g, size_t *ret_len)
{
	*ret_len = g->text_len;
	return g->text;
}

void engine_group_kill(struct engine_group *g)
{
	for (uint32_t i = 0; i < g->p.engines; i++) {
		if (g->members[i].process)
			engine_process_kill(g->members[i].process);
	}
}

void engine_group_kill_after(struct engine_group *g, int64_t delay_ms)
{
	for (uint32_t i = 0; i < g->p.engines; i++) {
		if (g->members[i].process)
			engine_process_kill_after(g->members[i].process,
						  delay_ms);
	}
}
