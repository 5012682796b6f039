/*
 * Agents for the roles and shards of a run: whether there is a way, compared with a search of
 * all ways.
 */
#include "control/server/store/store_lease_fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define AGENTS 4
#define ROUNDS 20000

static uint64_t seed = 11;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static bool keeps_apart(const struct fit *f, const size_t *seats, size_t r)
{
	for (size_t i = 0; f->roles[r].alone && i < f->held_count; i++) {
		if (f->held[i].agent_id == f->agents[seats[r]].id &&
		    strcmp(f->held[i].role, f->roles[r].role) == 0)
			return false;
	}
	for (size_t q = 0; q < r; q++) {
		if (seats[q] == seats[r] && f->roles[q].alone &&
		    f->roles[r].alone &&
		    strcmp(f->roles[q].role, f->roles[r].role) == 0)
			return false;
	}
	return true;
}

static bool has_need(const struct fit_agent *agent, const struct fit_role *role)
{
	return !role->needs || json_equal(json_array_get(agent->features, 0),
					  json_array_get(role->needs, 0));
}

/* Try all ways to seat the roles from r on. */
static bool search(const struct fit *f, size_t *seats, int64_t *room, size_t r)
{
	if (r == f->role_count)
		return true;
	for (size_t a = 0; a < f->agent_count; a++) {
		bool found;

		seats[r] = a;
		if (room[a] <= 0 || !has_need(&f->agents[a], &f->roles[r]) ||
		    !keeps_apart(f, seats, r))
			continue;
		room[a]--;
		found = search(f, seats, room, r + 1);
		room[a]++;
		if (found)
			return true;
	}
	return false;
}

static void add_role(struct fit *f, const char *name, json_t *need,
		     unsigned shards, unsigned least)
{
	for (unsigned k = 0; k < shards; k++) {
		struct fit_role *role = &f->roles[f->role_count++];

		snprintf(role->role, sizeof(role->role), "%s", name);
		role->needs = need;
		role->shards = shards;
		role->agents_min = least;
		role->alone = least > 1 && k < least;
	}
}

static void check(const struct fit *f, bool possible)
{
	size_t seats[FIT_ROLES_MAX];
	int64_t room[AGENTS];

	if (fit_seat(f, false, seats) != possible)
		fail_msg("%s", possible ? "no seats" : "seats");
	if (!possible)
		return;
	for (size_t a = 0; a < f->agent_count; a++)
		room[a] = f->agents[a].room;
	for (size_t r = 0; r < f->role_count; r++) {
		assert_true(seats[r] < f->agent_count);
		assert_true(room[seats[r]]-- > 0);
		assert_true(has_need(&f->agents[seats[r]], &f->roles[r]));
		assert_true(keeps_apart(f, seats, r));
	}
}

static void test_seats_are_found_if_there_are_any(void **state)
{
	json_t *need = json_pack("[s]", "client:baresip");
	json_t *none = json_pack("[s]", "client:native");
	unsigned possible = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct fit_agent agents[AGENTS] = {{.id = 0}};
		struct fit f = {.agents = agents,
				.agent_count = 1 + draw(AGENTS)};
		size_t seats[FIT_ROLES_MAX];
		int64_t room[AGENTS];
		bool found;

		for (size_t a = 0; a < f.agent_count; a++) {
			agents[a].id = (int64_t)a + 1;
			agents[a].room = room[a] = draw(4);
			agents[a].features = draw(2) ? need : none;
		}
		for (int k = 0; k < 2; k++) {
			unsigned shards = 1 + draw(4);

			add_role(&f, k ? "B" : "A", draw(3) ? NULL : need,
				 shards, 1 + draw(shards));
		}
		if (draw(4) == 0 && f.roles[0].alone) {
			snprintf(f.held[0].role, sizeof(f.held[0].role), "A");
			f.held[0].agent_id = 1;
			f.held_count = 1;
		}
		found = search(&f, seats, room, 0);
		possible += found;
		check(&f, found);
	}
	/* both happen often enough to mean something */
	assert_in_range(possible, ROUNDS / 5, ROUNDS * 4 / 5);
	json_decref(need);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seats_are_found_if_there_are_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
