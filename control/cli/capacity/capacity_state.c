#include "control/cli/capacity/capacity_state.h"

#include "base/str.h"
#include "control/capacity/trial.h"
#include "control/cli/client/client.h"
#include "control/cli/run/run_post.h"
#include "control/wire/text.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VERSION 1

static json_t *new_state(json_t *search)
{
	return json_pack("{s:i, s:O, s:[], s:n, s:f}", "version", VERSION,
			 "search", search, "trials", "running", "seconds", 0.0);
}

/* States of earlier versions have none. @return 0; -ENOMEM */
static int give_key(json_t *state)
{
	char key[RUN_POST_KEY_BYTES];

	if (json_object_get(state, "key"))
		return 0;
	run_post_key(key);
	return json_object_set_new(state, "key", json_string(key)) ||
			       json_object_set_new(state, "starts",
						   json_integer(0))
		       ? -ENOMEM
		       : 0;
}

static bool has_key(const json_t *state)
{
	const size_t digits = RUN_POST_KEY_BYTES - 1;
	const char *key = text_of(state, "key");

	return !json_object_get(state, "key") ||
	       (strlen(key) == digits &&
		strspn(key, "0123456789abcdef") == digits &&
		json_integer_value(json_object_get(state, "starts")) >= 0);
}

static bool is_trial(const json_t *trial)
{
	enum search_outcome outcome;

	return json_is_number(json_object_get(trial, "load")) &&
	       trial_outcome_parse(text_of(trial, "outcome"), &outcome) == 0;
}

static bool is_state(const json_t *state)
{
	const json_t *running = json_object_get(state, "running"), *trial;
	size_t i;

	if (json_integer_value(json_object_get(state, "version")) != VERSION ||
	    !json_is_object(json_object_get(state, "search")) ||
	    !json_is_array(json_object_get(state, "trials")) ||
	    !json_is_number(json_object_get(state, "seconds")) ||
	    !has_key(state))
		return false;
	json_array_foreach(json_object_get(state, "trials"), i, trial)
	{
		if (!is_trial(trial))
			return false;
	}
	return !running || json_is_null(running) ||
	       (json_is_number(json_object_get(running, "load")) &&
		text_of(running, "session_id")[0]);
}

/* @return the first member that differs; NULL: none does */
static const char *other_member(const json_t *before, json_t *now)
{
	const char *name;
	json_t *value;

	json_object_foreach(now, name, value)
	{
		if (!json_equal(value, json_object_get(before, name)))
			return name;
	}
	return NULL;
}

int capacity_state_read(const char *file, json_t *search, json_t **ret)
{
	json_error_t where;
	json_t *state;
	const char *other;

	if (access(file, F_OK) && errno == ENOENT) {
		*ret = new_state(search);
		return *ret && !give_key(*ret)
			       ? 0
			       : client_usage("%s", strerror(ENOMEM));
	}
	state = json_load_file(file, JSON_REJECT_DUPLICATES, &where);
	if (!state || !is_state(state)) {
		int status = client_usage("--state %s: %s", file,
					  state ? "it is no state of a search"
						: where.text);

		json_decref(state);
		return status;
	}
	other = other_member(json_object_get(state, "search"), search);
	if (other) {
		json_decref(state);
		return client_usage(
			"--state %s: it is of another search, whose "
			"\"%s\" differs; go on with the options of "
			"then, or name another file",
			file, other);
	}
	*ret = state;
	return give_key(state) ? client_usage("%s", strerror(ENOMEM)) : 0;
}

void capacity_state_key(const json_t *state,
			char ret[static CAPACITY_KEY_BYTES])
{
	str_print(ret, CAPACITY_KEY_BYTES, "%s-%lld", text_of(state, "key"),
		  (long long)json_integer_value(
			  json_object_get(state, "starts")));
}

int capacity_state_started(json_t *state)
{
	const json_int_t starts =
		json_integer_value(json_object_get(state, "starts"));

	return json_object_set_new(state, "starts", json_integer(starts + 1))
		       ? -ENOMEM
		       : 0;
}

static int write_out(FILE *out, const json_t *state)
{
	int err = json_dumpf(state, out, JSON_INDENT(2)) ? -EIO : 0;

	if (!err && (fputc('\n', out) == EOF || fflush(out)))
		err = -errno;
	if (!err && fsync(fileno(out)))
		err = -errno;
	return err;
}

int capacity_state_write(const char *file, const json_t *state)
{
	char part[PATH_MAX];
	FILE *out;
	int err;

	if (str_print(part, sizeof(part), "%s.part", file) < 0)
		return -ENAMETOOLONG;
	out = fopen(part, "we");
	if (!out)
		return -errno;
	err = write_out(out, state);
	if (fclose(out) && !err)
		err = -errno;
	if (!err && rename(part, file))
		err = -errno;
	if (err)
		(void)unlink(part);
	return err;
}
