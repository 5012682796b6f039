#include "control/import/conditions.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/codec_names.h"
#include "base/str.h"
#include "control/import/script.h"

/* What a condition allows beyond what was seen. */
#define DELAY_FACTOR  2
#define DELAY_MORE_MS 1000
#define LOSS_MORE_PCT 0.5
#define MOS_LESS      0.2
#define MOS_PACKETS   50 /* fewer give no figure to hold on to */

/* Add a condition to the record of its type, which may occur once. */
static void add_condition(json_t *list, const char *suffix, json_t *entry)
{
	json_t *record;
	char type[40];
	size_t i;

	str_print(type, sizeof(type), "caller-%s", suffix);
	json_array_foreach(list, i, record)
	{
		const char *known = json_string_value(
			json_object_get(record, "condition_type"));

		if (strcmp(known, type) == 0) {
			json_array_append_new(
				json_object_get(record, "conditions"), entry);
			return;
		}
	}
	json_array_append_new(list, json_pack("{s:s, s:s, s:[o]}", "role",
					      "caller", "condition_type", type,
					      "conditions", entry));
}

static json_t *sip_entry(const char *method, const char *cseq,
			 const char *field, const char *type, const char *value)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "direction",
			 "received", "cseq", cseq, "method", method, "field",
			 field, "type", type, "value", value);
}

/* The codec of the answer: its payload type if RFC 3551 gives it, else its name. */
static void add_codec(const struct conditions_params *k, json_t *list)
{
	const struct sip_codec *c;
	char value[64];

	if (!k->answer || !k->answer->codecs)
		return;
	c = &k->answer->codec[0];
	if (!codec_name_find(c->name)) {
		script_note(k->notes,
			    "The call used %s, which Offhook does not have.",
			    c->name);
		return;
	}
	if (c->pt < 35)
		str_print(value, sizeof(value), "AVP %u", c->pt);
	else
		str_print(value, sizeof(value), "%.*s/",
			  (int)strcspn(c->name, "/"), c->name);
	add_condition(list, "sip-conditions",
		      sip_entry("200", "INVITE", "sdp", "has", value));
}

static void add_media(const struct conditions_params *k, json_t *list)
{
	const struct dialogs_media *m = &k->call->media;
	char value[32];

	if ((!m->seen || m->packets < MOS_PACKETS) && m->streams_max) {
		script_note(k->notes,
			    "The first %zu RTP streams of the capture are "
			    "measured, and none of them is one for the caller "
			    "that could be: there is no condition on MOS and "
			    "loss.",
			    m->streams_max);
		return;
	}
	if (!m->seen || m->packets < MOS_PACKETS) {
		script_note(k->notes,
			    "The capture has no RTP for the caller that could "
			    "be measured: there is no condition on MOS and "
			    "loss.");
		return;
	}
	if (m->has_mos && m->mos - MOS_LESS >= 1) {
		str_print(value, sizeof(value), "%.1f",
			  floor((m->mos - MOS_LESS) * 10) / 10);
		add_condition(
			list, "mos-conditions",
			json_pack("{s:s, s:s}", "type", "ge", "value", value));
	}
	str_print(value, sizeof(value), "%.1f",
		  fmin(100, ceil((m->loss_pct + LOSS_MORE_PCT) * 10) / 10));
	add_condition(list, "loss-conditions",
		      json_pack("{s:s, s:s}", "type", "le", "value", value));
}

static void add_delay(const struct conditions_params *k, json_t *list)
{
	int64_t ns = k->summary->ringing_ns ? k->summary->ringing_ns
					    : k->summary->established_ns;
	int64_t ms = (ns - k->summary->invite_ns) / NS_PER_MS;
	char value[STR_DECIMAL_BYTES];

	str_decimal(value,
		    (uint64_t)(ms > 0 ? ms : 0) * DELAY_FACTOR + DELAY_MORE_MS);
	add_condition(list, "postdial-delay-conditions",
		      json_pack("{s:s, s:s}", "type", "le", "value", value));
}

static void add_failure(const struct conditions_params *k, json_t *list)
{
	char method[STR_DECIMAL_BYTES], value[40];

	if (!k->expect_failure || !k->summary->code)
		return;
	str_decimal(method, k->summary->code);
	str_print(value, sizeof(value), "SIP/2.0 %u", k->summary->code);
	add_condition(
		list, "sip-conditions",
		sip_entry(method, "INVITE", "message", "startswith", value));
}

json_t *conditions_make(const struct conditions_params *k)
{
	json_t *list = json_array();
	char digits[DIALOGS_DIGITS_MAX + 1];

	if (!k->summary->established_ns) {
		add_failure(k, list);
		return list;
	}
	add_delay(k, list);
	add_codec(k, list);
	add_media(k, list);
	if (k->received[0]) {
		str_copy(digits, sizeof(digits), k->received);
		anonymise_digits(k->anonymise, digits);
		add_condition(
			list, "dtmf-conditions",
			json_pack("{s:s, s:s}", "type", "is", "value", digits));
	}
	if (k->summary->ended && !k->summary->by_caller)
		add_condition(list, "sip-conditions",
			      sip_entry("BYE", "BYE", "message", "startswith",
					"BYE "));
	return list;
}
