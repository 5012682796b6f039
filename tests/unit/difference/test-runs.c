/* Two runs of one system, the second one with a change: what is named. */
#include "control/server/difference/difference.h"
#include "control/server/difference/facts.h"
#include "control/server/difference/findings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How the system under test behaves. */
struct target {
	const char *server;  /* software */
	const char *header;  /* a line with CRLF, in the 200 of an INVITE */
	const char *codecs;  /* of the answer: formats and attributes */
	const char *address; /* of media */
	unsigned refusal;    /* code of the final response; 0: 200 */
	bool no_ringing;     /* no 180 */
	bool progress;       /* 183 in place of 180 */
	bool swapped;        /* 183 after 180, else before; with both */
	bool both;           /* 180 and 183 */
	bool update;         /* an UPDATE in the call */
	bool request_lost;   /* the first of an OPTIONS */
	bool hangs_up;       /* the BYE comes from the target */
	bool challenges;     /* an INVITE without credentials */
	bool repeats;        /* the 200, with another version of its body */
	double ringing_ms;   /* from INVITE to 180 */
	double loss_pct, jitter_ms, mos;
	double jitter_bound_ms; /* 0: not known */
	const char *codec;      /* of RTP */
	const char *agent;
	const char *interval;  /* a parameter of the test */
	const char *condition; /* text; failed where not empty */
	const char *condition_type;
};

static const struct target usual = {
	.server = "pbx 1.0",
	.header = "Session-Expires: 1800;refresher=uac\r\n",
	.codecs = "0 101\r\na=rtpmap:101 telephone-event/8000\r\n"
		  "a=fmtp:101 0-15\r\na=ptime:20\r\n",
	.address = "192.0.2.8",
	.ringing_ms = 30,
	.jitter_ms = 1,
	.mos = 4.4,
	.codec = "PCMU",
	.agent = "agent-1",
	.interval = "10",
	.condition = "",
	.condition_type = "caller-sipclient-state-conditions",
};

static unsigned below(unsigned limit)
{
	return (unsigned)rand() % limit;
}

static double noise(double spread)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (double)below(10000) / 10000;
	return (sum - 6) * spread;
}

struct call {
	struct difference_run *run;
	const struct target *t;
	char id[40], tag[20], branch[20];
	double ms;
};

static void message(struct call *c, const char *dir, const char *line,
		    const char *cseq, const char *rest)
{
	char data[2000];
	json_t *m;

	snprintf(
		data, sizeof(data),
		"%s\r\nVia: SIP/2.0/UDP 127.0.0.1:%u;branch=z9hG4bK%s;rport\r\n"
		"From: <sip:1001@127.0.0.1>;tag=%s\r\n"
		"To: <sip:1002@127.0.0.1>;tag=x%s\r\nCall-ID: %s\r\n"
		"CSeq: %s\r\n%s",
		line, 40000u + (unsigned)c->branch[0] % 9, c->branch, c->tag,
		c->tag, c->id, cseq, rest);
	m = json_pack("{s:s, s:I, s:s}", "dir", dir, "mono",
		      (json_int_t)(c->ms * 1e6), "data", data);
	assert_int_equal(difference_run_add_message(c->run, "caller", m), 0);
	json_decref(m);
}

static void answer(struct call *c, char dst[static 1000])
{
	char sdp[600];

	snprintf(sdp, sizeof(sdp),
		 "v=0\r\no=- %u %u IN IP4 127.0.0.1\r\ns=-\r\n"
		 "c=IN IP4 %s\r\nt=0 0\r\nm=audio %u RTP/AVP %s",
		 below(100000), below(1000), c->t->address, 20000 + below(9000),
		 c->t->codecs);
	snprintf(dst, 1000,
		 "Server: %s\r\n%sContent-Type: application/sdp\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 c->t->server, c->t->header, strlen(sdp), sdp);
}

static void established(struct call *c)
{
	char body[1000];

	c->ms += 20 + noise(2);
	for (int i = 0; i <= c->t->repeats; i++) {
		answer(c, body);
		message(c, "received", "SIP/2.0 200 OK", "1 INVITE", body);
	}
	message(c, "sent", "ACK sip:x SIP/2.0", "1 ACK", "\r\n");
	if (c->t->update) {
		c->ms += 900;
		message(c, "received", "UPDATE sip:y SIP/2.0", "7 UPDATE",
			"\r\n");
		message(c, "sent", "SIP/2.0 200 OK", "7 UPDATE", "\r\n");
	}
	c->ms += 2000 + noise(10);
	message(c, c->t->hangs_up ? "received" : "sent", "BYE sip:x SIP/2.0",
		"2 BYE", "\r\n");
	c->ms += 5 + noise(1);
	message(c, c->t->hangs_up ? "sent" : "received", "SIP/2.0 200 OK",
		"2 BYE", "\r\n");
}

static void place(struct call *c)
{
	char line[60];

	if (c->t->challenges) {
		message(c, "sent", "INVITE sip:1002@127.0.0.1:5060 SIP/2.0",
			"0 INVITE", "User-Agent: offhook/1\r\n\r\n");
		message(c, "received",
			"SIP/2.0 407 Proxy Authentication Required", "0 INVITE",
			"\r\n");
		message(c, "sent", "ACK sip:x SIP/2.0", "0 ACK", "\r\n");
	}
	message(c, "sent", "INVITE sip:1002@127.0.0.1:5060 SIP/2.0", "1 INVITE",
		"User-Agent: offhook/1\r\n\r\n");
	c->ms += c->t->ringing_ms + noise(4);
	if (below(2)) /* as the next hop likes */
		message(c, "received", "SIP/2.0 100 Trying", "1 INVITE",
			"\r\n");
	if (c->t->both && !c->t->swapped)
		message(c, "received", "SIP/2.0 183 Session Progress",
			"1 INVITE", "\r\n");
	if (c->t->progress)
		message(c, "received", "SIP/2.0 183 Session Progress",
			"1 INVITE", "\r\n");
	else if (!c->t->no_ringing && !c->t->refusal)
		message(c, "received", "SIP/2.0 180 Ringing", "1 INVITE",
			"\r\n");
	if (c->t->both && c->t->swapped)
		message(c, "received", "SIP/2.0 183 Session Progress",
			"1 INVITE", "\r\n");
	if (c->t->refusal) {
		snprintf(line, sizeof(line), "SIP/2.0 %u Refused",
			 c->t->refusal);
		message(c, "received", line, "1 INVITE", "\r\n");
		message(c, "sent", "ACK sip:x SIP/2.0", "1 ACK", "\r\n");
	} else {
		established(c);
	}
}

static void figures(struct difference_run *run, const struct target *t)
{
	bool ok = !t->refusal;
	json_t *event =
		json_pack("{s:s, s:b, s:i, s:s, s:f}", "kind", "call",
			  "established", ok, "code", ok ? 200 : (int)t->refusal,
			  "reason", "", "duration_ms", 2000 + noise(20));

	if (ok)
		json_object_set_new(
			event, "streams",
			json_pack("[{s:s, s:i, s:i, s:s, s:f, s:f, s:{s:f}}]",
				  "dir", "in", "packets", 100, "expected", 100,
				  "codec", t->codec, "loss_pct",
				  fmax(0, t->loss_pct + noise(0.05)),
				  "mos_total", t->mos + noise(0.01),
				  "jitter_ms", "avg",
				  t->jitter_ms + fabs(noise(0.4))));
	if (ok && t->jitter_bound_ms > 0)
		json_object_set_new(
			json_array_get(json_object_get(event, "streams"), 0),
			"jitter_bound_ms", json_real(t->jitter_bound_ms));
	assert_int_equal(difference_run_add_event(run, "caller", event), 0);
	json_decref(event);
}

static void setup(struct difference_run *run, const struct target *t)
{
	json_t *spec = json_pack("{s:s, s:s, s:[[{s:s, s:s, s:{s:s}}]]}",
				 "role", "caller", "session_id", "x", "steps",
				 "type", "call", "call_interval", t->interval,
				 "credentials", "password", t->interval);
	json_t *verdicts =
		t->condition[0]
			? json_pack("[{s:s, s:s, s:s, s:b, s:b}]", "role",
				    "caller", "condition_type",
				    t->condition_type, "text", t->condition,
				    "passed", 0, "built_in", 1)
			: json_array();

	assert_int_equal(difference_run_add_spec(run, spec), 0);
	assert_int_equal(difference_run_add_agent(run, "caller", t->agent), 0);
	difference_run_set_verdicts(run, verdicts);
	json_decref(spec);
	json_decref(verdicts);
}

/* A request that is sent again is the same message. */
static void ask_options(struct call *c)
{
	json_t *m = json_pack("{s:s, s:I, s:s}", "dir", "sent", "mono",
			      (json_int_t)0, "data", "");
	char data[600];

	for (int i = 0; i < 2; i++) {
		snprintf(data, sizeof(data),
			 "OPTIONS sip:x SIP/2.0\r\nCall-ID: o%s\r\nCSeq: 1 "
			 "OPTIONS\r\n\r\n",
			 c->id);
		json_object_set_new(m, "data", json_string(data));
		if (i == 0 || c->t->request_lost)
			assert_int_equal(
				difference_run_add_message(c->run, "caller", m),
				0);
	}
	json_decref(m);
}

static struct difference_run *run_of(const struct target *t, size_t calls)
{
	struct difference_run *run;

	assert_int_equal(difference_run_new(&run), 0);
	setup(run, t);
	for (size_t i = 0; i < calls; i++) {
		struct call c = {.run = run, .t = t, .ms = 1000.0 * (double)i};

		snprintf(c.id, sizeof(c.id), "%x-%zu@h", (unsigned)rand(), i);
		snprintf(c.tag, sizeof(c.tag), "%x", (unsigned)rand());
		snprintf(c.branch, sizeof(c.branch), "%x", (unsigned)rand());
		place(&c);
		ask_options(&c);
	}
	for (size_t i = 0; i < calls; i++)
		figures(run, t);
	return run;
}

static json_t *differences(const struct target *a, const struct target *b,
			   size_t calls)
{
	struct difference_run *before = run_of(a, calls);
	struct difference_run *after = run_of(b, calls);
	json_t *all = difference_of_runs(before, after);

	assert_non_null(all);
	difference_run_free(before);
	difference_run_free(after);
	return all;
}

static json_t *named(json_t *all, size_t i, const char *member)
{
	return json_object_get(
		json_array_get(json_object_get(all, "differences"), i), member);
}

static void print(const json_t *all)
{
	char *text = json_dumps(all, JSON_INDENT(1));

	print_message("%s\n", text);
	free(text);
}

#define DIALOG_MESSAGES_MAX 400 /* control/server/difference/dialogs.c */

/* A call with that many messages of ours. @param odd  the one that is a MESSAGE;
 * 0: none is */
static struct difference_run *long_run(unsigned count, unsigned odd)
{
	struct difference_run *run;
	struct call c = {
		.t = &usual, .id = "long@h", .tag = "t", .branch = "b"};
	char cseq[32];

	assert_int_equal(difference_run_new(&run), 0);
	setup(run, &usual);
	c.run = run;
	message(&c, "sent", "INVITE sip:x SIP/2.0", "1 INVITE", "\r\n");
	for (unsigned i = 2; i <= count; i++) {
		const char *method = i == odd ? "MESSAGE" : "INFO";
		char line[40];

		snprintf(line, sizeof(line), "%s sip:x SIP/2.0", method);
		snprintf(cseq, sizeof(cseq), "%u %s", i, method);
		message(&c, "sent", line, cseq, "\r\n");
	}
	return run;
}

static bool is_compared(unsigned position)
{
	struct difference_run *before = long_run(position, 0);
	struct difference_run *after = long_run(position, position);
	json_t *all = difference_of_runs(before, after);
	char *text = json_dumps(all, 0);
	bool found = strstr(text, "MESSAGE") != NULL;

	free(text);
	json_decref(all);
	difference_run_free(before);
	difference_run_free(after);
	return found;
}

static void test_messages_above_the_ceiling(void **state)
{
	(void)state;
	assert_true(is_compared(DIALOG_MESSAGES_MAX));
	assert_false(is_compared(DIALOG_MESSAGES_MAX + 1));
}

/* The kind and a part of the sentence are named first or second, with one call
 * in each run as with many. */
static void names(const struct target *b, const char *kind, const char *part)
{
	static const size_t calls[] = {1, 20};

	for (size_t n = 0; n < 2; n++) {
		json_t *all = differences(&usual, b, calls[n]);
		bool found = false;

		for (size_t i = 0; i < 2; i++) {
			const char *sentence =
				json_string_value(named(all, i, "sentence"));

			found = found || (sentence && strstr(sentence, part) &&
					  strcmp(json_string_value(
							 named(all, i, "kind")),
						 kind) == 0);
		}
		if (!found) {
			print(all);
			fail_msg("%zu calls: no %s \"%s\"", calls[n], kind,
				 part);
		}
		json_decref(all);
	}
}

#define PLANTED(name, kind, part, ...)              \
	static void test_names_##name(void **state) \
	{                                           \
		struct target t = usual;            \
                                                    \
		(void)state;                        \
		__VA_ARGS__;                        \
		names(&t, kind, part);              \
	}

PLANTED(software, "software", "was \"pbx 1.0\" and is \"pbx 1.1\"",
	t.server = "pbx 1.1")
PLANTED(header, "header", "Session-Expires of the 200 INVITE",
	t.header = "Session-Expires: 90;refresher=uac\r\n")
PLANTED(missing_header, "header", "is missing; it was", t.header = "")
PLANTED(new_header, "header",
	"X-Own of the 200 INVITE that caller received is "
	"new: \"1\"",
	t.header = "Session-Expires: 1800;refresher=uac\r\nX-Own: 1\r\n")
PLANTED(code, "response", "INVITE was answered with 486", t.refusal = 486)
PLANTED(provisional, "response", "INVITE was answered with 183",
	t.progress = true)
PLANTED(missing_message, "message", "Missing message 180 INVITE",
	t.no_ringing = true)
PLANTED(extra_message, "message", "New message UPDATE", t.update = true)
PLANTED(who_hangs_up, "message", "BYE", t.hangs_up = true)
PLANTED(codec, "codec", "and is \"PCMA/8000, telephone-event/8000\"",
	t.codecs = "8 101\r\na=rtpmap:101 telephone-event/8000\r\n"
		   "a=fmtp:101 0-15\r\na=ptime:20\r\n";
	t.codec = "PCMA")
PLANTED(session_line, "sdp", "The packet time in the 200 INVITE",
	t.codecs = "0 101\r\na=rtpmap:101 telephone-event/8000\r\n"
		   "a=fmtp:101 0-15\r\na=ptime:40\r\n")
PLANTED(media_address, "media_address", "192.0.2.9", t.address = "192.0.2.9")
PLANTED(delay, "timing", "The time from INVITE to 180 INVITE",
	t.ringing_ms = 630)
PLANTED(loss, "media", "Packet loss", t.loss_pct = 4; t.mos = 3.9)
PLANTED(jitter, "media", "Jitter", t.jitter_ms = 40)
PLANTED(agent, "agent", "ran on agent agent-2", t.agent = "agent-2")
PLANTED(parameter, "parameter", "call_interval", t.interval = "20")
PLANTED(retransmission, "retransmission", "OPTIONS was sent",
	t.request_lost = true)
PLANTED(repeated_response, "retransmission", "200 INVITE was received",
	t.repeats = true)
PLANTED(challenge, "message", "New message 407 INVITE", t.challenges = true)

/* Error bounds that lie within each other: the jitter may not have changed at all. */
static void test_names_no_change_within_the_error_bounds(void **state)
{
	struct target a = usual, b = usual;
	const json_t *f;
	json_t *all;
	size_t i;

	(void)state;
	b.jitter_ms = 40;
	a.jitter_bound_ms = 1;
	b.jitter_bound_ms = 45;
	for (unsigned calls = 1; calls <= 40; calls += 39) {
		all = differences(&a, &b, calls);
		json_array_foreach(json_object_get(all, "differences"), i, f)
		{
			assert_null(strstr(json_string_value(json_object_get(
						   f, "sentence")),
					   "Jitter"));
		}
		json_decref(all);
	}
	b.jitter_bound_ms = 0.2;
	all = differences(&a, &b, 40);
	assert_non_null(strstr(json_string_value(named(all, 0, "sentence")),
			       " ± 1.00 ms and is "));
	assert_non_null(strstr(json_string_value(named(all, 0, "sentence")),
			       " ± 0.20 ms (40 and 40 values)"));
	json_decref(all);
}

/* 183 before 180, and after it. */
static void test_names_order(void **state)
{
	struct target a = usual, b = usual;
	json_t *all;

	(void)state;
	a.both = b.both = b.swapped = true;
	all = differences(&a, &b, 1);
	assert_string_equal(json_string_value(named(all, 0, "kind")), "order");
	assert_string_equal(json_string_value(named(all, 0, "after")),
			    "180 INVITE, 183 INVITE");
	assert_string_equal(json_string_value(named(all, 0, "before")),
			    "183 INVITE, 180 INVITE");
	json_decref(all);
}

/* The challenge is the cause of the INVITE with credentials. */
static void test_names_missing_challenge(void **state)
{
	struct target challenging = usual;
	json_t *all;

	(void)state;
	challenging.challenges = true;
	all = differences(&challenging, &usual, 3);
	assert_string_equal(
		json_string_value(named(all, 0, "sentence")),
		"Missing message 407 INVITE in 3 of 3 calls of caller: caller "
		"did not receive it any more.");
	assert_null(named(all, 1, "sentence"));
	json_decref(all);
}

/* A refusal stands for the 200, though it came in place of the challenge. */
static void test_names_refusal_before_challenge(void **state)
{
	struct target challenging = usual, refusing = usual;
	json_t *all;

	(void)state;
	challenging.challenges = true;
	refusing.refusal = 503;
	all = differences(&challenging, &refusing, 3);
	assert_string_equal(json_string_value(named(all, 0, "before")), "200");
	assert_string_equal(json_string_value(named(all, 0, "after")), "503");
	json_decref(all);
}

/* One of three calls differs. That is chance, unless a condition failed. */
static void test_names_single_call_that_fails(void **state)
{
	struct target quiet = usual, refusing = usual;
	const struct target *odd[] = {&quiet, &refusing};

	(void)state;
	quiet.no_ringing = true;
	refusing.refusal = 503;
	refusing.condition = "caller: every call is established";
	for (size_t i = 0; i < 2; i++) {
		struct difference_run *a = run_of(&usual, 3);
		struct difference_run *b = run_of(&usual, 2);
		struct call call = {.run = b, .t = odd[i], .id = "odd"};
		json_t *all;

		setup(b, odd[i]);
		place(&call);
		all = difference_of_runs(a, b);
		if (!i)
			assert_null(named(all, 0, "sentence"));
		else
			assert_non_null(strstr(
				json_string_value(named(all, 0, "sentence")),
				"503 in 1 of 3 calls of caller; before "
				"with 200"));
		json_decref(all);
		difference_run_free(a);
		difference_run_free(b);
	}
}

/* A delay that a stall of the machine may cause is not named in a run of one
 * call; in a run of three calls it is. */
static void test_names_delay_by_values(void **state)
{
	struct target slow = usual;

	(void)state;
	slow.ringing_ms = 430;
	for (size_t calls = 1; calls <= 3; calls++) {
		json_t *all = differences(&usual, &slow, calls);

		assert_int_equal(named(all, 0, "sentence") != NULL, calls > 2);
		json_decref(all);
	}
}

/* A fifth of the calls is slow: the median does not show it. */
static void test_names_slow_part(void **state)
{
	struct target slow = usual;
	struct difference_run *a = run_of(&usual, 400);
	struct difference_run *b = run_of(&usual, 320);
	json_t *all;

	(void)state;
	slow.ringing_ms = 2000;
	for (size_t i = 0; i < 80; i++) {
		struct call call = {.run = b, .t = &slow};

		snprintf(call.id, sizeof(call.id), "slow-%zu", i);
		place(&call);
	}
	all = difference_of_runs(a, b);
	assert_string_equal(json_string_value(named(all, 0, "kind")), "timing");
	assert_non_null(strstr(json_string_value(named(all, 0, "sentence")),
			       "95th percentile"));
	json_decref(all);
	difference_run_free(a);
	difference_run_free(b);
}

/* Three of twenty calls were refused: too few for a test, but new. */
static void test_names_some_refusals(void **state)
{
	struct target refusing = usual;
	struct difference_run *a = run_of(&usual, 20);
	struct difference_run *b = run_of(&usual, 15);
	json_t *all;

	(void)state;
	refusing.refusal = 503;
	for (size_t i = 0; i < 5; i++) {
		struct call call = {.run = b, .t = &refusing};

		snprintf(call.id, sizeof(call.id), "refused-%zu", i);
		place(&call);
	}
	all = difference_of_runs(a, b);
	assert_non_null(strstr(json_string_value(named(all, 0, "sentence")),
			       "503 in 5 of 20 calls"));
	json_decref(all);
	difference_run_free(a);
	difference_run_free(b);
}

/* Runs of the same system: none of 100 pairs has a difference. */
static void test_equal_runs(void **state)
{
	static const size_t calls[] = {1, 2, 5, 30};

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		json_t *all = differences(&usual, &usual, calls[i % 4]);

		if (json_array_size(json_object_get(all, "differences"))) {
			print(all);
			fail_msg("pair %zu of %zu calls", i, calls[i % 4]);
		}
		json_decref(all);
	}
}

/* The refusal explains the condition, the software does not: it comes second
 * although both changed. */
static void test_rank_by_conditions(void **state)
{
	struct target t = usual;
	json_t *all;

	(void)state;
	t.refusal = 488;
	t.agent = "agent-2";
	t.condition = "caller: every call is established";
	all = differences(&usual, &t, 3);
	assert_string_equal(json_string_value(named(all, 0, "kind")),
			    "response");
	assert_int_equal(json_array_size(named(all, 0, "explains")), 1);
	assert_string_equal(json_string_value(named(all, 0, "before")), "200");
	assert_string_equal(json_string_value(named(all, 0, "after")), "488");
	assert_string_equal(json_string_value(named(all, 1, "kind")), "agent");
	assert_int_equal(json_array_size(named(all, 1, "explains")), 0);
	json_decref(all);
}

/* Lost packets explain a MOS that is too low, a changed header does not. */
static void test_rank_media(void **state)
{
	struct target t = usual;
	json_t *all;

	(void)state;
	t.loss_pct = 8;
	t.header = "";
	t.condition = "caller: MOS at least 4";
	t.condition_type = "caller-mos-conditions";
	all = differences(&usual, &t, 20);
	assert_string_equal(json_string_value(named(all, 0, "kind")), "media");
	assert_int_equal(json_array_size(named(all, 0, "explains")), 1);
	json_decref(all);
}

/* At most five are named; the others are counted. No password is shown. */
static void test_ceiling(void **state)
{
	struct target t = usual;
	json_t *all;
	char *text;

	(void)state;
	t.server = "other";
	t.header = "A: 1\r\nB: 1\r\nC: 1\r\n";
	t.address = "192.0.2.77";
	t.agent = "agent-9";
	t.interval = "secret";
	t.update = true;
	all = differences(&usual, &t, 2);
	assert_int_equal(json_array_size(json_object_get(all, "differences")),
			 DIFFERENCE_NAMED_MAX);
	assert_true(json_integer_value(json_object_get(all, "further")) >= 3);
	text = json_dumps(all, 0);
	assert_null(strstr(text, "credentials"));
	free(text);
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_above_the_ceiling),
		cmocka_unit_test(test_names_software),
		cmocka_unit_test(test_names_header),
		cmocka_unit_test(test_names_missing_header),
		cmocka_unit_test(test_names_new_header),
		cmocka_unit_test(test_names_code),
		cmocka_unit_test(test_names_provisional),
		cmocka_unit_test(test_names_missing_message),
		cmocka_unit_test(test_names_extra_message),
		cmocka_unit_test(test_names_who_hangs_up),
		cmocka_unit_test(test_names_codec),
		cmocka_unit_test(test_names_session_line),
		cmocka_unit_test(test_names_media_address),
		cmocka_unit_test(test_names_delay),
		cmocka_unit_test(test_names_loss),
		cmocka_unit_test(test_names_jitter),
		cmocka_unit_test(test_names_no_change_within_the_error_bounds),
		cmocka_unit_test(test_names_agent),
		cmocka_unit_test(test_names_parameter),
		cmocka_unit_test(test_names_retransmission),
		cmocka_unit_test(test_names_repeated_response),
		cmocka_unit_test(test_names_challenge),
		cmocka_unit_test(test_names_missing_challenge),
		cmocka_unit_test(test_names_refusal_before_challenge),
		cmocka_unit_test(test_names_single_call_that_fails),
		cmocka_unit_test(test_names_delay_by_values),
		cmocka_unit_test(test_names_order),
		cmocka_unit_test(test_names_slow_part),
		cmocka_unit_test(test_names_some_refusals),
		cmocka_unit_test(test_equal_runs),
		cmocka_unit_test(test_rank_by_conditions),
		cmocka_unit_test(test_rank_media),
		cmocka_unit_test(test_ceiling),
	};

	srand(20261128);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
