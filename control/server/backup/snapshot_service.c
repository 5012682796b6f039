#include "control/server/backup/snapshot.h"

#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/store/store.h"
#include "control/server/store/store_copy.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUEST "snapshot\n"

/* Commands that wait to be accepted. */
#define WAITING_MAX 8

/* Time for a command to say what it wants. */
#define REQUEST_TIMEOUT_MS 5000

struct snapshot_service {
	const struct controller_conf *conf; /* constant, borrowed */
	char database[CONF_PATH_BYTES];     /* constant */
	char copy[CONF_PATH_BYTES];         /* constant */
	int listen_fd;
	int stop_fd; /* readable: end */
	pthread_t thread;
	bool started;
};

static bool stopping(void *arg)
{
	const struct snapshot_service *s = arg;
	struct pollfd stop = {.fd = s->stop_fd, .events = POLLIN};

	return poll(&stop, 1, 0) > 0;
}

static void answer(int fd, const char *text)
{
	/* a command that has gone misses it */
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* state_dir may have a mode that lets others in. */
static bool allowed(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static bool asks_for_copy(int fd)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	char request[sizeof(REQUEST)] = "";

	return poll(&readable, 1, REQUEST_TIMEOUT_MS) > 0 &&
	       read(fd, request, sizeof(request) - 1) > 0 &&
	       strcmp(request, REQUEST) == 0;
}

/* The copy stays until the command has done with it, closes the connection or
 * dies. Others are refused meanwhile. */
static void wait_for_end(struct snapshot_service *s, int fd)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
			       {.fd = s->listen_fd, .events = POLLIN},
			       {.fd = s->stop_fd, .events = POLLIN}};

	for (;;) {
		int other;

		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[0].revents || fds[2].revents)
			return;
		other = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (other < 0)
			continue;
		answer(other, "error another backup or check is in progress; "
			      "try again when it has ended\n");
		close(other);
	}
}

static void serve(struct snapshot_service *s, int fd)
{
	int err;

	if (!allowed(fd)) {
		answer(fd, "error only the controller's user and root may ask "
			   "for it\n");
		return;
	}
	if (!asks_for_copy(fd)) {
		answer(fd, "error the request is unknown\n");
		return;
	}
	unlink(s->copy);
	err = database_copy(s->database, true, s->copy, stopping, s);
	if (err == -ECANCELED)
		answer(fd, "error the controller is stopping\n");
	else if (err)
		answer(fd, "error the reason is in the controller's log\n");
	if (err)
		return;
	log_info("a copy of the database was made for a backup or check");
	answer(fd, "ok\n");
	wait_for_end(s, fd);
	unlink(s->copy);
}

static void *service_thread(void *arg)
{
	struct snapshot_service *s = arg;
	struct pollfd fds[] = {{.fd = s->listen_fd, .events = POLLIN},
			       {.fd = s->stop_fd, .events = POLLIN}};

	while (!stopping(s)) {
		int fd;

		if (poll(fds, 2, -1) < 0 || !fds[0].revents)
			continue;
		fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		serve(s, fd);
		close(fd);
	}
	return NULL;
}

static int listen_at(struct snapshot_service *s)
{
	struct sockaddr_un address;
	int dir_fd = -1;
	int err = snapshot_address(&address, s->conf, &dir_fd);

	if (err)
		return err;
	unlink(address.sun_path); /* left by a crash */
	s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listen_fd < 0 ||
	    bind(s->listen_fd, (const struct sockaddr *)&address,
		 sizeof(address)) ||
	    listen(s->listen_fd, WAITING_MAX))
		err = -errno;
	close(dir_fd);
	return err;
}

int snapshot_service_start(struct snapshot_service **ret,
			   const struct controller_conf *conf)
{
	struct snapshot_service *s;
	int err;

	*ret = NULL;
	if (!database_is_file(conf->database))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->conf = conf;
	s->listen_fd = -1;
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	err = s->stop_fd < 0 ? -errno
			     : snapshot_paths(conf, s->database, s->copy);
	if (err == 0) {
		unlink(s->copy); /* left by a crash */
		err = listen_at(s);
	}
	if (err == 0)
		err = -pthread_create(&s->thread, NULL, service_thread, s);
	if (err) {
		log_error("%s/" SNAPSHOT_SOCKET ": %s", conf->state_dir,
			  strerror(-err));
		snapshot_service_stop(s);
		return err;
	}
	s->started = true;
	*ret = s;
	return 0;
}

struct snapshot_service *snapshot_service_stop(struct snapshot_service *s)
{
	struct sockaddr_un address;
	const uint64_t one = 1;
	int dir_fd = -1;

	if (!s)
		return NULL;
	if (s->started && write(s->stop_fd, &one, sizeof(one)) == sizeof(one)) {
		pthread_join(s->thread, NULL);
		if (snapshot_address(&address, s->conf, &dir_fd) == 0) {
			unlink(address.sun_path);
			close(dir_fd);
		}
	}
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	free(s);
	return NULL;
}
