/*
 * Output of a baresip. The first octet selects its control connection
 * (netstrings of JSON), fed in pieces, or its printed output. Everything that
 * is delivered lies within the input, and parsing continues where the previous
 * message ended.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sip/baresip/event.h"
#include "sip/baresip/netstring.h"
#include "sip/baresip/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_so)
{
	if (!is_so)
		abort();
}

static void control(const char *data, size_t size)
{
	struct baresip_message m;
	size_t used = 0;
	size_t at = 0;
	size_t len = 0;

	while (netstring_find(data + used, size - used, &at, &len) == 0) {
		must(at + len < size - used && len <= NETSTRING_BYTES_MAX);
		must(data[used + at + len] == ',');
		if (baresip_message_parse(&m, data + used + at, len) == 0) {
			must(m.event <= BARESIP_OTHER);
			must(memchr(m.token, 0, sizeof(m.token)) != NULL);
			must(memchr(m.id, 0, sizeof(m.id)) != NULL);
			must(memchr(m.text, 0, sizeof(m.text)) != NULL);
		}
		used += at + len + 1;
	}
}

struct counts {
	size_t messages;
	size_t lines;
	size_t bytes;
};

static void traced(const struct baresip_traced *m, void *arg)
{
	struct counts *n = arg;
	char *copy = malloc(m->len + 1);

	must(copy != NULL);
	must(!m->addressed || (m->src.len > 0 && m->dst.len > 0));
	memcpy(copy, m->data, m->len); /* every byte of it is readable */
	free(copy);
	n->messages++;
	n->bytes += m->len;
}

static void line(const char *text, void *arg)
{
	struct counts *n = arg;

	must(strlen(text) < BARESIP_LINE_BYTES && !strchr(text, '\n'));
	n->lines++;
}

static void printed(const char *data, size_t size, size_t step)
{
	struct counts n = {0};
	struct baresip_trace t;

	baresip_trace_init(&t, traced, line, &n);
	for (size_t i = 0; i < size; i += step)
		must(baresip_trace_feed(&t, data + i,
					size - i < step ? size - i : step) ==
		     0);
	must(n.bytes <= size);
	baresip_trace_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] & 1)
		control((const char *)data + 1, size - 1);
	else
		printed((const char *)data + 1, size - 1,
			1 + (size_t)(data[0] >> 1) * 7);
	return 0;
}
