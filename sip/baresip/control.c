#include "sip/baresip/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sip/baresip/netstring.h"

#define CONNECT_MS   50 /* between tries */
#define COMMANDS_MAX (1u << 20)
#define READ_BYTES   16384

static void ready(int flags, void *arg);
static void connect_try(void *arg);

static void unwatch(struct baresip_control *c)
{
	if (c->fd < 0)
		return;
	fd_close(c->fd);
	close(c->fd);
	c->fd = -1;
}

static void broken(struct baresip_control *c, const char *what, int err)
{
	char reason[128];

	snprintf(reason, sizeof(reason), "%s%s%s", what, err ? ": " : "",
		 err ? strerror(err) : "");
	c->handlers.broken_h(reason, c->handlers.arg);
}

static void watch(struct baresip_control *c)
{
	fd_listen(c->fd,
		  FD_READ | (c->connecting || c->out.used ? FD_WRITE : 0),
		  ready, c);
}

static void flush(struct baresip_control *c)
{
	ssize_t n = 1;

	while (c->fd >= 0 && c->out.used > 0 && n > 0) {
		n = send(c->fd, c->out.data, c->out.used, MSG_NOSIGNAL);
		if (n > 0)
			buf_consume(&c->out, (size_t)n);
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		broken(c, "baresip's control connection broke", errno);
}

static void answered(struct baresip_control *c)
{
	if (c->asked > 0)
		c->asked--;
	c->asked_ns = c->asked ? clock_mono_ns() : 0;
}

/* Handle the complete netstrings. */
static void messages_take(struct baresip_control *c)
{
	size_t at;
	size_t len;
	int err = -EAGAIN;

	while (!c->ended && c->in.used > 0 &&
	       (err = netstring_find(c->in.data, c->in.used, &at, &len)) == 0) {
		struct baresip_message m;

		err = baresip_message_parse(&m, c->in.data + at, len);
		buf_consume(&c->in, at + len + 1);
		if (err)
			continue; /* of an unknown kind */
		if (m.event == BARESIP_ANSWER)
			answered(c);
		c->handlers.message_h(&m, c->handlers.arg);
	}
	if (!c->ended && c->in.used > 0 && err != -EAGAIN)
		broken(c, "baresip's control connection sent no netstring", 0);
}

static void take(struct baresip_control *c)
{
	char data[READ_BYTES];
	ssize_t n = recv(c->fd, data, sizeof(data), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		unwatch(c);
		c->handlers.closed_h(c->handlers.arg);
		return;
	}
	c->handlers.before_h(c->handlers.arg);
	if (c->ended)
		return;
	if (buf_add(&c->in, data, (size_t)n))
		broken(c, "out of memory", 0);
	else
		messages_take(c);
}

static void connected(struct baresip_control *c)
{
	c->connecting = false;
	c->up = true;
	if (c->asked)
		c->asked_ns = clock_mono_ns();
	c->handlers.up_h(c->handlers.arg);
}

static void try_again(struct baresip_control *c)
{
	unwatch(c);
	c->connecting = false;
	mono_timer_start(&c->tmr_connect, CONNECT_MS, connect_try, c);
}

static void ready(int flags, void *arg)
{
	struct baresip_control *c = arg;
	int err = 0;
	socklen_t len = sizeof(err);

	if (c->connecting) {
		getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len);
		if (err) { /* not listening yet */
			try_again(c);
			return;
		}
		connected(c);
	}
	if (!c->ended && (flags & FD_WRITE))
		flush(c);
	if (!c->ended && (flags & (FD_READ | FD_EXCEPT)))
		take(c);
	if (!c->ended && c->fd >= 0)
		watch(c);
}

static void connect_try(void *arg)
{
	struct baresip_control *c = arg;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0) {
		broken(c, "a socket", errno);
		return;
	}
	c->connecting = true;
	if (connect(c->fd, (struct sockaddr *)&c->addr, sizeof(c->addr)) &&
	    errno != EINPROGRESS)
		try_again(c);
	else
		watch(c);
}

void baresip_control_init(struct baresip_control *c,
			  const struct baresip_control_handlers *handlers)
{
	*c = (struct baresip_control){.handlers = *handlers, .fd = -1};
	buf_init(&c->in, NETSTRING_BYTES_MAX + READ_BYTES + 16);
	buf_init(&c->out, COMMANDS_MAX);
}

void baresip_control_start(struct baresip_control *c,
			   const struct sockaddr_in *addr)
{
	c->addr = *addr;
	mono_timer_start(&c->tmr_connect, CONNECT_MS, connect_try, c);
}

int baresip_control_command(struct baresip_control *c, const char *command,
			    const char *params, const char *token)
{
	int err;

	if (c->ended)
		return 0; /* lost_h reports the end */
	err = baresip_command_write(&c->out, command, params, token);
	if (err)
		return err;
	if (c->asked++ == 0 && c->up)
		c->asked_ns = clock_mono_ns();
	if (!c->up)
		return 0;
	flush(c);
	if (!c->ended && c->fd >= 0)
		watch(c);
	return 0;
}

void baresip_control_end(struct baresip_control *c)
{
	c->ended = true;
	mono_timer_cancel(&c->tmr_connect);
	unwatch(c);
}

void baresip_control_release(struct baresip_control *c)
{
	baresip_control_end(c);
	buf_release(&c->in);
	buf_release(&c->out);
}
