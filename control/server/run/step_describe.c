#include "control/server/run/step_describe.h"

#include "base/state.h"
#include "base/str.h"
#include "control/server/run/step_params.h"
#include "control/wire/job_limits.h"
#include "control/wire/script_text.h"

#include <string.h>

/* In the order in which an editor offers them; the texts of the table in
 * docs/reference/actions.md: the lint compares both. */
static const struct {
	const char *type;
	const char *word;
	const char *help;
	const char *ends;
} actions[] = {
	/* clang-format off */
	{"register", "Register", "registers all accounts of a pool", "all are registered"},
	{"answer", "Answer", "accepts calls, subscriptions and REFERs from now on", "at once"},
	{"call", "Call", "places calls", "all calls are over"},
	{"wait", "Wait", "waits for a time, or for calls", "the time is over, or the calls have ended"},
	{"stream", "Stream", "sends and receives RTP without signalling", "the streams are over"},
	{"message", "Message", "sends one request per account", "all are answered"},
	{"options", "Options", "sends one request per account", "all are answered"},
	{"subscribe", "Subscribe", "subscribes to presence or message waiting", "each account has its first NOTIFY"},
	{"publish", "Publish", "publishes presence or message waiting", "the server has answered"},
	{"notify", "Notify", "sends a new state to the subscribers", "all have answered"},
	{"unregister", "Unregister", "removes the bindings of the role", "the registrar has answered"},
	/* clang-format on */
};

static json_t *words_of(const char *list)
{
	json_t *words = json_array();

	while (list && *list) {
		size_t len = strcspn(list, " ");

		json_array_append_new(words, json_stringn(list, len));
		list += len + strspn(list + len, " ");
	}
	return words;
}

static json_t *param_entry(const struct step_param *p, const char *type)
{
	json_t *entry = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:b, s:o}", "key", p->name, "word",
		p->word, "group", p->group, "type", p->type, "help", p->help,
		"required", p->required && str_has_word(p->required, type),
		"default",
		p->fallback ? json_loads(p->fallback, JSON_DECODE_ANY, NULL)
			    : json_null());

	if (p->unit)
		json_object_set_new(entry, "unit", json_string(p->unit));
	if (p->choices)
		json_object_set_new(entry, "choices", words_of(p->choices));
	if (p->records)
		json_object_set_new(entry, "records", json_string(p->records));
	if (p->ranged) {
		json_object_set_new(entry, "min", json_real(p->min));
		json_object_set_new(entry, "max", json_real(p->max));
	}
	return entry;
}

json_t *steps_describe_actions(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		const char *type = actions[i].type;
		json_t *params = json_array();
		const struct step_param *p;

		for (size_t n = 0; (p = step_param_at(n)); n++) {
			if (str_has_word(p->actions, type))
				json_array_append_new(params,
						      param_entry(p, type));
		}
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s, s:o}", "key",
					type, "word", actions[i].word, "help",
					actions[i].help, "ends",
					actions[i].ends, "parameters", params));
	}
	return list;
}

static json_t *state_names(void)
{
	json_t *names = json_array();

	for (int i = 0; i < UA_STATE_COUNT; i++)
		json_array_append_new(
			names, json_string(ua_state_name((enum ua_state)i)));
	return names;
}

static json_t *argument_of(const struct wire_script_text *text)
{
	json_t *argument;

	if (text->takes_nothing)
		return json_null();
	argument = json_pack("{s:b, s:s}", "required", !text->optional, "help",
			     text->takes);
	if (text->max) {
		json_object_set_new(argument, "min", json_integer(text->min));
		json_object_set_new(argument, "max", json_integer(text->max));
	}
	if (text->is_state)
		json_object_set_new(argument, "choices", state_names());
	if (text->is_prompt)
		json_object_set_new(argument, "records",
				    json_string("appimages"));
	return argument;
}

json_t *steps_describe_script(void)
{
	json_t *list = json_array();
	struct wire_script_text text;

	for (size_t i = 0; wire_script_action_text(i, &text); i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:o}", "key",
						text.name, "word", text.word,
						"help", text.help, "argument",
						argument_of(&text)));
	return list;
}

json_t *steps_describe_limits(void)
{
	return json_pack("{s:i, s:i, s:i}", "steps", WIRE_STEPS_MAX, "actions",
			 WIRE_ACTIONS_MAX, "script_actions",
			 WIRE_CLIENT_ACTIONS_MAX);
}
