#include "control/wire/action.h"

#include "base/codec_names.h"
#include "base/str.h"
#include "control/wire/action_members.h"
#include "control/wire/client_actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- SIP options of an action's calls ---- */

#define SESSION_TIMER_S_MAX 86400
#define RING_TIMEOUT_S_MAX  3600
#define REDIRECTS_MAX       20

/* Decode a word; its position in the list of three is the enum value. */
static int word_decode(struct decoder *d, json_t *object, const char *name,
		       const char *const words[4], size_t *ret)
{
	const char *text = NULL;
	int err = decode_text(d, object, name, TEXT_WORD, 16, &text);

	if (err || !text)
		return err;
	if (!decode_word(words, text, ret))
		return decoder_refuse_member(d, name, "must be %s, %s or %s",
					     words[0], words[1], words[2]);
	return 0;
}

/* Read prack, session_timer, session_refresher, late_offer, ring_timeout and
 * max_redirects. @return 0; -EINVAL */
static int call_options_decode(struct decoder *d, json_t *object,
			       struct wire_call_options *ret)
{
	static const char *const pracks[] = {"none", "supported", "required",
					     NULL};
	static const char *const refreshers[] = {"any", "uac", "uas", NULL};
	struct wire_call_options o = {
		.redirects_max = WIRE_REDIRECTS_DEFAULT,
	};
	size_t prack = WIRE_PRACK_NONE;
	size_t refresher = WIRE_REFRESHER_ANY;
	int err;

	err = word_decode(d, object, "prack", pracks, &prack);
	if (!err)
		err = decode_u32(d, object, "session_timer", 0,
				 SESSION_TIMER_S_MAX, &o.session_timer_s);
	/* A refresh is sent after half the interval (RFC 4028 section 10). */
	if (!err && o.session_timer_s == 1)
		err = decoder_refuse_member(d, "session_timer",
					    "must be 0 or at least 2");
	if (!err)
		err = word_decode(d, object, "session_refresher", refreshers,
				  &refresher);
	if (!err)
		err = decode_bool(d, object, "late_offer", &o.late_offer);
	if (!err)
		err = decode_u32(d, object, "ring_timeout", 1,
				 RING_TIMEOUT_S_MAX, &o.ring_timeout_s);
	if (!err)
		err = decode_u32(d, object, "max_redirects", 0, REDIRECTS_MAX,
				 &o.redirects_max);
	if (err)
		return err;
	o.prack = (enum wire_prack)prack;
	o.refresher = (enum wire_refresher)refresher;
	*ret = o;
	return 0;
}

/* ---- the action ---- */

#define DIAL_BYTES_MAX 512
/* RFC 3428 section 8: a MESSAGE request has at most 1300 bytes. */
#define MESSAGE_BYTES_MAX    800
#define CALLS_MAX            1000000
#define CONCURRENT_MAX       10000
#define CALLS_PER_SECOND_MAX 10000.0
#define DELAY_MS_MAX         600000
#define RAMP_UP_S_MAX        86400
#define WAIT_MS_MAX          86400000
#define REGEXPIRE_S_MAX      86400
#define EXPIRES_S_DEFAULT    3600
#define HEADER_BYTES_MAX     2048 /* with placeholders replaced */

static int codec_unknown(struct decoder *d, const char *name)
{
	char names[WIRE_REASON_BYTES];

	(void)codec_names_print(names, sizeof(names), " and ");
	return decoder_refuse_member(d, "audio_codecs",
				     "there is no codec \"%.20s\", but %s",
				     name ? name : "", names);
}

static int codecs_decode(struct decoder *d, json_t *object,
			 struct wire_action *a)
{
	json_t *array;
	int err;

	err = decode_array(d, object, "audio_codecs", WIRE_CODECS_MAX, &array);
	if (err)
		return err;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *name = json_string_value(json_array_get(array, i));
		const struct codec_name *codec =
			name ? codec_name_find(name) : NULL;

		if (!codec)
			return codec_unknown(d, name);
		for (size_t n = 0; n < a->codec_count; n++) {
			if (codec_name_same(codec_name_find(a->codecs[n]),
					    codec))
				return decoder_refuse_member(d, "audio_codecs",
							     "names %s twice",
							     codec->name);
		}
		a->codecs[a->codec_count++] = codec->name;
	}
	return 0;
}

static int lists_decode(struct decoder *d, json_t *object,
			struct wire_action *a)
{
	json_t *value = json_object_get(object, "custom_headers");
	size_t mark;
	int err;

	if (value && !json_is_null(value)) {
		mark = decoder_enter(d, "/custom_headers");
		err = custom_headers_decode(d, value, &a->headers,
					    &a->header_count);
		if (err)
			return err;
		decoder_leave(d, mark);
	}
	value = json_object_get(object, "sipclient_actions");
	if (value && !json_is_null(value)) {
		mark = decoder_enter(d, "/sipclient_actions");
		err = client_actions_decode(d, value, &a->client_actions,
					    &a->client_action_count);
		if (err)
			return err;
		decoder_leave(d, mark);
	}
	return 0;
}

/* Values of custom headers are templates like dial_destination. */
static int headers_check(struct decoder *d, const struct wire_job *job,
			 const struct wire_action *a)
{
	char expanded[HEADER_BYTES_MAX];

	for (size_t i = 0; i < a->header_count; i++) {
		if (wire_expand_dial(expanded, sizeof(expanded),
				     a->headers[i].value, job, 0, "") >= 0)
			continue;
		decoder_enter(d, "/custom_headers/%zu/1", i);
		return decoder_refuse(
			d,
			"the value of %s has a placeholder that is unknown or names a role without users",
			a->headers[i].name);
	}
	return 0;
}

static int duration_decode(struct decoder *d, json_t *object,
			   struct wire_duration *ret)
{
	json_t *value = json_object_get(object, "call_duration");
	char number[64];
	const char *text = json_string_value(value);

	if (!value || json_is_null(value))
		return 0;
	if (json_is_number(value)) {
		snprintf(number, sizeof(number), "%.17g",
			 json_number_value(value));
		text = number;
	}
	if (!text || wire_duration_parse(text, ret))
		return decoder_refuse_member(
			d, "call_duration",
			"must be seconds or a distribution (uniform:a,b exponential:mean normal:mean,sd) within a day");
	return 0;
}

static int agents_decode(struct decoder *d, json_t *object,
			 struct wire_agents *ret)
{
	json_t *value = json_object_get(object, "agents");

	*ret = (struct wire_agents){1, 1};
	if (!value || json_is_null(value) || wire_agents_parse(ret, value) == 0)
		return 0;
	return decoder_refuse_member(d, "agents",
				     "must be a number of agents from 1 to %u, "
				     "or the least and the most, 2-%u",
				     WIRE_SHARDS_MAX, WIRE_SHARDS_MAX);
}

static int dial_decode(struct decoder *d, json_t *object,
		       const struct wire_job *job, struct wire_action *a)
{
	static const char name[] = "dial_destination";
	char expanded[DIAL_BYTES_MAX];
	int err = decode_text(d, object, name, TEXT_LINE, DIAL_BYTES_MAX - 1,
			      &a->dial_destination);

	if (err || (!a->dial_destination &&
		    (a->type != WIRE_ACTION_CALL || wire_sipp_asked(object))))
		return err;
	if (!a->dial_destination)
		return decoder_refuse_member(d, name, "is missing");
	err = wire_expand_dial(expanded, sizeof(expanded), a->dial_destination,
			       job, 0, "");
	if (err == -EINVAL)
		return decoder_refuse_member(
			d, name,
			"has a placeholder that is unknown or names a role without users");
	return 0;
}

static int numbers_decode(struct decoder *d, json_t *object,
			  struct wire_action *a)
{
	int err = decode_u32(d, object, "regexpire", 1, REGEXPIRE_S_MAX,
			     &a->regexpire_s);

	if (!err)
		err = decode_u16(d, object, "ptime", 10, 120, &a->ptime_ms);
	if (!err)
		err = decode_u32(d, object, "answer_delay", 0, DELAY_MS_MAX,
				 &a->answer_delay_ms);
	if (!err)
		err = decode_bool(d, object, "ring_only", &a->ring_only);
	if (!err)
		err = decode_bool(d, object, "accept_refer", &a->accept_refer);
	if (!err)
		err = decode_u16(d, object, "answer_code", 200, 699,
				 &a->answer_code);
	if (!err && a->answer_code != 200 && a->answer_code < 300)
		err = decoder_refuse_member(d, "answer_code",
					    "must be 200 or from 300 to 699");
	if (!err)
		err = decode_bool(d, object, "early_media", &a->early_media);
	if (!err)
		err = decode_u32(d, object, "max_total_calls", 1, CALLS_MAX,
				 &a->max_total_calls);
	if (!err)
		err = decode_u32(d, object, "max_concurrent_calls", 1,
				 CONCURRENT_MAX, &a->max_concurrent_calls);
	if (!err)
		err = decode_double(d, object, "calls_per_second", 0.001,
				    CALLS_PER_SECOND_MAX, &a->calls_per_second);
	if (!err)
		err = decode_u32(d, object, "ramp_up", 0, RAMP_UP_S_MAX,
				 &a->ramp_up_s);
	if (!err)
		err = decode_u32(d, object, "wait_ms", 0, WAIT_MS_MAX,
				 &a->wait_ms);
	if (!err)
		err = decode_u32(d, object, "wait_calls", 1, CALLS_MAX,
				 &a->wait_calls);
	if (!err)
		err = agents_decode(d, object, &a->agents);
	if (!err)
		err = decode_bool(d, object, "allow_reduced",
				  &a->allow_reduced);
	return err;
}

#define ACTION_NAME(type, name) #name,
static const char *const action_names[] = {WIRE_ACTIONS(ACTION_NAME) NULL};

const char *wire_action_name(enum wire_action_type type)
{
	return action_names[type];
}

static int type_unknown(struct decoder *d, const char *text)
{
	char names[WIRE_REASON_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; action_names[i]; i++) {
		const char *before = i == 0                ? ""
				     : action_names[i + 1] ? ", "
							   : " and ";
		int n = str_print(names + used, sizeof(names) - used, "%s%s",
				  before, action_names[i]);

		used += n > 0 ? (size_t)n : 0;
	}
	return decoder_refuse_member(d, "type",
				     "there is no action type \"%s\", but %s",
				     text, names);
}

static int type_decode(struct decoder *d, json_t *object,
		       enum wire_action_type *ret)
{
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "type", TEXT_LINE, 32, &text);

	if (err)
		return err;
	if (!text)
		return decoder_refuse_member(d, "type", "is missing");
	if (!decode_word(action_names, text, &i))
		return type_unknown(d, text);
	*ret = (enum wire_action_type)i;
	return 0;
}

static int required_check(struct decoder *d, const struct wire_action *a)
{
	bool redirects = a->answer_code / 100 == 3;
	bool calls = a->type == WIRE_ACTION_CALL ||
		     a->type == WIRE_ACTION_MESSAGE ||
		     a->type == WIRE_ACTION_OPTIONS ||
		     a->type == WIRE_ACTION_SUBSCRIBE ||
		     a->type == WIRE_ACTION_PUBLISH;

	if (a->type == WIRE_ACTION_REGISTER && a->credential_count == 0)
		return decoder_refuse_member(d, "credentials",
					     "is missing or empty");
	if ((calls || a->type == WIRE_ACTION_REGISTER) && a->host_count == 0)
		return decoder_refuse_member(d, "target",
					     "is missing or has no hosts");
	if (a->type == WIRE_ACTION_MESSAGE && !a->message)
		return decoder_refuse_member(d, "message", "is missing");
	if (redirects && !a->answer_contact)
		return decoder_refuse_member(
			d, "answer_contact",
			"is missing, and answer_code %u needs it",
			a->answer_code);
	if (!redirects && a->answer_contact)
		return decoder_refuse_member(
			d, "answer_contact",
			"goes with an answer_code from 300 to 399 only");
	return 0;
}

/* Refuse members that are valid alone but not together. */
static int members_check(struct decoder *d, const struct wire_job *job,
			 const struct wire_action *registered,
			 const struct wire_action *a)
{
	int err = client_actions_check(d, job, a, registered);

	if (!err)
		err = wire_audio_check(d, a);
	if (!err)
		err = wire_security_check(d, a);
	return err ? err : wire_effect_check(d, a);
}

int wire_action_decode(struct decoder *d, json_t *object, size_t index,
		       const struct wire_job *job,
		       const struct wire_action *registered,
		       struct wire_action *ret)
{
	struct wire_action a = {
		.regexpire_s = 3600,
		.tls = {.verify = true},
		.ptime_ms = 20,
		.answer_code = 200,
		.max_total_calls = 1,
		.max_concurrent_calls = 1,
		.calls_per_second = 1,
		.duration = {.kind = WIRE_DURATION_FIXED, .a_s = 10},
		.expires_s = EXPIRES_S_DEFAULT,
	};
	uint32_t position = (uint32_t)index;
	int err;

	if (!json_is_object(object))
		return decoder_refuse(d, "must be an object");
	err = type_decode(d, object, &a.type);
	/* An answer action has no limits unless the test sets some. */
	if (a.type == WIRE_ACTION_ANSWER) {
		a.max_total_calls = 0;
		a.max_concurrent_calls = 0;
		a.duration.a_s = 0;
	}
	/* The number of concurrent registrations is limited, not their rate. */
	if (a.type == WIRE_ACTION_REGISTER)
		a.calls_per_second = 0;
	if (!err)
		err = decode_u32(d, object, "index", 0, 1000, &position);
	if (!err)
		err = wire_credentials_decode(d, object, "credentials",
					      &a.credentials,
					      &a.credential_count);
	if (!err)
		err = wire_target_decode(d, object, &a);
	if (!err)
		err = numbers_decode(d, object, &a);
	if (!err)
		err = codecs_decode(d, object, &a);
	if (!err)
		err = wire_audio_decode(d, object, &a);
	if (!err)
		err = call_options_decode(d, object, &a.call_options);
	if (!err)
		err = wire_security_decode(d, object, &a);
	if (!err)
		err = wire_nat_decode(d, object, &a);
	if (!err)
		err = lists_decode(d, object, &a);
	if (!err)
		err = headers_check(d, job, &a);
	if (!err)
		err = wire_notification_decode(d, object, &a);
	if (!err)
		err = wire_challenge_decode(d, object, &a.challenge);
	if (!err)
		err = duration_decode(d, object, &a.duration);
	if (!err)
		err = dial_decode(d, object, job, &a);
	if (!err)
		err = decode_text(d, object, "message", TEXT_LINE,
				  MESSAGE_BYTES_MAX, &a.message);
	if (!err)
		err = decode_text(d, object, "answer_contact", TEXT_LINE,
				  DIAL_BYTES_MAX - 1, &a.answer_contact);
	if (err)
		return err;
	wire_target_inherit(&a, registered);
	err = wire_stream_decode(d, object, &a);
	if (!err)
		err = members_check(d, job, registered, &a);
	if (!err)
		err = wire_client_decode(d, object, registered, &a);
	if (!err)
		err = required_check(d, &a);
	if (err)
		return err;
	a.index = position;
	*ret = a;
	return 0;
}
