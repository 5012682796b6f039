/*
 * What a SIPp writes. The first octet selects the message log, the statistics, the
 * error log or a scenario, and the size of the pieces. Everything that is delivered
 * lies within the input, and pieces of another size deliver the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sip/sipp/logs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_so)
{
	if (!is_so)
		abort();
}

struct counts {
	size_t items;
	size_t bytes;
	uint64_t sum;
};

static void add(struct counts *n, const char *data, size_t len)
{
	n->items++;
	n->bytes += len;
	for (size_t i = 0; i < len; i++)
		n->sum = n->sum * 31 + (uint8_t)data[i];
}

static void message(bool sent, bool tcp, const char *data, size_t len,
		    void *arg)
{
	must(len > 0 && len <= SIPP_MESSAGE_MAX);
	add(arg, data, len);
	add(arg, sent ? "s" : tcp ? "t" : "u", 1);
}

static void sentence(const char *text, void *arg)
{
	must(text[0] && strlen(text) < SIPP_SENTENCE_BYTES);
	must(!strchr(text, '\n'));
	add(arg, text, strlen(text));
}

static struct counts messages(const char *data, size_t size, size_t step)
{
	struct counts n = {0};
	struct sipp_messages m;

	sipp_messages_init(&m, message, &n);
	for (size_t i = 0; i < size; i += step)
		must(sipp_messages_feed(&m, data + i,
					size - i < step ? size - i : step) ==
		     0);
	must(n.bytes <= 2 * size);
	sipp_messages_release(&m);
	return n;
}

static struct counts statistics(const char *data, size_t size, size_t step)
{
	struct counts n = {0};
	struct sipp_statistics s;

	sipp_statistics_init(&s);
	for (size_t i = 0; i < size; i += step)
		must(sipp_statistics_feed(&s, data + i,
					  size - i < step ? size - i : step) ==
		     0);
	for (size_t i = 0; s.known && i < SIPP_COUNTER_COUNT; i++) {
		const char *name;

		n.sum = n.sum * 31 + sipp_counter(&s.counters, i, &name);
		must(name[0] != '\0');
	}
	sipp_statistics_release(&s);
	return n;
}

static struct counts errors(const char *data, size_t size, size_t step)
{
	struct counts n = {0};
	struct sipp_errors e;

	sipp_errors_init(&e, sentence, &n);
	for (size_t i = 0; i < size; i += step)
		must(sipp_errors_feed(&e, data + i,
				      size - i < step ? size - i : step) == 0);
	sipp_errors_release(&e);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct counts (*const parsers[])(
		const char *, size_t, size_t) = {messages, statistics, errors};
	struct counts whole;
	struct counts pieces;
	const char *text;
	size_t which;
	size_t line;

	if (size < 2)
		return 0;
	which = data[0] & 3;
	text = (const char *)data + 1;
	if (which == 3) {
		line = sipp_scenario_command(text, size - 1);
		must(line <= size);
		must(!line || memmem(text, size - 1, "<exec", 5));
		return 0;
	}
	whole = parsers[which](text, size - 1, size);
	pieces = parsers[which](text, size - 1, 1 + (size_t)(data[0] >> 2));
	must(whole.items == pieces.items && whole.bytes == pieces.bytes &&
	     whole.sum == pieces.sum);
	return 0;
}
