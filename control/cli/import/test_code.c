#include "control/cli/import/test_code.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/codec_names.h"
#include "base/str.h"
#include "control/cli/import/anonymise.h"
#include "control/cli/import/custom_headers.h"
#include "control/cli/import/script.h"

#define PROJECT         "Imported calls"
#define SIP_PORT        5060
#define NAME_BYTES      200 /* of a record */
#define DURATION_MORE_S 30  /* of the call beyond what its script does */
#define PTIME_MIN_MS    10
#define PTIME_MAX_MS    120
/* Seconds, of a call that was captured as failed, if it is established now. */
#define DURATION_FAILED "2"
/* What a condition allows beyond what was seen. */
#define DELAY_FACTOR  2
#define DELAY_MORE_MS 1000
#define LOSS_MORE_PCT 0.5
#define MOS_LESS      0.2
#define MOS_PACKETS   50 /* fewer give no figure to hold on to */

struct target {
	char host[SIP_TEXT_BYTES];
	uint16_t port;
	const char *transport; /* static */
};

struct maker {
	const struct dialogs *dialogs;
	const struct dialogs_call *call;
	const struct test_code_options *options;
	struct test_code_summary seen;
	struct anonymise *anonymise;
	struct target target;
	struct sip_audio offer, answer;
	bool has_offer, has_answer;
	bool registers, has_password;
	char user[SIP_TEXT_BYTES]; /* of the caller, as it is written */
	char peer[SIP_TEXT_BYTES]; /* of the callee */
	char name[NAME_BYTES];
	json_t *notes;
};

/* ---- what was seen ---- */

static bool initial_invite(const struct dialogs_message *m)
{
	return !m->status && m->of_caller && !m->within &&
	       strcmp(m->method, "INVITE") == 0;
}

static bool has_credentials(const char *text)
{
	char value[SIP_TEXT_BYTES];

	return sip_text_header(text, "Authorization", 0, value) ||
	       sip_text_header(text, "Proxy-Authorization", 0, value) ||
	       strcasestr(text, "\nAuthorization:") ||
	       strcasestr(text, "\nProxy-Authorization:");
}

static bool answers_initial(const struct test_code_summary *s,
			    const struct dialogs_message *m)
{
	return m->status && m->of_caller && s->invite &&
	       m->cseq <= s->invite->cseq && strcmp(m->method, "INVITE") == 0;
}

static void summarise_message(struct test_code_summary *s,
			      const struct dialogs_message *m)
{
	bool bye = !m->status && strcmp(m->method, "BYE") == 0;
	bool cancel =
		!m->status && m->of_caller && strcmp(m->method, "CANCEL") == 0;

	if (initial_invite(m)) {
		s->first = s->first ? s->first : m;
		s->invite_ns = s->invite_ns ? s->invite_ns : m->ns;
		s->challenged |= has_credentials(m->text);
		if (!s->final || s->final->status >= 300)
			s->invite = m;
	} else if (answers_initial(s, m)) {
		if (m->status >= 180 && m->status < 200 && !s->ringing_ns)
			s->ringing_ns = m->ns;
		if (m->status >= 200 && (!s->final || s->final->status >= 300))
			s->final = m;
		if (s->final == m && m->status < 300)
			s->established_ns = m->ns;
	} else if ((bye || (cancel && !s->established_ns)) && !s->ended) {
		s->ended = true;
		s->by_caller = m->of_caller;
		s->end_ns = m->ns;
	}
}

static void read_user(const char *uri, struct sip_name *ret)
{
	char text[SIP_TEXT_BYTES];
	size_t n = strcspn(uri, " \r\n");

	if (n < sizeof(text)) {
		memcpy(text, uri, n);
		text[n] = '\0';
		sip_text_name(text, ret);
	}
}

int test_code_summarise(const struct dialogs_call *call,
			struct test_code_summary *ret)
{
	struct test_code_summary s = {.invite_ns = 0};
	char from[SIP_TEXT_BYTES];
	const char *uri;

	for (size_t i = 0; i < call->messages; i++)
		summarise_message(&s, &call->message[i]);
	if (!s.invite || !sip_text_header(s.invite->text, "From", 0, from) ||
	    !sip_text_name(from, &s.from))
		return -EBADMSG;
	/* contacts of a 3xx come from the target */
	uri = strchr(s.first->text, ' ');
	if (uri)
		read_user(uri + 1, &s.to);
	if (!s.to.host[0] && !s.to.user[0])
		return -EBADMSG;
	if (!s.ended)
		s.end_ns = call->last_ns;
	s.code = s.final ? s.final->status : 0;
	*ret = s;
	return 0;
}

/* ---- target and accounts ---- */

static bool is_address(const char *host)
{
	uint8_t address[16];

	return inet_pton(AF_INET, host, address) == 1 ||
	       inet_pton(AF_INET6, host, address) == 1;
}

static int read_target(struct maker *k)
{
	const char *given = k->options->target;
	struct target *t = &k->target;
	char text[ADDRESS_TEXT_BYTES];
	struct sip_name n;

	t->transport = "udp";
	if (given) {
		if (!sip_text_name(given, &n) || !n.host[0])
			return -EINVAL;
		str_copy(t->host, sizeof(t->host), n.host);
		t->port = n.port;
		if (strcasestr(given, "transport=tcp"))
			t->transport = "tcp";
		else if (strcasestr(given, "transport=tls") ||
			 strncasecmp(given, "sips:", 5) == 0)
			t->transport = "tls";
		return 0;
	}
	if (k->call->has_address) {
		address_text(&k->call->dst, text);
		str_copy(t->host, sizeof(t->host), text);
		t->port = k->call->dport;
	} else {
		str_copy(t->host, sizeof(t->host), k->seen.to.host);
		t->port = k->seen.to.port;
		script_note(k->notes,
			    "The address of the target is not known; the host "
			    "of the request URI stands in its place.");
	}
	if (k->call->tcp)
		t->transport = "tcp";
	str_copy(t->host, sizeof(t->host),
		 anonymise_text(k->anonymise, ANONYMISE_HOST, t->host));
	if (anonymise_is_on(k->anonymise))
		script_note(k->notes,
			    "The address of the target is anonymised: give it "
			    "with --target, or write it into the file.");
	return 0;
}

static bool is_name(const char *host)
{
	return host[0] && !is_address(host);
}

/* The domain of the accounts: of the caller, else of the callee.
 * @return NULL: both have addresses */
static const char *domain(const struct maker *k)
{
	const struct test_code_summary *s = &k->seen;

	return is_name(s->from.host) ? s->from.host
	       : is_name(s->to.host) ? s->to.host
				     : NULL;
}

/* Whether the request URI has the address to which it was sent. */
static bool names_target(const struct maker *k)
{
	char text[ADDRESS_TEXT_BYTES];

	if (!k->call->has_address)
		return true;
	address_text(&k->call->dst, text);
	return strcasecmp(text, k->seen.to.host) == 0;
}

static json_t *target_record(struct maker *k)
{
	json_t *host = json_pack("{s:s, s:s}", "host", k->target.host,
				 "transport", k->target.transport);
	const char *of_accounts = domain(k);
	json_t *target;

	if (k->target.port)
		json_object_set_new(host, "port", json_integer(k->target.port));
	target = json_pack("{s:s++, s:[o]}", "name", "Target of ", k->name, "",
			   "hosts", host);
	if (of_accounts)
		json_object_set_new(
			target, "domain",
			json_string(anonymise_text(k->anonymise, ANONYMISE_HOST,
						   of_accounts)));
	return target;
}

/* "CALLER_1001": the variable with the password. */
static void variable_of(const char *user, char ret[static SIP_TEXT_BYTES])
{
	str_print(ret, SIP_TEXT_BYTES, "CALLER_%.200s", user);
	for (char *c = ret; *c; c++)
		*c = isalnum((unsigned char)*c)
			     ? (char)toupper((unsigned char)*c)
			     : '_';
}

/* The user name of Authorization, if it is another than the user. */
static void add_auth_user(struct maker *k, json_t *credential)
{
	const char *text = strcasestr(k->seen.invite->text, "Authorization:");
	const char *at = text ? strstr(text, "username=\"") : NULL;
	char user[SIP_TEXT_BYTES];
	size_t n = at ? strcspn(at + 10, "\"\r\n") : 0;

	if (n == 0 || n >= sizeof(user))
		return;
	memcpy(user, at + 10, n);
	user[n] = '\0';
	if (strcmp(user, k->seen.from.user) != 0)
		json_object_set_new(
			credential, "auth_username",
			json_string(anonymise_text(k->anonymise, ANONYMISE_USER,
						   user)));
}

static json_t *credential_record(struct maker *k)
{
	json_t *credential = json_pack("{s:s}", "username", k->user);
	char variable[SIP_TEXT_BYTES];

	if (k->seen.from.display[0])
		json_object_set_new(
			credential, "display_name",
			json_string(anonymise_text(k->anonymise, ANONYMISE_NAME,
						   k->seen.from.display)));
	add_auth_user(k, credential);
	if (k->has_password) {
		variable_of(k->user, variable);
		json_object_set_new(credential, "password",
				    json_pack("{s:s}", "env", variable));
	}
	return json_pack("{s:s++, s:[o]}", "name", "Caller of ", k->name, "",
			 "credentials", credential);
}

/* ---- the call action ---- */

/* The user alone, if its domain is that of the accounts, or the target. */
static void set_dial(struct maker *k, json_t *action)
{
	const struct sip_name *to = &k->seen.to;
	const char *of_accounts = domain(k), *host = k->target.host;
	uint16_t port = k->target.port;
	char uri[3 * SIP_TEXT_BYTES];

	if (k->peer[0] &&
	    (!to->host[0] ||
	     (of_accounts ? strcasecmp(of_accounts, to->host) == 0
			  : names_target(k) || k->options->target))) {
		json_object_set_new(action, "dial_destination",
				    json_string(k->peer));
		return;
	}
	if (k->peer[0] && !names_target(k)) {
		host = anonymise_text(k->anonymise, ANONYMISE_HOST, to->host);
		port = to->port;
	}
	str_print(uri, sizeof(uri),
		  strchr(host, ':') ? "sip:%s%s[%s]:%u" : "sip:%s%s%s:%u",
		  k->peer, k->peer[0] ? "@" : "", host, port ? port : SIP_PORT);
	if (!port && is_name(host))
		*strrchr(uri, ':') = '\0';
	json_object_set_new(action, "dial_destination", json_string(uri));
}

static void set_codecs(struct maker *k, json_t *action)
{
	json_t *codecs = json_array();

	for (size_t i = 0; i < k->offer.codecs; i++) {
		const char *name = k->offer.codec[i].name;
		const struct codec_name *known = codec_name_find(name);

		if (known)
			json_array_append_new(codecs, json_string(known->name));
		else
			script_note(k->notes,
				    "Codec %s was offered; Offhook has no such "
				    "codec.",
				    name);
	}
	if (json_array_size(codecs))
		json_object_set(action, "audio_codecs", codecs);
	json_decref(codecs);
	if (k->offer.ptime_ms >= PTIME_MIN_MS &&
	    k->offer.ptime_ms <= PTIME_MAX_MS && k->offer.ptime_ms != 20)
		json_object_set_new(action, "ptime",
				    json_integer(k->offer.ptime_ms));
}

/* An offer may leave the callee a choice: the answer says what was used. */
static enum sip_text_keys keys_used(struct maker *k)
{
	if (!k->has_answer || k->answer.keys == k->offer.keys)
		return k->offer.keys;
	if (k->answer.keys != SIP_TEXT_PLAIN)
		return k->answer.keys;
	if (k->offer.keys == SIP_TEXT_SDES)
		return SIP_TEXT_SDES;
	script_note(k->notes, "The caller offered encryption and the callee "
			      "answered without; the test does not offer it.");
	return SIP_TEXT_PLAIN;
}

static void set_media(struct maker *k, json_t *action)
{
	static const char *const keys[] = {
		[SIP_TEXT_SDES] = "sdes",
		[SIP_TEXT_SDES_MANDATORY] = "sdes-mandatory",
		[SIP_TEXT_DTLS] = "dtls",
	};
	enum sip_text_keys used;

	if (!k->has_offer) {
		json_object_set_new(action, "late_offer", json_true());
		return;
	}
	set_codecs(k, action);
	used = keys_used(k);
	if (used != SIP_TEXT_PLAIN)
		json_object_set_new(action, "media_encryption",
				    json_string(keys[used]));
	if (k->offer.ice)
		json_object_set_new(action, "media_nat", json_string("ice"));
	if (k->offer.other_media)
		script_note(k->notes, "Media other than the first audio "
				      "stream are not carried over.");
}

static void set_extensions(struct maker *k, json_t *action)
{
	const char *text = k->seen.invite->text;
	char value[SIP_TEXT_BYTES];
	unsigned long timer;

	if (sip_text_header(text, "Require", 0, value) &&
	    strcasestr(value, "100rel"))
		json_object_set_new(action, "prack", json_string("required"));
	else if (sip_text_header(text, "Supported", 0, value) &&
		 strcasestr(value, "100rel"))
		json_object_set_new(action, "prack", json_string("supported"));
	if (!sip_text_header(text, "Session-Expires", 0, value))
		return;
	timer = strtoul(value, NULL, 10);
	if (timer >= 2 && timer <= 86400)
		json_object_set_new(action, "session_timer",
				    json_integer((json_int_t)timer));
}

static void set_headers(struct maker *k, json_t *action)
{
	json_t *list = custom_headers_make(k->seen.invite->text, k->anonymise,
					   k->notes);

	if (json_array_size(list))
		json_object_set(action, "custom_headers", list);
	json_decref(list);
}

static void set_duration(struct maker *k, json_t *action)
{
	const struct test_code_summary *s = &k->seen;
	char text[STR_DECIMAL_BYTES];
	int64_t ns = s->end_ns - s->established_ns;

	if (!s->established_ns) {
		json_object_set_new(action, "call_duration",
				    json_string(DURATION_FAILED));
		return;
	}
	if (!s->ended)
		script_note(k->notes,
			    "The capture ends before the call does; the test "
			    "hangs up then.");
	json_object_set_new(
		action, "call_duration",
		json_string(str_decimal(
			text, (uint64_t)(ns / NS_PER_S + DURATION_MORE_S))));
}

static void add_own(struct maker *k, json_t *action)
{
	json_object_set_new(action, "role", json_string("caller"));
	json_object_set_new(action, "credential_pool",
			    json_pack("s++", "Caller of ", k->name, ""));
	json_object_set_new(action, "target_pool",
			    json_pack("s++", "Target of ", k->name, ""));
}

static json_t *call_action(struct maker *k, const struct script *script)
{
	json_t *action = json_pack("{s:s}", "type", "call");

	add_own(k, action);
	set_dial(k, action);
	set_duration(k, action);
	set_media(k, action);
	set_extensions(k, action);
	set_headers(k, action);
	if (script->dtmf_mode && strcmp(script->dtmf_mode, "rtpevent") != 0)
		json_object_set_new(action, "dtmf_mode",
				    json_string(script->dtmf_mode));
	if (json_array_size(script->actions))
		json_object_set(action, "sipclient_actions", script->actions);
	return action;
}

/* ---- conditions ---- */

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
static void add_codec(struct maker *k, json_t *list)
{
	const struct sip_codec *c = &k->answer.codec[0];
	char value[64];

	if (!k->has_answer || !k->answer.codecs)
		return;
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

static void add_media(struct maker *k, json_t *list)
{
	const struct dialogs_media *m = &k->call->media;
	char value[32];

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

static void add_delay(struct maker *k, json_t *list)
{
	int64_t ns = k->seen.ringing_ns ? k->seen.ringing_ns
					: k->seen.established_ns;
	int64_t ms = (ns - k->seen.invite_ns) / NS_PER_MS;
	char value[STR_DECIMAL_BYTES];

	str_decimal(value,
		    (uint64_t)(ms > 0 ? ms : 0) * DELAY_FACTOR + DELAY_MORE_MS);
	add_condition(list, "postdial-delay-conditions",
		      json_pack("{s:s, s:s}", "type", "le", "value", value));
}

static void add_failure(struct maker *k, json_t *list)
{
	char method[STR_DECIMAL_BYTES], value[40];

	if (!k->options->expect_failure)
		return;
	str_decimal(method, k->seen.code);
	str_print(value, sizeof(value), "SIP/2.0 %u", k->seen.code);
	add_condition(
		list, "sip-conditions",
		sip_entry(method, "INVITE", "message", "startswith", value));
}

static json_t *conditions(struct maker *k, const struct script *script)
{
	json_t *list = json_array();
	char digits[DIALOGS_DIGITS_MAX + 1];

	if (!k->seen.established_ns) {
		add_failure(k, list);
		return list;
	}
	add_delay(k, list);
	add_codec(k, list);
	add_media(k, list);
	if (script->received[0]) {
		str_copy(digits, sizeof(digits), script->received);
		anonymise_digits(k->anonymise, digits);
		add_condition(
			list, "dtmf-conditions",
			json_pack("{s:s, s:s}", "type", "is", "value", digits));
	}
	if (k->seen.ended && !k->seen.by_caller)
		add_condition(list, "sip-conditions",
			      sip_entry("BYE", "BYE", "message", "startswith",
					"BYE "));
	return list;
}

/* ---- the document ---- */

static void note_failure(struct maker *k)
{
	const struct test_code_summary *s = &k->seen;

	if (s->established_ns)
		return;
	if (!s->final && !s->ended)
		script_note(k->notes, "The capture has no final response to "
				      "the INVITE.");
	if (k->options->expect_failure && s->code)
		script_note(k->notes,
			    "The call failed with %u; the test passes if it "
			    "does so again.",
			    s->code);
	else if (s->code)
		script_note(k->notes,
			    "The call failed with %u; the test expects a call "
			    "that is established, so it fails as long as the "
			    "call does. --expect-failure makes it pass then.",
			    s->code);
}

static json_t *description(const struct maker *k)
{
	const struct test_code_summary *s = &k->seen;
	char text[160];

	if (s->established_ns)
		str_print(text, sizeof(text),
			  "Captured: answered with %u after %.1f s, lasted "
			  "%.1f s, ended by the %s.",
			  s->code,
			  (double)(s->established_ns - s->invite_ns) / 1e9,
			  (double)(s->end_ns - s->established_ns) / 1e9,
			  !s->ended      ? "capture"
			  : s->by_caller ? "caller"
					 : "callee");
	else
		str_print(text, sizeof(text),
			  "Captured: not established, final response %u.",
			  s->code);
	return json_string(text);
}

static json_t *test_record(struct maker *k, const struct script *script)
{
	json_t *step = json_array(), *action;

	if (k->registers) {
		action = json_pack("{s:s}", "type", "register");
		add_own(k, action);
		json_array_append_new(step, action);
	}
	json_array_append_new(step, call_action(k, script));
	return json_pack("{s:s, s:s, s:s, s:o, s:[o], s:o}", "name", k->name,
			 "project", PROJECT, "agent_pool",
			 k->options->agent_pool, "description", description(k),
			 "steps", step, "conditions", conditions(k, script));
}

static void set_names(struct maker *k)
{
	const struct test_code_summary *s = &k->seen;

	str_copy(k->user, sizeof(k->user),
		 s->from.user[0] ? anonymise_text(k->anonymise, ANONYMISE_USER,
						  s->from.user)
				 : "caller");
	str_copy(k->peer, sizeof(k->peer),
		 anonymise_text(k->anonymise, ANONYMISE_USER, s->to.user));
	if (k->options->name)
		str_print(k->name, sizeof(k->name) - 20, "%s",
			  k->options->name);
	else
		str_print(k->name, sizeof(k->name) - 20,
			  "Call from %.70s to %.70s", k->user,
			  k->peer[0] ? k->peer : k->target.host);
	str_utf8_repair(k->name);
}

static void read_call(struct maker *k)
{
	const struct test_code_summary *s = &k->seen;

	k->has_offer = sip_text_audio(s->invite->text, &k->offer);
	k->has_answer = s->established_ns && k->has_offer &&
			sip_text_audio(s->final->text, &k->answer);
	k->registers =
		dialogs_registered(k->dialogs, s->from.user, &k->has_password);
	k->has_password |= s->challenged;
	if (k->call->left_out)
		script_note(k->notes, "Messages or digits of the call above a "
				      "ceiling are not carried over.");
	if (!k->registers)
		script_note(k->notes,
			    "The capture has no registration of the caller: "
			    "the test does not register.");
}

int test_code_make(const struct dialogs *d, const struct dialogs_call *call,
		   const struct test_code_options *options, json_t **ret,
		   json_t **notes)
{
	struct maker k = {.dialogs = d, .call = call, .options = options};
	struct script script;
	int err = test_code_summarise(call, &k.seen);

	if (err)
		return err;
	k.notes = json_array();
	err = anonymise_new(&k.anonymise, options->anonymise ? call : NULL);
	if (!err)
		err = read_target(&k);
	if (err)
		goto out;
	read_call(&k);
	set_names(&k);
	err = script_make(call, &k.seen, k.anonymise, k.target.host, k.notes,
			  &script);
	if (err)
		goto out;
	note_failure(&k);
	*ret = json_pack(
		"{s:[{s:s}], s:[o], s:[o], s:[{s:s}], s:[o]}", "projects",
		"name", PROJECT, "targets", target_record(&k),
		"credential_pools", credential_record(&k), "agent_pools",
		"name", options->agent_pool, "tests", test_record(&k, &script));
	json_decref(script.actions);
	err = *ret ? 0 : -ENOMEM;
out:
	anonymise_free(k.anonymise);
	if (err)
		json_decref(k.notes);
	else
		*notes = k.notes;
	return err;
}
