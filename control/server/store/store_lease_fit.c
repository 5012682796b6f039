#include "control/server/store/store_lease_fit.h"

#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AGENTS_NAMED 4 /* in a sentence; others are counted */

/* ---- reading ---- */

static void copy(char *dst, size_t size, const struct db_value *value)
{
	(void)str_print(dst, size, "%s",
			value->type == DB_TEXT ? (const char *)value->bytes
					       : "");
}

static json_t *texts_of(const struct db_value *value)
{
	json_t *array = value->type == DB_TEXT
				? json_loadb((const char *)value->bytes,
					     value->len, 0, NULL)
				: NULL;

	/* agents may report anything: values that are not text are ignored */
	for (size_t i = json_array_size(array); i > 0; i--)
		if (!json_is_string(json_array_get(array, i - 1)))
			json_array_remove(array, i - 1);
	return array;
}

static int role_row(const struct db_value *row, size_t columns, void *arg)
{
	struct fit *f = arg;
	struct fit_role *role = &f->roles[f->role_count];

	(void)columns;
	if (f->role_count == FIT_ROLES_MAX)
		return 0;
	copy(role->lease_id, sizeof(role->lease_id), &row[0]);
	copy(role->role, sizeof(role->role), &row[1]);
	role->needs = texts_of(&row[2]);
	role->shards = row[4].integer;
	role->agents_min = row[5].integer;
	role->alone = role->agents_min > 1 && row[3].integer < role->agents_min;
	f->role_count++;
	return 0;
}

static int held_row(const struct db_value *row, size_t columns, void *arg)
{
	struct fit *f = arg;
	struct fit_held *held = &f->held[f->held_count];

	(void)columns;
	if (f->held_count == FIT_ROLES_MAX)
		return 0;
	copy(held->role, sizeof(held->role), &row[0]);
	held->agent_id = row[1].integer;
	f->held_count++;
	return 0;
}

/* Most agents of a pool report the same: that is parsed once.
 * @return to be released; NULL: none */
static json_t *features_of(struct fit *f, const struct db_value *value)
{
	if (f->features_text && f->agent_count && value->type == DB_TEXT &&
	    strcmp(f->features_text, value->bytes) == 0)
		return json_incref(f->agents[f->agent_count - 1].features);
	free(f->features_text);
	f->features_text = value->type == DB_TEXT ? strdup(value->bytes) : NULL;
	return texts_of(value);
}

static int agent_row(const struct db_value *row, size_t columns, void *arg)
{
	struct fit *f = arg;
	struct fit_agent *agents = f->agents, *agent;
	size_t count = f->agent_count;

	(void)columns;
	if ((count & (count - 1)) == 0) { /* full: 0, 1, 2, 4, 8 ... */
		agents = reallocarray(agents, count ? 2 * count : 1,
				      sizeof(*agents));
		if (!agents)
			return -ENOMEM;
		f->agents = agents;
	}
	agent = &agents[f->agent_count];
	agent->id = row[0].integer;
	copy(agent->name, sizeof(agent->name), &row[1]);
	agent->capacity = row[2].integer;
	agent->room = row[3].integer;
	agent->features = features_of(f, &row[4]);
	f->agent_count++;
	return 0;
}

/* @param needs  expression of that member */
#define WAITING(needs)                                                       \
	"SELECT id, role, " needs ", shard, shards, agents_min FROM lease "  \
	"WHERE run_id = $1 AND state = 'waiting' ORDER BY agents_min DESC, " \
	"role, shard"

int fit_read(struct db *db, const struct fit_query *query, struct fit *ret)
{
	const struct db_value params[] = {
		DB_I(query->run_id), DB_I(query->seen_after),
		DB_I(query->first_agent), DB_I(query->only_first)};
	int err;

	*ret = (struct fit){.role_count = 0};
	err = db_query(db,
		       db_choose(db,
				 WAITING("json_extract(spec_json, '$.needs')"),
				 WAITING("CAST(spec_json AS JSON) -> 'needs'")),
		       params, 1, role_row, ret);
	if (err >= 0)
		err = db_query(db,
			       "SELECT role, agent_id FROM lease WHERE "
			       "run_id = $1 AND agents_min > 1 AND shard < "
			       "agents_min AND state IN ('offered', 'started')",
			       params, 1, held_row, ret);
	if (err >= 0)
		err = db_query(
			db,
			"SELECT a.id, a.name, a.capacity, a.capacity - "
			"(SELECT count(*) FROM lease l WHERE l.agent_id = a.id "
			"AND l.state IN ('offered', 'started')) AS room, "
			"a.features_json FROM agent a WHERE a.id IN (SELECT "
			"agent_id FROM agent_serves WHERE pool_id = (SELECT "
			"agentpool_id FROM run WHERE id = $1)) AND "
			"(a.id = $3 OR ($4 = 0 AND " AGENT_TAKES_JOBS
			"AND a.last_seen > $2)) "
			"ORDER BY a.id = $3 DESC, room DESC, a.id",
			params, 4, agent_row, ret);
	return err < 0 ? err : 0;
}

void fit_release(struct fit *f)
{
	for (size_t i = 0; i < f->role_count; i++)
		json_decref(f->roles[i].needs);
	for (size_t i = 0; i < f->agent_count; i++)
		json_decref(f->agents[i].features);
	free(f->agents);
	free(f->features_text);
	*f = (struct fit){.role_count = 0};
}

/* ---- comparing ---- */

/* A label that a test requires has no colon: site=fra is a label of the agent,
 * client=baresip may be its capability client:baresip as well. */
static bool agent_has_label(const struct fit_agent *agent, const char *need)
{
	const size_t kind = strcspn(need, "=");
	const json_t *feature;
	size_t i;

	json_array_foreach(agent->features, i, feature)
	{
		const char *text = json_string_value(feature);

		if (strcmp(text, need) == 0)
			return true;
		if (need[kind] && strncmp(text, need, kind) == 0 &&
		    text[kind] == ':' &&
		    strcmp(text + kind + 1, need + kind + 1) == 0)
			return true;
	}
	return false;
}

/* A capability is KIND:VALUE. An agent that reports no capability of a kind
 * does not know the kind (another version): it gets the job, and refuses it if
 * it cannot carry it out. */
static bool agent_has(const struct fit_agent *agent, const char *need)
{
	size_t kind = strcspn(need, ":") + 1;
	bool reports = false;
	const json_t *feature;
	size_t i;

	if (!strchr(need, ':'))
		return agent_has_label(agent, need);
	json_array_foreach(agent->features, i, feature)
	{
		const char *text = json_string_value(feature);

		if (strcmp(text, need) == 0)
			return true;
		reports |= strncmp(text, need, kind) == 0;
	}
	return !reports;
}

static bool serves(const struct fit_agent *agent, const struct fit_role *role)
{
	const json_t *need;
	size_t i;

	json_array_foreach(role->needs, i, need)
	{
		if (!agent_has(agent, json_string_value(need)))
			return false;
	}
	return true;
}

bool fit_takes_any(const struct fit *f, const struct fit_agent *agent)
{
	for (size_t r = 0; r < f->role_count && agent->room > 0; r++)
		if (serves(agent, &f->roles[r]))
			return true;
	return false;
}

bool fit_takes_all(const struct fit *f, const struct fit_agent *agent)
{
	if (agent->room < (int64_t)f->role_count)
		return false;
	for (size_t r = 0; r < f->role_count; r++)
		if (f->roles[r].shards > 1 || !serves(agent, &f->roles[r]))
			return false;
	return true;
}

/* ---- seating: a bipartite matching by augmenting paths ---- */

#define NO_SEAT SIZE_MAX

struct seating {
	const struct fit *f;
	size_t *seats; /* NO_SEAT: it has no agent yet */
	int64_t *free; /* room of each agent */
	bool *tried;   /* per agent, in the search for one role */
};

/* Whether an agent may have a shard besides those of its role that it has. Shards of a
 * role are alike: to move one away for another gains nothing. */
static bool may_have(const struct seating *s, size_t a, size_t r)
{
	const struct fit *f = s->f;
	const struct fit_role *role = &f->roles[r];

	if (!serves(&f->agents[a], role))
		return false;
	for (size_t i = 0; role->alone && i < f->held_count; i++) {
		if (f->held[i].agent_id == f->agents[a].id &&
		    strcmp(f->held[i].role, role->role) == 0)
			return false;
	}
	for (size_t q = 0; role->alone && q < f->role_count; q++) {
		if (q != r && s->seats[q] == a && f->roles[q].alone &&
		    strcmp(f->roles[q].role, role->role) == 0)
			return false;
	}
	return true;
}

/* Shards of the role that the agent has been given. */
static size_t shards_at(const struct seating *s, size_t a, size_t r)
{
	const struct fit *f = s->f;
	size_t count = 0;

	for (size_t q = 0; q < f->role_count && f->roles[r].shards > 1; q++)
		count += s->seats[q] == a &&
			 strcmp(f->roles[q].role, f->roles[r].role) == 0;
	return count;
}

/* @return the agent with room that has fewest shards of the role; NO_SEAT: none */
static size_t agent_with_room(const struct seating *s, size_t r)
{
	size_t best = NO_SEAT, fewest = SIZE_MAX;

	for (size_t a = 0; a < s->f->agent_count && fewest > 0; a++) {
		size_t count;

		if (s->free[a] <= 0 || !may_have(s, a, r))
			continue;
		count = shards_at(s, a, r);
		if (count < fewest) {
			best = a;
			fewest = count;
		}
	}
	return best;
}

/* Recursive: each level moves another role, so the depth is at most
 * FIT_ROLES_MAX. */
static bool seat_role(struct seating *s, size_t r)
{
	const struct fit *f = s->f;
	const size_t roomy = agent_with_room(s, r);

	if (roomy != NO_SEAT) {
		s->free[roomy]--;
		s->seats[r] = roomy;
		return true;
	}
	for (size_t a = 0; a < f->agent_count; a++) {
		if (s->tried[a] || !may_have(s, a, r))
			continue;
		s->tried[a] = true;
		for (size_t q = 0; q < f->role_count; q++) {
			if (q == r || s->seats[q] != a || !seat_role(s, q))
				continue;
			s->seats[r] = a; /* q has gone to another agent */
			return true;
		}
	}
	return false;
}

bool fit_seat(const struct fit *f, bool idle,
	      size_t seats[static FIT_ROLES_MAX])
{
	struct seating s = {.f = f, .seats = seats};
	bool found = true;

	if (f->agent_count == 0)
		return f->role_count == 0;
	s.free = calloc(f->agent_count, sizeof(*s.free));
	s.tried = calloc(f->agent_count, sizeof(*s.tried));
	if (!s.free || !s.tried)
		found = false;
	for (size_t r = 0; r < FIT_ROLES_MAX; r++)
		seats[r] = NO_SEAT;
	for (size_t a = 0; found && a < f->agent_count; a++)
		s.free[a] = idle ? f->agents[a].capacity : f->agents[a].room;
	for (size_t r = 0; found && r < f->role_count; r++) {
		memset(s.tried, 0, f->agent_count * sizeof(*s.tried));
		found = seat_role(&s, r);
	}
	free(s.free);
	free(s.tried);
	return found;
}

/* ---- sentences ---- */

static void append(char *text, size_t size, const char *separator,
		   const char *word)
{
	size_t at = strlen(text);

	(void)str_print(text + at, size - at, "%s%s", at ? separator : "",
			word);
}

static bool role_needs(const struct fit_role *role, const json_t *need)
{
	const json_t *other;
	size_t i;

	json_array_foreach(role->needs, i, other)
	{
		if (json_equal(other, need))
			return true;
	}
	return false;
}

bool fit_needs(const struct fit *f, char *text, size_t size)
{
	const json_t *need;
	size_t i;

	text[0] = '\0';
	for (size_t r = 0; r < f->role_count; r++) {
		json_array_foreach(f->roles[r].needs, i, need)
		{
			size_t q = 0;

			while (q < r && !role_needs(&f->roles[q], need))
				q++;
			if (q == r)
				append(text, size, ", ",
				       json_string_value(need));
		}
	}
	return text[0];
}

/* "agent-1 lacks client:baresip; agent-2 lacks codec:opus" */
static void lacking(const struct fit *f, const struct fit_role *role,
		    char *text, size_t size)
{
	text[0] = '\0';
	for (size_t a = 0; a < f->agent_count; a++) {
		const struct fit_agent *agent = &f->agents[a];
		const char *lead = " lacks ";
		const json_t *need;
		size_t i;

		if (a == AGENTS_NAMED) {
			char more[32];

			str_print(more, sizeof(more), "and %zu more",
				  f->agent_count - a);
			append(text, size, "; ", more);
			return;
		}
		append(text, size, "; ", agent->name);
		json_array_foreach(role->needs, i, need)
		{
			if (agent_has(agent, json_string_value(need)))
				continue;
			append(text, size, lead, json_string_value(need));
			lead = ", ";
		}
	}
}

/* A role whose shards need more agents than there are with what it needs. */
static bool too_few_agents(const struct fit *f, const char *pool, char *text,
			   size_t size)
{
	for (size_t r = 0; r < f->role_count; r++) {
		const struct fit_role *role = &f->roles[r];
		int64_t able = 0;

		for (size_t a = 0; a < f->agent_count; a++)
			able += serves(&f->agents[a], role);
		if (role->agents_min <= able)
			continue;
		str_print(text, size,
			  "the role %s needs %" PRId64 " different agents of "
			  "the pool %s, %" PRId64 " online can carry it out: "
			  "start more, or lower its parameter agents",
			  role->role, role->agents_min, pool, able);
		return true;
	}
	return false;
}

bool fit_missing(const struct fit *f, const char *pool, char *text, size_t size)
{
	size_t seats[FIT_ROLES_MAX];
	char words[320];

	for (size_t r = 0; r < f->role_count; r++) {
		size_t a = 0;

		while (a < f->agent_count &&
		       !serves(&f->agents[a], &f->roles[r]))
			a++;
		if (a < f->agent_count || f->agent_count == 0)
			continue;
		lacking(f, &f->roles[r], words, sizeof(words));
		str_print(text, size,
			  "capabilities missing: no agent online in the pool "
			  "%s has what the role %s needs: %s",
			  pool, f->roles[r].role, words);
		return true;
	}
	if (too_few_agents(f, pool, text, size))
		return true;
	if (!fit_needs(f, words, sizeof(words)) || fit_seat(f, true, seats))
		return false;
	str_print(text, size,
		  "capabilities missing: the agents online in the pool %s that "
		  "have what the run needs (%s) can take too few jobs",
		  pool, words);
	return true;
}
