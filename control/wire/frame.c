#include "control/wire/frame.h"

#include "base/buf.h"
#include "control/wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE_BYTES_MAX ((size_t)64 << 20)
/* Of results, which their sender keeps and sends again: the rest is for messages that
 * nobody repeats. */
#define TEXT_BYTES_MAX (QUEUE_BYTES_MAX - WIRE_FRAME_BYTES)
#define READ_BYTES     65536
#define JSON_FLAGS     (JSON_COMPACT | JSON_EXACT)

struct wire_channel {
	int fd;
	bool closed;    /* end of file seen */
	size_t taken;   /* bytes of `in` that were handed out last */
	size_t scanned; /* bytes of `in` known to have no line end */
	struct buf in;
	struct buf out;
	size_t out_done; /* bytes of out already written */
};

int wire_channel_new(struct wire_channel **ret, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct wire_channel *c;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->fd = fd;
	/* a job has passwords */
	buf_init_secret(&c->in, WIRE_FRAME_BYTES + READ_BYTES);
	buf_init_secret(&c->out, QUEUE_BYTES_MAX);
	*ret = c;
	return 0;
}

struct wire_channel *wire_channel_free(struct wire_channel *c)
{
	if (c) {
		close(c->fd);
		buf_release(&c->in);
		buf_release(&c->out);
		free(c);
	}
	return NULL;
}

int wire_channel_fd(const struct wire_channel *c)
{
	return c->fd;
}

/** json_dump_callback_t: appends to out, at most a frame since out_start. */
struct frame_sink {
	struct buf *out;
	size_t start;
	int err;
};

static int sink(const char *data, size_t len, void *arg)
{
	struct frame_sink *s = arg;

	if (s->out->used - s->start + len > WIRE_FRAME_BYTES - 1)
		s->err = -EMSGSIZE;
	else
		s->err = buf_add(s->out, data, len);
	return s->err ? -1 : 0;
}

/**
 * End the frame that begins at `start`, and write as much as the socket takes.
 * @param err  of writing its text; if not 0 the frame is removed again
 */
static int frame_end(struct wire_channel *c, size_t start, int err)
{
	int left;

	if (!err)
		err = buf_add(&c->out, "\n", 1);
	if (err) {
		bool full = err == -EMSGSIZE &&
			    c->out.ceiling - start < WIRE_FRAME_BYTES;

		c->out.used = start;
		return full ? -ENOBUFS : err;
	}
	left = wire_channel_flush(c);
	return left < 0 ? left : 0;
}

int wire_channel_send(struct wire_channel *c, json_t *message)
{
	struct frame_sink s = {.out = &c->out, .start = c->out.used};

	if (json_dump_callback(message, sink, &s, JSON_FLAGS) && !s.err)
		s.err = -ENOMEM;
	return frame_end(c, s.start, s.err);
}

int wire_channel_send_text(struct wire_channel *c, const char *text, size_t len)
{
	struct frame_sink s = {.out = &c->out, .start = c->out.used};

	if (len < WIRE_FRAME_BYTES && s.start + len >= TEXT_BYTES_MAX)
		return -ENOBUFS;
	(void)sink(text, len, &s);
	return frame_end(c, s.start, s.err);
}

int wire_channel_flush(struct wire_channel *c)
{
	while (c->out_done < c->out.used) {
		/* send() and MSG_NOSIGNAL: a closed peer gives EPIPE, no
		 * SIGPIPE. */
		ssize_t n = send(c->fd, c->out.data + c->out_done,
				 c->out.used - c->out_done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0)
			return -EPIPE;
		c->out_done += (size_t)n;
	}
	/* Move the rest only when at least half is written: moving costs. */
	if (c->out_done > 0 && c->out_done >= c->out.used - c->out_done) {
		buf_consume(&c->out, c->out_done);
		c->out_done = 0;
	}
	return (int)(c->out.used - c->out_done);
}

/** Take one line. @return 1; 0 no complete line yet; -EBADMSG; -EMSGSIZE */
static int take_line(struct wire_channel *c, json_t **ret)
{
	char *end = c->in.used > c->scanned
			    ? memchr(c->in.data + c->scanned, '\n',
				     c->in.used - c->scanned)
			    : NULL;
	json_t *message;
	size_t len;

	if (!end) {
		c->scanned = c->in.used;
		return c->in.used >= WIRE_FRAME_BYTES ? -EMSGSIZE : 0;
	}
	len = (size_t)(end - c->in.data);
	if (len >= WIRE_FRAME_BYTES)
		return -EMSGSIZE;
	message = json_loadb(c->in.data, len, JSON_REJECT_DUPLICATES, NULL);
	c->taken = len + 1;
	c->scanned = 0;
	if (!json_is_object(message)) {
		json_decref(message);
		return -EBADMSG;
	}
	*ret = message;
	return 1;
}

const char *wire_channel_text(const struct wire_channel *c, size_t *ret_len)
{
	*ret_len = c->taken ? c->taken - 1 : 0;
	return c->in.data;
}

int wire_channel_receive(struct wire_channel *c, json_t **ret)
{
	buf_consume(&c->in, c->taken);
	c->taken = 0;
	for (;;) {
		char data[READ_BYTES];
		int got = take_line(c, ret);
		ssize_t n;
		int err;

		if (got != 0)
			return got;
		if (c->closed)
			return -EPIPE;
		n = read(c->fd, data, sizeof(data));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n <= 0) {
			c->closed = true;
			return -EPIPE;
		}
		err = buf_add(&c->in, data, (size_t)n);
		explicit_bzero(data, (size_t)n);
		if (err)
			return err;
	}
}
