#include "control/import/script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/body/dtmf_info.h"

#define STEPS_MAX (DIALOGS_MESSAGES_MAX + DIALOGS_DIGITS_MAX)
/* Digits whose gaps are shorter are one order of `dtmf`. */
#define DIGIT_GAP_MAX_NS (700 * NS_PER_MS)
/* docs/reference/script-actions.md, dtmf */
#define DIGITS_OF_ORDER 64
#define DURATION_MIN_MS 40
#define DURATION_MAX_MS 1300
#define GAP_MIN_MS      40
#define GAP_MAX_MS      5000
#define DEFAULT_MS      100
#define WAIT_MIN_MS     20 /* shorter waits are left out */
/* How long the test waits for the answer beyond the captured time. */
#define ANSWER_MARGIN_MS 10000

/* Something that the caller did. */
struct step {
	int64_t ns;
	int64_t end_ns;
	const char *action; /* static; NULL: `digit` */
	char digit;
	const char *mode; /* of the digit; static */
	char argument[SIP_TEXT_BYTES];
};

struct maker {
	const struct dialogs_call *call;
	const struct call_summary *summary;
	struct anonymise *anonymise;
	const char *host;
	json_t *notes;
	json_t *actions;
	struct step step[STEPS_MAX];
	size_t steps;
	bool held;
};

void script_note(json_t *notes, const char *fmt, ...)
{
	char text[512];
	json_t *known;
	va_list args;
	size_t i;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	json_array_foreach(notes, i, known) if (strcmp(json_string_value(known),
						       text) == 0) return;
	json_array_append_new(notes, json_string(text));
}

static double seconds(const struct maker *k, int64_t ns)
{
	return (double)(ns - k->summary->invite_ns) / (double)NS_PER_S;
}

/* The final response to a request within the call. @return NULL: none */
static const struct dialogs_message *final_of(const struct dialogs_call *c,
					      const struct dialogs_message *m)
{
	for (size_t i = 0; i < c->messages; i++) {
		const struct dialogs_message *o = &c->message[i];

		if (o->status >= 200 && o->cseq == m->cseq &&
		    o->of_caller == m->of_caller &&
		    strcmp(o->method, m->method) == 0)
			return o;
	}
	return NULL;
}

static struct step *add(struct maker *k, const struct dialogs_message *m,
			const char *action)
{
	const struct dialogs_message *final = final_of(k->call, m);
	struct step *s = &k->step[k->steps];

	if (k->steps == STEPS_MAX)
		return s - 1;
	k->steps++;
	*s = (struct step){
		.ns = m->ns,
		.end_ns = final ? final->ns : m->ns,
		.action = action,
	};
	return s;
}

/* The digit of an INFO as the agent reads it. @return 0: none */
static char info_digit(const char *text, const char **ret_mode)
{
	static const char relay[] = "application/dtmf-relay";
	const char *body = sip_text_body(text);
	char type[SIP_TEXT_BYTES];
	struct dtmf_info info;
	size_t len;

	if (!sip_text_header(text, "Content-Type", 0, type))
		return 0;
	len = strcspn(type, "; \t");
	if (dtmf_info_parse(&info, type, len, body, strlen(body)))
		return 0;
	*ret_mode = strncasecmp(type, relay, sizeof(relay) - 1) == 0
			    ? "info"
			    : "info-dtmf";
	return info.digit;
}

static void take_reinvite(struct maker *k, const struct dialogs_message *m)
{
	char timer[SIP_TEXT_BYTES];
	struct sip_audio a;
	bool hold;

	if (!sip_text_audio(m->text, &a)) {
		script_note(k->notes,
			    "A re-INVITE without SDP at %.1f s is not carried "
			    "over.",
			    seconds(k, m->ns));
		return;
	}
	hold = a.direction == SIP_TEXT_HELD;
	if (hold != k->held)
		add(k, m, hold ? "hold" : "resume");
	else if (!sip_text_header(m->text, "Session-Expires", 0, timer))
		add(k, m, "reinvite");
	k->held = hold;
}

/* A refresh of the session comes by itself (session_timer). */
static void take_update(struct maker *k, const struct dialogs_message *m)
{
	char timer[SIP_TEXT_BYTES];

	if (!sip_text_header(m->text, "Session-Expires", 0, timer))
		add(k, m, "update");
}

static void take_refer(struct maker *k, const struct dialogs_message *m)
{
	char value[SIP_TEXT_BYTES];
	struct sip_name to;
	const char *host;

	if (!sip_text_header(m->text, "Refer-To", 0, value) ||
	    !sip_text_name(value, &to) || strcasestr(value, "replaces=") ||
	    !to.user[0]) {
		script_note(k->notes,
			    "The transfer at %.1f s is not carried over: it "
			    "is attended, or its Refer-To has no user.",
			    seconds(k, m->ns));
		return;
	}
	host = strcasecmp(to.host, k->summary->to.host) == 0 || !to.host[0]
		       ? k->host
		       : anonymise_text(k->anonymise, ANONYMISE_HOST, to.host);
	str_print(add(k, m, "transfer")->argument, SIP_TEXT_BYTES,
		  strchr(host, ':') ? "sip:%s@[%s]" : "sip:%s@%s",
		  anonymise_text(k->anonymise, ANONYMISE_USER, to.user), host);
}

static void take_info(struct maker *k, const struct dialogs_message *m)
{
	const char *mode = NULL;
	char digit = info_digit(m->text, &mode);
	struct step *s;

	if (!digit) {
		script_note(k->notes,
			    "An INFO of the caller at %.1f s is not carried "
			    "over: it has no digit.",
			    seconds(k, m->ns));
		return;
	}
	s = add(k, m, NULL);
	s->digit = digit;
	s->mode = mode;
}

static void take_text(struct maker *k, const struct dialogs_message *m)
{
	char text[SIP_TEXT_BYTES];

	if (str_copy(text, sizeof(text), sip_text_body(m->text)) || !text[0] ||
	    strstr(text, "{{") || text[strcspn(text, "\r\n\t")]) {
		script_note(k->notes,
			    "A MESSAGE of the caller at %.1f s is not carried "
			    "over: it is empty, long, or has several lines or "
			    "a tabulator.",
			    seconds(k, m->ns));
		return;
	}
	anonymise_free_text(k->anonymise, text, add(k, m, "message")->argument);
}

/* A request of the caller within the call. */
static void take_request(struct maker *k, const struct dialogs_message *m)
{
	static const char *const silent[] = {"ACK",   "BYE",    "CANCEL",
					     "PRACK", "NOTIFY", NULL};
	const struct dialogs_message *final = final_of(k->call, m);

	if (str_listed(silent, m->method) || !m->within)
		return;
	if (final && (final->status == 401 || final->status == 407))
		return; /* repeated with credentials */
	if (final && final->status >= 300)
		script_note(k->notes,
			    "The %s of the caller at %.1f s was refused with "
			    "%u; it is not carried over.",
			    m->method, seconds(k, m->ns), final->status);
	else if (strcmp(m->method, "INVITE") == 0)
		take_reinvite(k, m);
	else if (strcmp(m->method, "REFER") == 0)
		take_refer(k, m);
	else if (strcmp(m->method, "INFO") == 0)
		take_info(k, m);
	else if (strcmp(m->method, "MESSAGE") == 0)
		take_text(k, m);
	else if (strcmp(m->method, "OPTIONS") == 0)
		add(k, m, "options");
	else if (strcmp(m->method, "UPDATE") == 0)
		take_update(k, m);
	else
		script_note(k->notes,
			    "A %s of the caller at %.1f s is not carried over.",
			    m->method, seconds(k, m->ns));
}

/* What the callee did is the callee's to repeat. */
static void note_request(struct maker *k, const struct dialogs_message *m)
{
	static const char *const silent[] = {"ACK",    "BYE",  "PRACK",
					     "NOTIFY", "INFO", NULL};

	if (!str_listed(silent, m->method))
		script_note(k->notes,
			    "The callee sent %s at %.1f s: the target must do "
			    "so by itself.",
			    m->method, seconds(k, m->ns));
}

static int compare(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Say how many digits could not be read. */
static void note_encrypted(struct maker *k, bool of_caller)
{
	const struct dialogs_digit *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < k->call->digits; i++) {
		const struct dialogs_digit *g = &k->call->digit[i];

		if (g->digit || g->of_caller != of_caller)
			continue;
		first = first ? first : g;
		n++;
	}
	if (first)
		script_note(k->notes,
			    "The %s sent %zu %s in encrypted RTP, the first at "
			    "%.1f s; they are not carried over.",
			    of_caller ? "caller" : "callee", n,
			    n == 1 ? "digit" : "digits", seconds(k, first->ns));
}

static void collect(struct maker *k, struct script *ret)
{
	const struct dialogs_call *c = k->call;
	size_t received = 0;

	for (size_t i = 0; i < c->messages; i++) {
		const struct dialogs_message *m = &c->message[i];
		const char *mode;
		char digit;

		if (m->status || m->ns < k->summary->established_ns)
			continue;
		if (m->of_caller) {
			take_request(k, m);
			continue;
		}
		note_request(k, m);
		digit = strcmp(m->method, "INFO") == 0
				? info_digit(m->text, &mode)
				: 0;
		if (digit && received < DIALOGS_DIGITS_MAX)
			ret->received[received++] = digit;
	}
	for (size_t i = 0; i < c->digits; i++) {
		const struct dialogs_digit *g = &c->digit[i];

		if (!g->digit)
			continue;
		if (!g->of_caller && received < DIALOGS_DIGITS_MAX)
			ret->received[received++] = g->digit;
		else if (g->of_caller && k->steps < STEPS_MAX)
			k->step[k->steps++] = (struct step){
				.ns = g->ns,
				.end_ns = g->end_ns,
				.digit = g->digit,
				.mode = "rtpevent",
			};
	}
	ret->received[received] = '\0';
	note_encrypted(k, true);
	note_encrypted(k, false);
	qsort(k->step, k->steps, sizeof(k->step[0]), compare);
}

/* ---- actions ---- */

static void append(struct maker *k, const char *action, const char *argument)
{
	json_array_append_new(k->actions, json_pack("[ss]", action, argument));
}

static void append_number(struct maker *k, const char *action, int64_t n)
{
	char text[STR_DECIMAL_BYTES];

	append(k, action, str_decimal(text, n > 0 ? (uint64_t)n : 0));
}

/* @return the time at which the script is then */
static int64_t wait_until(struct maker *k, int64_t at_ns, int64_t ns)
{
	int64_t ms = (ns - at_ns) / NS_PER_MS;

	if (ms >= WAIT_MIN_MS)
		append_number(k, "wait", ms);
	return ns > at_ns ? ns : at_ns;
}

static int64_t limit(int64_t ms, int64_t low, int64_t high)
{
	return ms < low ? low : ms > high ? high : ms;
}

/* Digits from step i, as one order. @return the first step behind them */
static size_t append_digits(struct maker *k, size_t i, int64_t *at_ns)
{
	const struct step *first = &k->step[i], *last = first;
	char digits[DIGITS_OF_ORDER + 1], text[DIGITS_OF_ORDER + 40];
	int64_t lasted = 0, gaps = 0, duration, gap;
	size_t n = 0;

	for (; i < k->steps && n < DIGITS_OF_ORDER; i++) {
		const struct step *s = &k->step[i];

		if (s->action ||
		    (n > 0 && s->ns - last->end_ns > DIGIT_GAP_MAX_NS))
			break;
		gaps += n > 0 ? s->ns - last->end_ns : 0;
		lasted += s->end_ns - s->ns;
		digits[n++] = s->digit;
		last = s;
	}
	digits[n] = '\0';
	duration = limit(lasted / (int64_t)n / NS_PER_MS, DURATION_MIN_MS,
			 DURATION_MAX_MS);
	gap = n > 1 ? limit(gaps / (int64_t)(n - 1) / NS_PER_MS, GAP_MIN_MS,
			    GAP_MAX_MS)
		    : DEFAULT_MS;
	if (strcmp(first->mode, "rtpevent") != 0)
		duration = DEFAULT_MS; /* INFO has a time of its own */
	anonymise_digits(k->anonymise, digits);
	str_print(text, sizeof(text), "%s %d %d", digits, (int)duration,
		  (int)gap);
	*at_ns = wait_until(k, *at_ns, first->ns);
	append(k, "dtmf", text);
	*at_ns = last->end_ns > *at_ns ? last->end_ns : *at_ns;
	return i;
}

static const char *mode_of_digits(struct maker *k)
{
	const char *mode = NULL;

	for (size_t i = 0; i < k->steps; i++) {
		if (k->step[i].action)
			continue;
		if (mode && strcmp(mode, k->step[i].mode) != 0)
			script_note(k->notes,
				    "The caller sent digits in several ways; "
				    "the test sends all of them by %s.",
				    mode);
		if (!mode)
			mode = k->step[i].mode;
	}
	return mode;
}

static void append_established(struct maker *k)
{
	const struct call_summary *s = k->summary;
	int64_t at_ns = s->established_ns;

	append_number(k, "assert_established",
		      2 * (s->established_ns - s->invite_ns) / NS_PER_MS +
			      ANSWER_MARGIN_MS);
	for (size_t i = 0; i < k->steps;) {
		const struct step *step = &k->step[i];

		if (!step->action) {
			i = append_digits(k, i, &at_ns);
			continue;
		}
		at_ns = wait_until(k, at_ns, step->ns);
		append(k, step->action, step->argument);
		at_ns = step->end_ns > at_ns ? step->end_ns : at_ns;
		i++;
	}
	if (!s->ended || s->by_caller) {
		wait_until(k, at_ns, s->end_ns);
		append(k, "hangup", "");
	}
}

int script_make(const struct dialogs_call *call,
		const struct call_summary *summary, struct anonymise *anonymise,
		const char *host, json_t *notes, struct script *ret)
{
	struct maker *k = calloc(1, sizeof(*k));

	ret->dtmf_mode = NULL;
	ret->received[0] = '\0';
	ret->actions = json_array();
	if (!k || !ret->actions) {
		free(k);
		json_decref(ret->actions);
		return -ENOMEM;
	}
	k->call = call;
	k->summary = summary;
	k->anonymise = anonymise;
	k->host = host;
	k->notes = notes;
	k->actions = ret->actions;
	if (summary->established_ns) {
		collect(k, ret);
		ret->dtmf_mode = mode_of_digits(k);
		append_established(k);
	} else if (summary->ended && summary->by_caller) {
		wait_until(k, summary->invite_ns, summary->end_ns);
		append(k, "hangup", "");
	}
	free(k);
	return 0;
}
