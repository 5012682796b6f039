#include "control/server/api/capture_import.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/import/call_capture.h"
#include "control/import/call_summary.h"
#include "control/import/test_code.h"
#include "control/server/api/file_content.h"
#include "control/server/api/resource.h"
#include "control/server/request/import_turn.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* The agent pool of the test is chosen later. */
#define NO_POOL ""

static const struct field fields[] = {
	{.name = "content", .kind = FIELD_TEXT, .max = INT32_MAX},
	{.name = "call",
	 .kind = FIELD_INTEGER,
	 .min = 1,
	 .max = DIALOGS_CALLS_MAX},
	{.name = "all", .kind = FIELD_FLAG, .fallback = "0"},
	{.name = "anonymise", .kind = FIELD_FLAG, .fallback = "0"},
	{.name = "expect_failure", .kind = FIELD_FLAG, .fallback = "0"},
	{.name = "target", .kind = FIELD_TEXT, .min = 1, .max = 255},
	{.name = "name", .kind = FIELD_TEXT, .min = 1, .max = 160},
};

struct import {
	const json_t *values;
	int64_t project_id;
	struct test_code_options options;
	struct dialogs *dialogs;
	char damaged[CALL_CAPTURE_REASON_BYTES]; /* "": it is not */
};

static bool flag(const json_t *values, const char *name)
{
	return json_integer_value(json_object_get(values, name)) != 0;
}

/* ---- what the capture has ---- */

static json_t *time_json(int64_t ns)
{
	time_t s = (time_t)(ns / NS_PER_S);
	char text[32];
	struct tm tm;

	if (!gmtime_r(&s, &tm) ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		return json_null();
	return json_string(text);
}

static json_t *seconds_json(int64_t ns)
{
	return json_real((double)(ns / NS_PER_MS) / 1000);
}

/* The user of a From or To header, or the host where it has none. null if the answer is
 * anonymised. */
static json_t *user_json(const struct import *k, const struct sip_name *n)
{
	char text[SIP_TEXT_BYTES];

	if (k->options.anonymise)
		return json_null();
	str_copy(text, sizeof(text), n->user[0] ? n->user : n->host);
	str_utf8_repair(text);
	return json_string(text);
}

static const char *outcome(const struct call_summary *s)
{
	if (s->established_ns)
		return "established";
	if (s->code >= 300)
		return "refused";
	return s->ended && s->by_caller ? "cancelled" : "unanswered";
}

/* @return null where the call cannot be read */
static json_t *call_json(const struct import *k, size_t i)
{
	struct call_summary s;
	json_t *call;

	if (call_summary_make(dialogs_call(k->dialogs, i), &s))
		return json_pack("{s:I, s:n, s:n, s:n, s:n, s:s, s:n, s:n}",
				 "number", (json_int_t)i + 1, "from", "to",
				 "started_at", "duration_s", "outcome",
				 "unreadable", "code", "ended_by");
	call = json_pack("{s:I, s:o, s:o, s:o, s:s}", "number",
			 (json_int_t)i + 1, "from", user_json(k, &s.from), "to",
			 user_json(k, &s.to), "started_at",
			 time_json(s.invite_ns), "outcome", outcome(&s));
	json_object_set_new(call, "duration_s",
			    s.established_ns
				    ? seconds_json(s.end_ns - s.established_ns)
				    : json_null());
	json_object_set_new(call, "code",
			    s.code ? json_integer(s.code) : json_null());
	json_object_set_new(call, "ended_by",
			    !s.ended      ? json_null()
			    : s.by_caller ? json_string("caller")
					  : json_string("callee"));
	return call;
}

static json_t *calls_json(const struct import *k)
{
	json_t *calls = json_array();

	for (size_t i = 0; i < dialogs_call_count(k->dialogs); i++)
		json_array_append_new(calls, call_json(k, i));
	return calls;
}

/* ---- tests ---- */

/* A document names its records; the API refers to them by ids that they do not
 * have yet. */
static void take_out_names(json_t *test)
{
	json_t *step, *action;
	size_t i, n;

	json_object_del(test, "project");
	json_object_del(test, "agent_pool");
	json_array_foreach(json_object_get(test, "steps"), i, step)
	{
		json_array_foreach(step, n, action)
		{
			json_object_del(action, "credential_pool");
			json_object_del(action, "target_pool");
		}
	}
}

/* The password of a document stands in the environment. @return there is one */
static bool take_out_password(json_t *pool)
{
	json_t *credential;
	bool has = false;
	size_t i;

	json_array_foreach(json_object_get(pool, "credentials"), i, credential)
		has |= json_object_del(credential, "password") == 0;
	return has;
}

static json_t *tests_json(const struct import *k, const json_t *document)
{
	json_t *tests = json_array(), *test;
	size_t i;

	json_array_foreach(json_object_get(document, "tests"), i, test)
	{
		json_t *target =
			json_array_get(json_object_get(document, "targets"), i);
		json_t *pool = json_array_get(
			json_object_get(document, "credential_pools"), i);
		bool password = take_out_password(pool);

		take_out_names(test);
		json_object_set_new(test, "project_id",
				    json_integer(k->project_id));
		json_array_append_new(
			tests, json_pack("{s:O, s:O, s:O, s:b}", "test", test,
					 "target", target, "credential_pool",
					 pool, "needs_password", password));
	}
	return tests;
}

/* @param call  from 1; 0: all
 * @return as test_code_make() */
static int make_tests(struct import *k, size_t call, json_t **tests,
		      json_t **notes)
{
	json_t *document;
	int err;

	if (call)
		err = test_code_make(k->dialogs,
				     dialogs_call(k->dialogs, call - 1),
				     &k->options, &document, notes);
	else
		err = test_code_make_all(k->dialogs, &k->options, &document,
					 notes);
	if (err)
		return err;
	*tests = tests_json(k, document);
	json_decref(document);
	return 0;
}

static void refuse(struct reply *rep, int err)
{
	if (err == -ETIME)
		field_error(rep, "/content",
			    "takes longer than %d s to read: leave the packets "
			    "of the calls alone in it",
			    IMPORT_SECONDS);
	else if (err == -EINVAL)
		field_error(rep, "/target",
			    "is no SIP URI, as sip:192.0.2.1:5060;"
			    "transport=tcp");
	else if (err == -EBADMSG)
		field_error(rep, "/call",
			    "the INVITE of this call cannot be "
			    "read: choose another");
	else
		reply_problem(rep, 500, "out of memory");
}

/* Which calls become tests: from 1; 0: all; -1: none, there are several.
 * @return true; false: the reply is an error */
static bool choose(const struct import *k, struct reply *rep, int64_t *ret)
{
	size_t count = dialogs_call_count(k->dialogs);
	json_t *call = json_object_get(k->values, "call");

	if (count == 0 && k->damaged[0])
		field_error(rep, "/content",
			    "is no capture that can be read: %s. It must be "
			    "pcap or pcapng, as tcpdump and Wireshark write it",
			    k->damaged);
	else if (count == 0)
		field_error(rep, "/content",
			    "has no SIP call: capture the signalling as well; "
			    "it must not be encrypted (TLS)");
	else if (json_is_integer(call) &&
		 (size_t)json_integer_value(call) > count)
		field_error(rep, "/call", "is above the number of calls, %zu",
			    count);
	else if (flag(k->values, "all") && json_is_integer(call))
		field_error(rep, "/all", "is not possible with call");
	else if (flag(k->values, "all") && count > IMPORT_TESTS_MAX)
		field_error(rep, "/all",
			    "is possible for up to %d calls, there are %zu: "
			    "choose one with call",
			    IMPORT_TESTS_MAX, count);
	if (reply_status(rep))
		return false;
	if (flag(k->values, "all"))
		*ret = 0;
	else if (json_is_integer(call))
		*ret = json_integer_value(call);
	else
		*ret = count == 1 ? 1 : -1;
	return true;
}

static void reply_import(struct import *k, struct reply *rep)
{
	json_t *tests = NULL, *notes = NULL, *found;
	int64_t call;
	int err = 0;

	if (!choose(k, rep, &call))
		return;
	if (call >= 0)
		err = make_tests(k, (size_t)call, &tests, &notes);
	if (err) {
		refuse(rep, err);
		return;
	}
	found = json_pack("{s:o, s:I, s:o, s:o, s:o}", "calls", calls_json(k),
			  "left_out", (json_int_t)dialogs_left_out(k->dialogs),
			  "damaged",
			  k->damaged[0] ? json_string(k->damaged) : json_null(),
			  "tests", tests ? tests : json_array(), "notes",
			  notes ? notes : json_array());
	if (found)
		reply_json(rep, 200, json_pack("{s:o}", "import", found));
	else
		reply_problem(rep, 500, "out of memory");
}

/* ---- the request ---- */

static void read_capture(struct import *k, const struct file_content *file,
			 struct reply *rep)
{
	const struct call_capture_limits limits = {
		.end_ns = k->options.end_ns,
		.streams_max = IMPORT_STREAMS_MAX,
	};
	struct source source;
	int err;

	source_open_memory(&source, file->data, file->len);
	err = call_capture_read(&source, &limits, &k->dialogs, k->damaged);
	source_close(&source);
	if (err && err != -EBADMSG)
		refuse(rep, err);
	else
		reply_import(k, rep);
	dialogs_free(k->dialogs);
}

static void import(struct request *req, struct reply *rep, int64_t project_id,
		   const json_t *values)
{
	struct controller *c = request_controller(req);
	struct file_content file;
	struct import k = {
		.values = values,
		.project_id = project_id,
		.options =
			{
				.anonymise = flag(values, "anonymise"),
				.expect_failure =
					flag(values, "expect_failure"),
				.target = json_string_value(
					json_object_get(values, "target")),
				.name = json_string_value(
					json_object_get(values, "name")),
				.agent_pool = NO_POOL,
			},
	};

	if (!file_content_read(req, json_object_get(values, "content"), &file,
			       rep)) {
		file_content_release(&file);
		return;
	}
	if (import_turn_take(c)) {
		k.options.end_ns = clock_mono_ns() + IMPORT_SECONDS * NS_PER_S;
		read_capture(&k, &file, rep);
		import_turn_give(c);
	} else {
		reply_unavailable(
			rep, IMPORT_SECONDS,
			"another capture is being read: try it again");
	}
	file_content_release(&file);
}

void capture_import(struct request *req, struct reply *rep)
{
	json_t *project = NULL, *values;
	int64_t id = 0;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = resource_find(req, &project_resource, id, &project);
	json_decref(project);
	if (err) {
		reply_store_error(rep, err, "project");
		return;
	}
	values = fields_read(req, request_body(req), request_body_is_form(req),
			     "", fields, sizeof(fields) / sizeof(*fields), rep);
	if (values)
		import(req, rep, id, values);
	json_decref(values);
}
