/* The members of an action with client sipp. */
#include "control/wire/action_members.h"

#include "base/str.h"
#include "control/wire/sipp_options.h"

#include <errno.h>
#include <string.h>

/* Whatever else an action may have is what SIPp's scenario says itself. */
static const char *const members[] = {
	"type", "index", "client",
	/* of a test that is not planned yet */
	"role", "name", "credential_pool", "credential_share", "requires",
	"target_pool", "credentials", "target", "transport", "dial_destination",
	"max_total_calls", "max_concurrent_calls", "calls_per_second",
	"sipp_scenario", "sipp_scenario_sha256", "sipp_files",
	"sipp_files_sha256", "sipp_options", "sipp_port", NULL};

bool wire_sipp_asked(json_t *object)
{
	const char *client =
		json_string_value(json_object_get(object, "client"));

	return client && strcmp(client, "sipp") == 0;
}

static bool hash_valid(const char *text)
{
	return strspn(text, "0123456789abcdef") == 64 && !text[64];
}

/* A file of the agent, or with a hash an upload. */
static int file_decode(struct decoder *d, const char *member, const char *name,
		       json_t *hash, struct wire_prompt *ret)
{
	const char *sha256 = json_string_value(hash);

	if (!name || !wire_prompt_name_valid(name))
		return decoder_refuse_member(d, member,
					     "must be a plain file name");
	if (hash && (!sha256 || !hash_valid(sha256)))
		return decoder_refuse_member(d, member,
					     "has no hash of 64 lower-case hex "
					     "digits");
	ret->name = arena_text(d->arena, name);
	ret->sha256 = sha256 ? arena_text(d->arena, sha256) : NULL;
	return ret->name && (!sha256 || ret->sha256) ? 0 : -ENOMEM;
}

static int scenario_decode(struct decoder *d, json_t *object,
			   struct wire_sipp *s)
{
	static const char member[] = "sipp_scenario";
	json_t *name = json_object_get(object, member);

	if (!name || json_is_null(name))
		return decoder_refuse_member(d, member, "is missing");
	return file_decode(d, member, json_string_value(name),
			   json_object_get(object, "sipp_scenario_sha256"),
			   &s->scenario);
}

static int files_decode(struct decoder *d, json_t *object, struct wire_sipp *s)
{
	static const char member[] = "sipp_files";
	json_t *hashes = json_object_get(object, "sipp_files_sha256");
	json_t *array;
	struct wire_prompt *list;
	int err = decode_array(d, object, member, WIRE_SIPP_FILES_MAX, &array);

	if (err || json_array_size(array) == 0)
		return err;
	list = arena_alloc(d->arena, json_array_size(array), sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; !err && i < json_array_size(array); i++) {
		const char *name = json_string_value(json_array_get(array, i));

		err = file_decode(d, member, name,
				  name ? json_object_get(hashes, name) : NULL,
				  &list[i]);
		for (size_t k = 0; !err && k < i; k++) {
			if (strcmp(list[k].name, list[i].name) == 0)
				return decoder_refuse_member(
					d, member, "names %.80s twice",
					list[i].name);
		}
		if (!err && strcmp(s->scenario.name, list[i].name) == 0)
			return decoder_refuse_member(
				d, member, "names the scenario itself");
	}
	s->files = list;
	s->file_count = json_array_size(array);
	return err;
}

static int options_decode(struct decoder *d, json_t *object,
			  struct wire_sipp *s)
{
	static const char member[] = "sipp_options";
	const char *names[WIRE_SIPP_FILES_MAX];
	char reason[WIRE_SIPP_REASON_MAX];
	const char **words;
	json_t *array;
	size_t index;
	int err = decode_array(d, object, member, WIRE_SIPP_WORDS_MAX, &array);

	if (err || json_array_size(array) == 0)
		return err;
	words = arena_alloc(d->arena, json_array_size(array), sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *word = json_string_value(json_array_get(array, i));

		if (!word)
			return decoder_refuse_member(
				d, member,
				"must be words, such as [\"-m\", \"5\"]");
		words[i] = arena_text(d->arena, word);
		if (!words[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < s->file_count; i++)
		names[i] = s->files[i].name;
	err = wire_sipp_options_check(words, json_array_size(array), names,
				      s->file_count, &index, reason);
	if (err) {
		decoder_enter(d, "/%s/%zu", member, index);
		return decoder_refuse(
			d, "%.60s: %s",
			index < json_array_size(array) ? words[index] : "",
			reason);
	}
	s->options = words;
	s->option_count = json_array_size(array);
	return 0;
}

/* SIPp's own option wins over the parameter that has the same meaning. */
static void numbers_take(struct wire_action *a)
{
	const struct wire_sipp *s = &a->sipp;
	const char *total = wire_sipp_option(s->options, s->option_count, "-m");
	const char *limit = wire_sipp_option(s->options, s->option_count, "-l");
	const char *users =
		wire_sipp_option(s->options, s->option_count, "-users");
	uint64_t n;

	if (total && str_to_u64(total, UINT32_MAX, &n) == 0)
		a->max_total_calls = (uint32_t)n;
	if (users && str_to_u64(users, UINT32_MAX, &n) == 0 && n > 0)
		a->max_concurrent_calls = (uint32_t)n;
	if (limit && str_to_u64(limit, UINT32_MAX, &n) == 0 && n > 0)
		a->max_concurrent_calls = (uint32_t)n;
}

static int meaning_check(struct decoder *d, json_t *object,
			 const struct wire_action *a)
{
	const char *dial = a->dial_destination;
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (!json_is_null(value) && !str_listed(members, name))
			return decoder_refuse_member(
				d, name,
				"client sipp: its scenario decides this");
	}
	if (a->type == WIRE_ACTION_ANSWER && a->max_concurrent_calls &&
	    json_object_get(object, "max_concurrent_calls"))
		return decoder_refuse_member(
			d, "max_concurrent_calls",
			"client sipp: it takes every call that comes");
	if (a->host_count > 1)
		return decoder_refuse_member(
			d, "target", "client sipp knows one host of a target");
	if (a->host_count && a->hosts[0].transport == WIRE_TLS)
		return decoder_refuse_member(
			d, "target",
			"client sipp has no TLS: Debian builds it without");
	if (dial && strpbrk(dial, ":@<> "))
		return decoder_refuse_member(
			d, "dial_destination",
			"client sipp takes a user part, for -s");
	return 0;
}

int wire_sipp_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	int err = meaning_check(d, object, a);

	if (!err)
		err = scenario_decode(d, object, &a->sipp);
	if (!err)
		err = files_decode(d, object, &a->sipp);
	if (!err)
		err = options_decode(d, object, &a->sipp);
	if (!err)
		err = decode_u16(d, object, "sipp_port", 0, 65535,
				 &a->sipp.port);
	if (!err)
		numbers_take(a);
	return err;
}

int wire_sipp_absent(struct decoder *d, json_t *object)
{
	static const char *const own[] = {"sipp_scenario", "sipp_files",
					  "sipp_options", "sipp_port"};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		json_t *value = json_object_get(object, own[i]);
		bool given = value && !json_is_null(value) &&
			     !(json_is_array(value) &&
			       json_array_size(value) == 0) &&
			     !(json_is_integer(value) &&
			       json_integer_value(value) == 0);

		if (given)
			return decoder_refuse_member(
				d, own[i], "does nothing without client sipp");
	}
	return 0;
}
