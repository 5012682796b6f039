#include "control/wire/client_actions.h"

#include "base/state.h"
#include "base/str.h"
#include "control/wire/action_members.h"
#include "control/wire/pairs.h"
#include "control/wire/script_text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define ARGUMENT_BYTES_MAX 512
#define REDIRECT_URIS_MAX  8         /* contacts of a 3xx */
#define WAIT_MS_MAX        86400000u /* a day */
#define PROGRESS_MIN       101
#define PROGRESS_MAX       199
#define REJECT_MIN         400
#define REJECT_MAX         699

enum argument {
	ARGUMENT_NONE,
	ARGUMENT_MS, /* milliseconds */
	ARGUMENT_MS_OR_NONE,
	ARGUMENT_STATE,
	ARGUMENT_TEXT, /* not empty */
	ARGUMENT_URI_OR_NONE,
	ARGUMENT_URIS,     /* separated by commas */
	ARGUMENT_TRANSFER, /* URI, optionally "norefersub" */
	ARGUMENT_ATTENDED, /* "start URI", exec or abort */
	ARGUMENT_PROGRESS, /* 101 to 199 */
	ARGUMENT_DTMF,     /* digits, duration, gap */
	ARGUMENT_EXPECT_DTMF,
	ARGUMENT_EXPECT_AUDIO,
	ARGUMENT_PROMPT, /* name of an upload or agent's file */
	ARGUMENT_REJECT, /* 400 to 699; empty: 603 */
};

static const struct client_action_kind {
	const char *name;
	enum argument argument;
	const char *word;  /* its name for users */
	const char *takes; /* what the argument is; code within backticks */
	const char *help;  /* what it does */
} kinds[] = {
	/* the texts of docs/reference/script-actions.md; the lint compares both */
	/* clang-format off */
	[WIRE_SCRIPT_ASSERT_ESTABLISHED] = {"assert_established", ARGUMENT_MS_OR_NONE, "Wait until established",
		"none, or the longest wait in ms",
		"waits for CALL_ESTABLISHED; if it does not come, ends the call"},
	[WIRE_SCRIPT_ASSERT_STATE] = {"assert_state", ARGUMENT_STATE, "Wait for a state",
		"a state",
		"passes if the call has reached the state, or reaches it within 32 s"},
	[WIRE_SCRIPT_HOLD] = {"hold", ARGUMENT_NONE, "Hold",
		"none",
		"waits for CALL_ESTABLISHED, sends a re-INVITE, and waits for its final response"},
	[WIRE_SCRIPT_RESUME] = {"resume", ARGUMENT_NONE, "Resume",
		"none",
		"waits for CALL_ESTABLISHED, sends a re-INVITE, and waits for its final response"},
	[WIRE_SCRIPT_WAIT] = {"wait", ARGUMENT_MS, "Wait",
		"ms",
		"waits for this time"},
	[WIRE_SCRIPT_HANGUP] = {"hangup", ARGUMENT_NONE, "Hang up",
		"none",
		"ends the call and the script"},
	[WIRE_SCRIPT_ASSERT_DTMF] = {"assert_dtmf", ARGUMENT_EXPECT_DTMF, "Expect digits",
		"digits, optionally the longest wait in ms",
		"passes if these digits came in a row since the last `assert_dtmf`, or come within the wait (32 s)"},
	[WIRE_SCRIPT_ASSERT_AUDIO] = {"assert_audio", ARGUMENT_EXPECT_AUDIO, "Expect sound",
		"`sound`, `tone HZ` (100 to 3600 Hz) or `prompt`, optionally the longest wait in ms; `silence MS`",
		"passes if it is heard within the wait (32 s); `silence` passes if no sound is heard for that time"},
	[WIRE_SCRIPT_DTMF] = {"dtmf", ARGUMENT_DTMF, "Send digits",
		"digits (0-9 * # A-D, at most 64), optionally their duration (100, 40 to 1300 ms) and the gap between them (100, 40 to 5000 ms): `1234# 80 80`",
		"waits for CALL_ESTABLISHED, sends the digits by `dtmf_mode`, and waits until the last one is sent"},
	[WIRE_SCRIPT_MUTE] = {"mute", ARGUMENT_NONE, "Mute",
		"none",
		"sends silence instead of `prompt` and `play`, which continue unheard. Digits are still sent"},
	[WIRE_SCRIPT_UNMUTE] = {"unmute", ARGUMENT_NONE, "Unmute",
		"none",
		"sends silence instead of `prompt` and `play`, which continue unheard. Digits are still sent"},
	[WIRE_SCRIPT_PLAY] = {"play", ARGUMENT_PROMPT, "Play once",
		"name of a prompt, as `prompt`",
		"waits until audio flows; plays the prompt once instead of `prompt`, which continues unheard. Ends when the last packet is sent; fails if a change of codec cuts it off"},
	[WIRE_SCRIPT_REINVITE] = {"reinvite", ARGUMENT_NONE, "Send a re-INVITE",
		"none",
		"sends a re-INVITE that changes only the keys of an encrypted call; waits for its final response"},
	[WIRE_SCRIPT_UPDATE] = {"update", ARGUMENT_NONE, "Send UPDATE",
		"none",
		"sends UPDATE, with an offer if the call is established or a reliable response has completed offer and answer; passes on 2xx"},
	[WIRE_SCRIPT_TRANSFER] = {"transfer", ARGUMENT_TRANSFER, "Transfer",
		"URI, optionally `norefersub`",
		"sends REFER; waits for the end of the transfer (with `norefersub`: for the 202). The call itself goes on: `hangup` ends it"},
	[WIRE_SCRIPT_TRANSFER_ATTENDED] = {"transfer_attended", ARGUMENT_ATTENDED, "Transfer after a call",
		"`start URI`, `exec`, `abort`",
		"`start URI`: puts the call on hold and calls the URI; waits until that call is established; `exec`: sends the peer a REFER to the other call's peer, with Replaces; waits for the end of the transfer. The peer that was called ends the other call; `abort`: ends the other call and resumes this one"},
	[WIRE_SCRIPT_SNDCODE] = {"sndcode", ARGUMENT_PROGRESS, "Send a provisional response",
		"101 to 199",
		"sends this provisional response, before the call is answered"},
	[WIRE_SCRIPT_REJECT] = {"reject", ARGUMENT_REJECT, "Refuse the call",
		"none (603), or 400 to 699",
		"sends this response instead of the 200"},
	[WIRE_SCRIPT_REDIRECT] = {"redirect", ARGUMENT_URIS, "Redirect the call",
		"URIs, separated by commas",
		"sends 302 with these Contacts instead of the 200"},
	[WIRE_SCRIPT_MESSAGE] = {"message", ARGUMENT_TEXT, "Send a message",
		"text",
		"sends MESSAGE in the dialog; passes on 2xx"},
	[WIRE_SCRIPT_OPTIONS] = {"options", ARGUMENT_URI_OR_NONE, "Send OPTIONS",
		"none, or a URI",
		"sends OPTIONS in the dialog; passes on 2xx. With a URI: sends it out of dialog, does not wait, and adds its response time to the measure sip_options_time"},
	[WIRE_SCRIPT_RECORD_START] = {"record_start", ARGUMENT_NONE, "Start recording",
		"none",
		"waits until audio flows; starts and stops the recording of both directions"},
	[WIRE_SCRIPT_RECORD_STOP] = {"record_stop", ARGUMENT_NONE, "Stop recording",
		"none",
		"waits until audio flows; starts and stops the recording of both directions"},
	/* clang-format on */
};

static const struct client_action_kind *kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	}
	return NULL;
}

const char *wire_script_action_name(enum wire_script_action type)
{
	return kinds[type].name;
}

/* Numbers and words that an argument may be. */
static void argument_describe(struct wire_script_text *ret,
			      enum argument argument)
{
	ret->takes_nothing = argument == ARGUMENT_NONE;
	ret->optional =
		argument == ARGUMENT_NONE || argument == ARGUMENT_MS_OR_NONE ||
		argument == ARGUMENT_URI_OR_NONE || argument == ARGUMENT_REJECT;
	ret->is_state = argument == ARGUMENT_STATE;
	ret->is_prompt = argument == ARGUMENT_PROMPT;
	if (argument == ARGUMENT_MS || argument == ARGUMENT_MS_OR_NONE)
		ret->max = WAIT_MS_MAX;
	if (argument == ARGUMENT_PROGRESS) {
		ret->min = PROGRESS_MIN;
		ret->max = PROGRESS_MAX;
	}
	if (argument == ARGUMENT_REJECT) {
		ret->min = REJECT_MIN;
		ret->max = REJECT_MAX;
	}
}

bool wire_script_action_text(size_t i, struct wire_script_text *ret)
{
	if (i >= sizeof(kinds) / sizeof(kinds[0]))
		return false;
	*ret = (struct wire_script_text){
		.name = kinds[i].name,
		.word = kinds[i].word,
		.takes = kinds[i].takes,
		.help = kinds[i].help,
	};
	argument_describe(ret, kinds[i].argument);
	return true;
}

static int code_check(struct decoder *d,
		      const struct wire_client_action *action, uint64_t min,
		      uint64_t max)
{
	uint64_t code;

	if (str_to_u64(action->argument, max, &code) || code < min)
		return decoder_refuse(d, "%s needs a code from %u to %u",
				      wire_script_action_name(action->type),
				      (unsigned)min, (unsigned)max);
	return 0;
}

/* A URI, user@host, or a user part. Characters that would end the angle
 * brackets of a name-addr are refused. */
static bool uri_valid(const char *text, size_t len)
{
	if (len > 4 && strncasecmp(text, "sip:", 4) == 0) {
		text += 4;
		len -= 4;
	}
	for (size_t i = 0; i < len; i++) {
		if (strchr(" <>\"", text[i]))
			return false;
	}
	return len > 0 && text[0] != '@' && text[len - 1] != '@';
}

static int uris_check(struct decoder *d,
		      const struct wire_client_action *action)
{
	const char *p = action->argument;
	int count = 0;

	do {
		p += *p == ',';
		p += strspn(p, " ");
		if (!uri_valid(p, strcspn(p, ",")) ||
		    ++count > REDIRECT_URIS_MAX)
			return decoder_refuse(
				d, "%s needs 1 to %d URIs, separated by commas",
				wire_script_action_name(action->type),
				REDIRECT_URIS_MAX);
		p += strcspn(p, ",");
	} while (*p);
	return 0;
}

static int transfer_check(struct decoder *d, const char *argument)
{
	size_t len = strcspn(argument, " ");

	if (!uri_valid(argument, len) ||
	    (argument[len] && strcmp(argument + len, " norefersub") != 0))
		return decoder_refuse(
			d, "transfer needs a URI, and norefersub perhaps");
	return 0;
}

static int attended_check(struct decoder *d, const char *argument)
{
	size_t len = strlen(argument);
	bool start = len > 6 && strncmp(argument, "start ", 6) == 0 &&
		     uri_valid(argument + 6, len - 6);

	if (!start && strcmp(argument, "exec") != 0 &&
	    strcmp(argument, "abort") != 0)
		return decoder_refuse(
			d, "transfer_attended needs start URI, exec or abort");
	return 0;
}

static int dtmf_check(struct decoder *d,
		      const struct wire_client_action *action)
{
	struct wire_dtmf dtmf;
	struct wire_dtmf_expect expect;

	if (action->type == WIRE_SCRIPT_DTMF)
		return wire_dtmf_parse(action->argument, &dtmf)
			       ? decoder_refuse(
					 d,
					 "dtmf needs digits (0-9 * # A-D, at most %d), then perhaps their ms (40 to 1300) and the ms between them (40 to 5000)",
					 WIRE_DIGITS_MAX)
			       : 0;
	return wire_dtmf_expect_parse(action->argument, &expect)
		       ? decoder_refuse(
				 d,
				 "assert_dtmf needs digits (0-9 * # A-D, at most %d), then perhaps the longest wait in ms",
				 WIRE_DIGITS_MAX)
		       : 0;
}

static int audio_check(struct decoder *d, const char *argument)
{
	struct wire_audio_expect expect;

	return wire_audio_expect_parse(argument, &expect)
		       ? decoder_refuse(
				 d,
				 "assert_audio needs sound, silence MS, tone HZ (100 to 3600) or prompt; behind all but silence perhaps the longest wait in ms")
		       : 0;
}

static int argument_check(struct decoder *d,
			  const struct client_action_kind *kind,
			  const struct wire_client_action *action)
{
	enum ua_state state;
	uint64_t ms;

	switch (kind->argument) {
	case ARGUMENT_NONE:
		if (action->argument[0])
			return decoder_refuse(d, "%s takes no argument",
					      kind->name);
		return 0;
	case ARGUMENT_MS_OR_NONE:
		if (!action->argument[0])
			return 0;
		__attribute__((fallthrough));
	case ARGUMENT_MS:
		if (str_to_u64(action->argument, WAIT_MS_MAX, &ms))
			return decoder_refuse(
				d, "%s needs milliseconds from 0 to %u",
				kind->name, WAIT_MS_MAX);
		return 0;
	case ARGUMENT_STATE:
		if (!ua_state_parse(action->argument, &state))
			return decoder_refuse(d, "there is no state \"%.40s\"",
					      action->argument);
		return 0;
	case ARGUMENT_TEXT:
		if (!action->argument[0])
			return decoder_refuse(d, "%s needs an argument",
					      kind->name);
		return 0;
	case ARGUMENT_URI_OR_NONE:
		if (action->argument[0] &&
		    !uri_valid(action->argument, strlen(action->argument)))
			return decoder_refuse(d, "%s needs a URI, or nothing",
					      kind->name);
		return 0;
	case ARGUMENT_URIS:
		return uris_check(d, action);
	case ARGUMENT_TRANSFER:
		return transfer_check(d, action->argument);
	case ARGUMENT_ATTENDED:
		return attended_check(d, action->argument);
	case ARGUMENT_PROGRESS:
		return code_check(d, action, PROGRESS_MIN, PROGRESS_MAX);
	case ARGUMENT_DTMF:
	case ARGUMENT_EXPECT_DTMF:
		return dtmf_check(d, action);
	case ARGUMENT_EXPECT_AUDIO:
		return audio_check(d, action->argument);
	case ARGUMENT_PROMPT:
		return wire_prompt_name_valid(action->argument)
			       ? 0
			       : decoder_refuse(d,
						"%s needs the name of a prompt",
						kind->name);
	case ARGUMENT_REJECT:
		return action->argument[0]
			       ? code_check(d, action, REJECT_MIN, REJECT_MAX)
			       : 0;
	}
	return -EINVAL;
}

static int client_action_decode(struct decoder *d, json_t *entry, void *item)
{
	struct wire_client_action *ret = item;
	const struct client_action_kind *kind;
	const char *name;
	size_t mark;
	int err;

	if (!json_is_array(entry) || json_array_size(entry) < 1 ||
	    json_array_size(entry) > 2)
		return decoder_refuse(d, "must be [action, argument]");
	if (!json_is_string(json_array_get(entry, 0)))
		return decoder_refuse_member(d, "0", "must be a string");
	ret->argument = "";
	err = decode_pair_text(d, entry, 0, ARGUMENT_BYTES_MAX, &name);
	if (!err)
		err = decode_pair_text(d, entry, 1, ARGUMENT_BYTES_MAX,
				       &ret->argument);
	if (err)
		return err;
	kind = kind_find(name);
	if (!kind)
		return decoder_refuse_member(
			d, "0", "there is no action \"%.40s\"", name);
	ret->type = (enum wire_script_action)(kind - kinds);
	/* client_actions_check() checks arguments with placeholders */
	if (wire_argument_is_template(ret->argument))
		return 0;
	mark = decoder_enter(d, "/1");
	err = argument_check(d, kind, ret);
	if (!err)
		decoder_leave(d, mark);
	return err;
}

int client_actions_decode(struct decoder *d, json_t *value,
			  const struct wire_client_action **ret,
			  size_t *ret_count)
{
	void *list = NULL;
	int err = decode_pairs(d, value, WIRE_CLIENT_ACTIONS_MAX, sizeof(**ret),
			       client_action_decode, &list, ret_count);

	if (!err)
		*ret = list;
	return err;
}

/* Check an argument with its placeholders replaced, for every call. */
static int template_check(struct decoder *d,
			  const struct wire_client_action *action,
			  const struct wire_fillings *fillings)
{
	const struct client_action_kind *kind = &kinds[action->type];
	char filled[WIRE_ARGUMENT_BYTES];
	const struct wire_client_action one = {.type = action->type,
					       .argument = filled};

	for (unsigned n = 0; n < fillings->count; n++) {
		int len = wire_filling(filled, fillings, action->argument, n);

		if (len == -EINVAL)
			return decoder_refuse(
				d, "has a placeholder that is unknown or names "
				   "a role without users");
		if (len < 0 || len > ARGUMENT_BYTES_MAX)
			return decoder_refuse(d,
					      "is filled in longer than %d "
					      "bytes",
					      ARGUMENT_BYTES_MAX);
		/* the caller of an incoming call is not known yet */
		if (fillings->user_count && argument_check(d, kind, &one))
			return -EINVAL;
	}
	return 0;
}

int client_actions_check(struct decoder *d, const struct wire_job *job,
			 const struct wire_action *a,
			 const struct wire_action *registered)
{
	struct wire_fillings fillings;

	wire_fillings_init(&fillings, job, a, registered);
	for (size_t i = 0; i < a->client_action_count; i++) {
		size_t mark;

		if (!wire_argument_is_template(a->client_actions[i].argument))
			continue;
		mark = decoder_enter(d, "/sipclient_actions/%zu/1", i);
		if (template_check(d, &a->client_actions[i], &fillings))
			return -EINVAL;
		decoder_leave(d, mark);
	}
	return 0;
}
