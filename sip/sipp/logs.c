#include "sip/sipp/logs.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "base/str.h"

#define HEAD_MAX   64 /* "UDP message received [301] bytes :" */
#define BUFFER_MAX ((size_t)SIPP_MESSAGE_MAX + 4096)

/* ---- messages ---- */

void sipp_messages_init(struct sipp_messages *m, sipp_message_h *message_h,
			void *arg)
{
	*m = (struct sipp_messages){.message_h = message_h, .arg = arg};
	buf_init(&m->data, BUFFER_MAX);
}

void sipp_messages_release(struct sipp_messages *m)
{
	if (m->data.data) /* digests, keys of SDP */
		explicit_bzero(m->data.data, m->data.allocated);
	buf_release(&m->data);
}

struct head {
	bool tcp;
	bool sent;
	size_t len;
};

/* "UDP message sent (474 bytes):", "TCP message received [301] bytes :" */
static bool head_parse(struct head *ret, const char *line, size_t len)
{
	static const char *const begins[] = {
		"UDP message received [", "UDP message sent (",
		"TCP message received [", "TCP message sent ("};
	size_t bytes = 0;

	if (len > HEAD_MAX)
		return false;
	for (size_t i = 0; i < 4; i++) {
		size_t skip = strlen(begins[i]);
		size_t at = skip;

		if (len <= skip || memcmp(line, begins[i], skip) != 0)
			continue;
		while (at < len && line[at] >= '0' && line[at] <= '9' &&
		       bytes <= SIPP_MESSAGE_MAX)
			bytes = bytes * 10 + (size_t)(line[at++] - '0');
		if (at == skip)
			return false;
		*ret = (struct head){
			.tcp = i >= 2, .sent = i % 2 == 1, .len = bytes};
		return true;
	}
	return false;
}

enum step {
	STEP_TAKEN, /* bytes were consumed */
	STEP_WAITS, /* for more */
};

/* The line at this place. @return false: it has no end yet */
static bool line_at(const struct buf *b, size_t at, size_t *ret_len)
{
	const char *end =
		at < b->used ? memchr(b->data + at, '\n', b->used - at) : NULL;

	if (!end)
		return false;
	*ret_len = (size_t)(end - (b->data + at));
	return true;
}

/* The buffer begins with a line. If that is the head of a message, report it; any other
 * line is dropped. */
static enum step message_step(struct sipp_messages *m)
{
	struct buf *b = &m->data;
	struct head head;
	size_t len;
	size_t at;

	if (!line_at(b, 0, &len)) {
		if (b->used > SIPP_LINE_MAX) {
			buf_consume(b, b->used);
			return STEP_TAKEN;
		}
		return STEP_WAITS;
	}
	if (!head_parse(&head, b->data, len)) {
		buf_consume(b, len + 1);
		return STEP_TAKEN;
	}
	at = len + 2; /* a blank line follows */
	if (head.len > SIPP_MESSAGE_MAX) {
		m->left_out++;
		buf_consume(b, len + 1);
		return STEP_TAKEN;
	}
	if (b->used < at + head.len)
		return STEP_WAITS;
	if (b->data[len + 1] == '\n' && head.len > 0)
		m->message_h(head.sent, head.tcp, b->data + at, head.len,
			     m->arg);
	/* the message is of the peer: what follows it is looked for by the rule */
	buf_consume(b, b->data[len + 1] == '\n' ? at + head.len : len + 1);
	return STEP_TAKEN;
}

int sipp_messages_feed(struct sipp_messages *m, const char *data, size_t len)
{
	while (len > 0) {
		size_t room = BUFFER_MAX - m->data.used;
		size_t n = len < room ? len : room;
		int err = buf_add(&m->data, data, n);

		if (err)
			return err;
		data += n;
		len -= n;
		while (message_step(m) == STEP_TAKEN && m->data.used > 0)
			continue;
	}
	return 0;
}

/* ---- lines ---- */

/* Add a piece up to the end of a line. @return the bytes taken; *ret_whole: the line is
 * complete in b, empty if it was too long; -ENOMEM */
static ssize_t line_add(struct buf *b, bool *overlong, const char *data,
			size_t len, size_t max, bool *ret_whole)
{
	const char *end = memchr(data, '\n', len);
	size_t n = end ? (size_t)(end - data) : len;

	if (b->used + n > max) {
		*overlong = true;
		b->used = 0;
	}
	if (!*overlong && buf_add(b, data, n))
		return -ENOMEM;
	*ret_whole = end != NULL;
	return (ssize_t)(n + (end ? 1 : 0));
}

/* ---- statistics ---- */

#define COUNTER_NAME(member, name) name,
static const char *const counter_names[] = {SIPP_COUNTERS(COUNTER_NAME)};
#undef COUNTER_NAME

void sipp_statistics_init(struct sipp_statistics *s)
{
	*s = (struct sipp_statistics){.known = false};
	buf_init(&s->line, SIPP_LINE_MAX);
}

void sipp_statistics_release(struct sipp_statistics *s)
{
	buf_release(&s->line);
}

static uint64_t *counter(struct sipp_counters *c, size_t i)
{
#define COUNTER_OF(member, name) &c->member,
	uint64_t *const all[] = {SIPP_COUNTERS(COUNTER_OF)};
#undef COUNTER_OF

	return all[i];
}

uint64_t sipp_counter(const struct sipp_counters *c, size_t i,
		      const char **ret_name)
{
	struct sipp_counters copy = *c;

	*ret_name = counter_names[i];
	return *counter(&copy, i);
}

/* The line of names: "...;FailedCall(P);FailedCall(C);..." */
static void names_take(struct sipp_statistics *s, char *line)
{
	size_t column = 0;
	char *name;

	memset(s->columns, 0, sizeof(s->columns));
	while ((name = strsep(&line, ";"))) {
		size_t len = strlen(name);

		column++;
		if (len < 3 || strcmp(name + len - 3, "(C)") != 0)
			continue;
		for (size_t i = 0; i < SIPP_COUNTER_COUNT; i++) {
			if (strlen(counter_names[i]) == len - 3 &&
			    memcmp(counter_names[i], name, len - 3) == 0)
				s->columns[i] = column;
		}
	}
}

static void figures_take(struct sipp_statistics *s, char *line)
{
	struct sipp_counters found = {0};
	size_t column = 0;
	size_t wanted = 0;
	size_t have = 0;
	char *text;

	while ((text = strsep(&line, ";"))) {
		column++;
		for (size_t i = 0; i < SIPP_COUNTER_COUNT; i++) {
			if (s->columns[i] == column &&
			    str_to_u64(text, UINT64_MAX, counter(&found, i)) ==
				    0)
				have++;
		}
	}
	for (size_t i = 0; i < SIPP_COUNTER_COUNT; i++)
		wanted += s->columns[i] != 0;
	/* a line that was cut off has no figures at all */
	if (wanted == 0 || have < wanted)
		return;
	s->counters = found;
	s->known = true;
}

int sipp_statistics_feed(struct sipp_statistics *s, const char *data,
			 size_t len)
{
	static const char names[] = "StartTime;";

	while (len > 0) {
		bool whole;
		ssize_t n = line_add(&s->line, &s->overlong, data, len,
				     SIPP_LINE_MAX, &whole);

		if (n < 0)
			return (int)n;
		data += n;
		len -= (size_t)n;
		if (!whole)
			continue;
		if (s->line.used >= sizeof(names) - 1 && !s->overlong) {
			if (memcmp(s->line.data, names, sizeof(names) - 1) == 0)
				names_take(s, s->line.data);
			else
				figures_take(s, s->line.data);
		}
		s->line.used = 0;
		s->overlong = false;
	}
	return 0;
}

/* ---- errors ---- */

void sipp_errors_init(struct sipp_errors *e, sipp_sentence_h *sentence_h,
		      void *arg)
{
	*e = (struct sipp_errors){.sentence_h = sentence_h, .arg = arg};
	buf_init(&e->line, SIPP_LINE_MAX);
}

void sipp_errors_release(struct sipp_errors *e)
{
	buf_release(&e->line);
}

/* An entry begins "2026-11-28\t11:15:24.699046\t1795864524.699046: ". @return its
 * sentence; NULL: none begins here */
static const char *stamp_skip(const char *text)
{
	static const char shape[] = "9999-99-99\t99:99:99.999999\t";
	size_t i;

	for (i = 0; shape[i]; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (shape[i] == '9' ? !digit : text[i] != shape[i])
			return NULL;
	}
	i += strspn(text + i, "0123456789.");
	if (text[i] != ':')
		return NULL;
	i++;
	return text + i + strspn(text + i, " ");
}

/* An entry that ends with a message in quotes has no line feed: the next one begins behind
 * the quote. @return its sentence; NULL: the line continues an entry */
static const char *sentence_of(const char *line)
{
	const char *sentence = stamp_skip(line);

	for (const char *quote = strchr(line, '\''); !sentence && quote;
	     quote = strchr(quote + 1, '\''))
		sentence = stamp_skip(quote + 1);
	return sentence;
}

static void sentence_tell(struct sipp_errors *e)
{
	char text[SIPP_SENTENCE_BYTES];
	const char *sentence = sentence_of(e->line.data);

	if (!sentence || !sentence[0])
		return;
	(void)str_print(text, sizeof(text), "%s", sentence);
	str_utf8_repair(text);
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	}
	e->sentence_h(text, e->arg);
}

int sipp_errors_feed(struct sipp_errors *e, const char *data, size_t len)
{
	while (len > 0) {
		bool whole;
		ssize_t n = line_add(&e->line, &e->overlong, data, len,
				     SIPP_LINE_MAX, &whole);

		if (n < 0)
			return (int)n;
		data += n;
		len -= (size_t)n;
		if (!whole)
			continue;
		if (e->line.used > 0 && !e->overlong)
			sentence_tell(e);
		e->line.used = 0;
		e->overlong = false;
	}
	return 0;
}

/* ---- the scenario ---- */

/* Any attribute of this name behind the first <exec counts, wherever a parser sees the end
 * of that element: to refuse too much does no harm. "int_cmd" is another name. */
size_t sipp_scenario_command(const char *xml, size_t len)
{
	static const char element[] = "<exec";
	static const char name[] = "command";
	const char *end = xml + len;
	const char *at = memmem(xml, len, element, sizeof(element) - 1);
	size_t line = 1;

	while (at &&
	       (at = memmem(at, (size_t)(end - at), name, sizeof(name) - 1))) {
		const char *after = at + sizeof(name) - 1;

		while (after < end && strchr(" \t\r\n", *after) && *after)
			after++;
		if (after < end && *after == '=') {
			for (const char *c = xml; c < at; c++)
				line += *c == '\n';
			return line;
		}
		at += sizeof(name) - 1;
	}
	return 0;
}
