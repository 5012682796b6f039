#include "control/import/test_code.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/codec_names.h"
#include "base/str.h"
#include "control/import/anonymise.h"
#include "control/import/call_summary.h"
#include "control/import/conditions.h"
#include "control/import/custom_headers.h"
#include "control/import/script.h"

#define PROJECT         "Imported calls"
#define SIP_PORT        5060
#define NAME_BYTES      200 /* of a record */
#define DURATION_MORE_S 30  /* of the call beyond what its script does */
#define PTIME_MIN_MS    10
#define PTIME_MAX_MS    120
/* Seconds, of a call that was captured as failed, if it is established now. */
#define DURATION_FAILED "2"

struct target {
	char host[SIP_TEXT_BYTES];
	uint16_t port;
	const char *transport; /* static */
};

struct maker {
	const struct dialogs *dialogs;
	const struct dialogs_call *call;
	const struct test_code_options *options;
	struct call_summary seen;
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
			    "The address of the target is anonymised: give the "
			    "real one.");
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
	const struct call_summary *s = &k->seen;

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

/* An offer may name a codec twice, with parameters that a test does not have. */
static bool is_listed(const json_t *codecs, const char *name)
{
	const json_t *listed;
	size_t i;

	json_array_foreach(codecs, i, listed)
	{
		if (strcmp(json_string_value(listed), name) == 0)
			return true;
	}
	return false;
}

static void set_codecs(struct maker *k, json_t *action)
{
	json_t *codecs = json_array();

	for (size_t i = 0; i < k->offer.codecs; i++) {
		const char *name = k->offer.codec[i].name;
		const struct codec_name *known = codec_name_find(name);

		if (known && !is_listed(codecs, known->name))
			json_array_append_new(codecs, json_string(known->name));
		if (!known)
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

/* Where the offer has several ways of encryption, the answer says which one was
 * used. */
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
	const struct call_summary *s = &k->seen;
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

/* ---- the document ---- */

static void note_failure(struct maker *k)
{
	const struct call_summary *s = &k->seen;

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
			    "call does. With expect-failure it passes then.",
			    s->code);
}

static json_t *description(const struct maker *k)
{
	const struct call_summary *s = &k->seen;
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
	const struct conditions_params wanted = {
		.call = k->call,
		.summary = &k->seen,
		.answer = k->has_answer ? &k->answer : NULL,
		.received = script->received,
		.expect_failure = k->options->expect_failure,
		.anonymise = k->anonymise,
		.notes = k->notes,
	};
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
			 "steps", step, "conditions", conditions_make(&wanted));
}

static bool has_test(const json_t *tests, const char *name)
{
	const json_t *test;
	size_t i;

	json_array_foreach(tests, i, test)
	{
		const char *known =
			json_string_value(json_object_get(test, "name"));

		if (known && strcmp(known, name) == 0)
			return true;
	}
	return false;
}

/* @param tests  those before, whose names are taken */
static void set_names(struct maker *k, const json_t *tests)
{
	const struct call_summary *s = &k->seen;
	char name[NAME_BYTES];

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
	str_copy(name, sizeof(name), k->name);
	for (unsigned n = 2; has_test(tests, k->name); n++)
		str_print(k->name, sizeof(k->name), "%s (%u)", name, n);
}

static void read_call(struct maker *k)
{
	const struct call_summary *s = &k->seen;

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

static json_t *document_new(const struct test_code_options *options)
{
	return json_pack("{s:[{s:s}], s:[], s:[], s:[{s:s}], s:[]}", "projects",
			 "name", PROJECT, "targets", "credential_pools",
			 "agent_pools", "name", options->agent_pool, "tests");
}

static int append_record(json_t *document, const char *list, json_t *record)
{
	return json_array_append_new(json_object_get(document, list), record)
		       ? -ENOMEM
		       : 0;
}

static bool is_late(const struct maker *k)
{
	return anonymise_is_late(k->anonymise) ||
	       (k->options->end_ns && clock_mono_ns() > k->options->end_ns);
}

/* Append the records of a call. @return as of test_code_make() */
static int make_call(struct maker *k, json_t *document)
{
	struct script script;
	int err = call_summary_make(k->call, &k->seen);

	if (!err)
		err = read_target(k);
	if (err)
		return err;
	read_call(k);
	set_names(k, json_object_get(document, "tests"));
	err = script_make(k->call, &k->seen, k->anonymise, k->target.host,
			  k->notes, &script);
	if (err)
		return err;
	note_failure(k);
	err = append_record(document, "targets", target_record(k));
	if (!err)
		err = append_record(document, "credential_pools",
				    credential_record(k));
	if (!err)
		err = append_record(document, "tests", test_record(k, &script));
	json_decref(script.actions);
	return !err && is_late(k) ? -ETIME : err;
}

int test_code_make(const struct dialogs *d, const struct dialogs_call *call,
		   const struct test_code_options *options, json_t **ret,
		   json_t **notes)
{
	struct maker k = {.dialogs = d, .call = call, .options = options};
	json_t *document = document_new(options);
	int err = document ? anonymise_new(&k.anonymise, options->end_ns)
			   : -ENOMEM;

	k.notes = json_array();
	if (!err && options->anonymise) {
		anonymise_learn(k.anonymise, call);
		anonymise_use(k.anonymise, call);
	}
	if (!err)
		err = make_call(&k, document);
	anonymise_free(k.anonymise);
	if (err) {
		json_decref(document);
		json_decref(k.notes);
		return err;
	}
	*ret = document;
	*notes = k.notes;
	return 0;
}

static void append_notes(json_t *all, size_t number, json_t *notes)
{
	json_t *note;
	size_t i;

	json_array_foreach(notes, i, note) script_note(
		all, "Call %zu: %s", number, json_string_value(note));
	json_decref(notes);
}

int test_code_make_all(struct dialogs *d,
		       const struct test_code_options *options, json_t **ret,
		       json_t **notes)
{
	json_t *document = document_new(options), *all = json_array();
	struct anonymise *a = NULL;
	int err =
		document && all ? anonymise_new(&a, options->end_ns) : -ENOMEM;

	for (size_t i = 0;
	     !err && options->anonymise && i < dialogs_call_count(d); i++)
		anonymise_learn(a, dialogs_call(d, i));
	for (size_t i = 0; !err && i < dialogs_call_count(d); i++) {
		struct maker k = {.dialogs = d,
				  .call = dialogs_call(d, i),
				  .options = options,
				  .anonymise = a,
				  .notes = json_array()};

		if (options->anonymise)
			anonymise_use(a, k.call);
		err = make_call(&k, document);
		if (err == -EBADMSG) {
			script_note(k.notes, "The INVITE cannot be read.");
			err = 0;
		}
		append_notes(all, i + 1, k.notes);
	}
	anonymise_free(a);
	if (!err && !json_array_size(json_object_get(document, "tests")))
		err = -EBADMSG;
	if (err) {
		json_decref(document);
		json_decref(all);
		return err;
	}
	*ret = document;
	*notes = all;
	return 0;
}
