#include "control/cli/record/test_verdict.h"

#include "base/str.h"
#include "control/cli/client/client.h"

#include <stdint.h>

#define PATH_BYTES 64

static const char *key_of(const json_t *object, const char *member,
			  char key[static STR_DECIMAL_BYTES])
{
	return str_decimal(key, (uint64_t)json_integer_value(
					json_object_get(object, member)));
}

int test_verdict_add_states(struct client *c, json_t *tests)
{
	json_t *verdicts = json_array(), *states = json_object(), *one;
	char key[STR_DECIMAL_BYTES];
	int status = client_list(c, "/tests/verdicts", "verdicts", verdicts);
	size_t i;

	json_array_foreach(verdicts, i, one)
	{
		json_object_set(states, key_of(one, "test_id", key),
				json_object_get(one, "state"));
	}
	json_array_foreach(tests, i, one)
	{
		/* a test that was made in between has not run */
		json_t *state = json_object_get(states, key_of(one, "id", key));

		json_object_set_new(one, "state",
				    state ? json_incref(state)
					  : json_string("never_run"));
	}
	json_decref(states);
	json_decref(verdicts);
	return status;
}

/* Get a member of a test's address, which has the same name in the answer. */
static int get(struct client *c, const json_t *test, const char *what,
	       json_t **ret)
{
	char path[PATH_BYTES], key[STR_DECIMAL_BYTES];
	struct remote_answer a;
	int status;

	str_print(path, sizeof(path), "/tests/%s/%s", key_of(test, "id", key),
		  what);
	status = client_call(c, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	*ret = json_incref(json_object_get(a.body, what));
	remote_answer_release(&a);
	return 0;
}

static json_t *flaky_text(const json_t *flakiness)
{
	json_t *sentence = json_object_get(flakiness, "sentence");
	json_int_t failed =
		json_integer_value(json_object_get(flakiness, "failed"));
	json_int_t passed =
		json_integer_value(json_object_get(flakiness, "passed"));

	if (!json_is_true(json_object_get(flakiness, "flaky")))
		return json_null();
	if (json_is_string(sentence))
		return json_incref(sentence);
	return json_sprintf("%lld of %lld runs failed; they have nothing in "
			    "common that could not be chance.",
			    (long long)failed, (long long)(failed + passed));
}

int test_verdict_add(struct client *c, json_t *body)
{
	json_t *test = json_object_get(body, "test");
	json_t *verdict = NULL, *flakiness = NULL;
	int status = get(c, test, "flakiness", &flakiness);

	if (!status && client_json(c))
		json_object_set(body, "flakiness", flakiness);
	else if (!status)
		status = get(c, test, "verdict", &verdict);
	if (verdict) {
		json_object_set(test, "state",
				json_object_get(verdict, "state"));
		json_object_set_new(test, "flaky", flaky_text(flakiness));
	}
	json_decref(flakiness);
	json_decref(verdict);
	return status;
}
