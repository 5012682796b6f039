#include "sip/baresip/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sockaddr.h"
#include "base/str.h"

static const char begin[] = "\033[36;1m#\n";
static const char end[] = "\033[;m\n";

#define BEGIN_BYTES (sizeof(begin) - 1)
#define END_BYTES   (sizeof(end) - 1)
/* Longest line with the addresses. */
#define HEAD_BYTES 160
#define BUFFER_MAX (BARESIP_MESSAGE_MAX + 4096)

void baresip_trace_init(struct baresip_trace *t, baresip_traced_h *message_h,
			baresip_line_h *line_h, void *arg)
{
	*t = (struct baresip_trace){
		.message_h = message_h, .line_h = line_h, .arg = arg};
	buf_init(&t->data, BUFFER_MAX);
}

void baresip_trace_release(struct baresip_trace *t)
{
	if (t->data.data) /* digests, keys of SDP */
		explicit_bzero(t->data.data, t->data.allocated);
	buf_release(&t->data);
}

/* "10.0.0.1:5060" or "[fd00::1]:5060" */
static int addr_parse(struct media_addr *ret, const char *text)
{
	char host[INET6_ADDRSTRLEN];
	const char *colon = strrchr(text, ':');
	uint64_t port;
	size_t len;

	if (!colon || str_to_u64(colon + 1, 65535, &port))
		return -EBADMSG;
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(host))
		return -EBADMSG;
	memcpy(host, text, len);
	host[len] = '\0';
	*ret = (struct media_addr){.len = 0};
	return sockaddr_parse(&ret->ss, &ret->len, host, (uint16_t)port)
		       ? -EBADMSG
		       : 0;
}

/* "UDP 10.0.0.1:5060 -> 10.0.0.2:5060" */
static int head_parse(struct baresip_traced *ret, const char *line, size_t len)
{
	char copy[HEAD_BYTES];
	char transport[8];
	char src[64];
	char dst[64];

	if (len >= sizeof(copy))
		return -EBADMSG;
	memcpy(copy, line, len);
	copy[len] = '\0';
	if (sscanf(copy, "%7s %63s -> %63s", transport, src, dst) != 3)
		return -EBADMSG;
	if (strcmp(transport, "UDP") == 0)
		ret->transport = SIP_TRANSPORT_UDP;
	else if (strcmp(transport, "TCP") == 0)
		ret->transport = SIP_TRANSPORT_TCP;
	else if (strcmp(transport, "TLS") == 0)
		ret->transport = SIP_TRANSPORT_TLS;
	else
		return -EBADMSG;
	if (addr_parse(&ret->src, src) || addr_parse(&ret->dst, dst))
		return -EBADMSG;
	return 0;
}

/* Look for the addresses in the lines between the marker and the message. */
static int heads_parse(struct baresip_traced *ret, const char *data,
		       const char *close)
{
	while (data < close) {
		const char *line_end =
			memchr(data, '\n', (size_t)(close - data));
		size_t len = (size_t)((line_end ? line_end : close) - data);

		if (head_parse(ret, data, len) == 0)
			return 0;
		data += len + 1;
	}
	return -EBADMSG;
}

/* A Request-Line or a Status-Line (RFC 3261 section 7) */
static bool is_start_line(const char *line, size_t len)
{
	static const char status[] = "SIP/2.0 ";
	static const char request[] = " SIP/2.0\r";

	return (len >= sizeof(status) - 1 &&
		memcmp(line, status, sizeof(status) - 1) == 0) ||
	       (len >= sizeof(request) - 1 &&
		memcmp(line + len - (sizeof(request) - 1), request,
		       sizeof(request) - 1) == 0);
}

/* Find the start line of a SIP message. @return NULL: there is none (yet) */
static const char *message_start(const char *data, const char *close)
{
	static const char colour_end[] = "\033[;m";
	const char *line_end;

	while ((line_end = memchr(data, '\n', (size_t)(close - data)))) {
		/* of a warning before it */
		if (strncmp(data, colour_end, sizeof(colour_end) - 1) == 0)
			data += sizeof(colour_end) - 1;
		if (is_start_line(data, (size_t)(line_end - data)))
			return data;
		data = line_end + 1;
	}
	return NULL;
}

/* Find the end of a message by its Content-Length, so that a marker line within the
 * body does not count. @return 0: not known (yet) */
static size_t body_end(const char *data, size_t len)
{
	static const char name[] = "\nContent-Length:";
	const char *blank = memmem(data, len, "\r\n\r\n", 4);
	const char *field;
	uint64_t bytes = 0;
	size_t head;

	if (!blank)
		return 0;
	head = (size_t)(blank - data) + 4;
	for (field = data; field < blank; field++) {
		if (strncasecmp(field, name, sizeof(name) - 1) == 0)
			break;
	}
	if (field == blank)
		return head;
	field += sizeof(name) - 1;
	while (*field == ' ' || *field == '\t')
		field++;
	for (; *field >= '0' && *field <= '9' && bytes < BUFFER_MAX; field++)
		bytes = 10 * bytes + (uint64_t)(*field - '0');
	return head + (size_t)bytes;
}

/* Skip what is no SIP message, when the next one has begun. */
static size_t skip_message(struct baresip_trace *t, const char *next)
{
	if (!next && t->data.used < BUFFER_MAX)
		return 0;
	t->left_out++;
	return next ? (size_t)(next - t->data.data) : t->data.used;
}

/* Parse a complete message at the start of the buffer. baresip prints the marker, the
 * parts of the addresses, the message and the end marker one by one, and the thread that
 * sends audio may print a line between any two of them. So the message begins at its start
 * line, and addresses that such a line has broken are unknown.
 * @return its bytes; 0: more are needed */
static size_t take_message(struct baresip_trace *t)
{
	const char *data = t->data.data;
	const char *head = data + BEGIN_BYTES;
	const char *close = data + t->data.used;
	const char *next =
		memmem(head, (size_t)(close - head), begin, BEGIN_BYTES);
	struct baresip_traced m = {
		.data = message_start(head, next ? next : close)};
	const char *stop;
	size_t from;

	if (!m.data)
		return skip_message(t, next);
	from = body_end(m.data, (size_t)(close - m.data));
	if (from > (size_t)(close - m.data))
		from = (size_t)(close - m.data);
	stop = memmem(m.data + from, (size_t)(close - m.data) - from, end,
		      END_BYTES);
	if (!stop)
		return skip_message(t, NULL);
	m.len = (size_t)(stop - m.data);
	m.addressed = heads_parse(&m, head, m.data) == 0;
	t->message_h(&m, t->arg);
	return (size_t)(stop - data) + END_BYTES;
}

/* @return bytes of the line; 0: more are needed */
static size_t take_line(struct baresip_trace *t)
{
	const char *data = t->data.data;
	const char *line_end = memchr(data, '\n', t->data.used);
	/* baresip's status line has no line end */
	const char *message = memmem(data, t->data.used, begin, BEGIN_BYTES);
	char line[BARESIP_LINE_BYTES];
	size_t n = 0;

	if (!line_end)
		return t->data.used < BUFFER_MAX ? 0 : t->data.used;
	/* the marker begins with a line end */
	if (message && message < line_end)
		line_end = message;
	for (const char *p = data; p < line_end && n < sizeof(line) - 1; p++) {
		if ((unsigned char)*p >= ' ')
			line[n++] = *p;
	}
	line[n] = '\0';
	if (n > 0)
		t->line_h(line, t->arg);
	return (size_t)(line_end - data) + (line_end == message ? 0 : 1);
}

static void take_all(struct baresip_trace *t)
{
	size_t n = 1;

	while (n > 0 && t->data.used > 0) {
		size_t known =
			t->data.used < BEGIN_BYTES ? t->data.used : BEGIN_BYTES;

		if (memcmp(t->data.data, begin, known) != 0)
			n = take_line(t);
		else if (known < BEGIN_BYTES)
			n = 0;
		else
			n = take_message(t);
		buf_consume(&t->data, n);
	}
}

int baresip_trace_feed(struct baresip_trace *t, const char *data, size_t len)
{
	while (len > 0) {
		size_t room = BUFFER_MAX - t->data.used;
		size_t part = len < room ? len : room;
		int err = buf_add(&t->data, data, part);

		if (err)
			return err;
		take_all(t);
		data += part;
		len -= part;
	}
	return 0;
}
