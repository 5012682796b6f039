#include "control/server/backup/snapshot.h"

#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/store/store.h"
#include "control/server/store/store_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* How often the command looks for a signal while the controller copies. */
#define SIGNAL_POLL_MS 200

/* Time for the controller to delete a copy. */
#define CLOSE_TIMEOUT_MS 5000

#define ANSWER_BYTES 512

int snapshot_supported(const struct controller_conf *conf, const char *what)
{
	if (database_is_file(conf->database))
		return 0;
	log_error("%s is for SQLite, the configured database is PostgreSQL: "
		  "use pg_dump and pg_restore for it, and copy the folders "
		  "artifacts and appimages of %s",
		  what, conf->state_dir);
	return -ENOTSUP;
}

int snapshot_paths(const struct controller_conf *conf,
		   char database[static CONF_PATH_BYTES],
		   char copy[static CONF_PATH_BYTES])
{
	int err = conf_path(database, CONF_PATH_BYTES, conf->state_dir,
			    conf->database);

	if (err >= 0)
		err = str_print(copy, CONF_PATH_BYTES, "%s.snapshot", database);
	return err < 0 ? err : 0;
}

int snapshot_address(struct sockaddr_un *ret,
		     const struct controller_conf *conf, int *ret_dir_fd)
{
	int fd = open(conf->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ret->sun_family = AF_UNIX;
	str_print(ret->sun_path, sizeof(ret->sun_path),
		  "/proc/self/fd/%d/" SNAPSHOT_SOCKET, fd);
	*ret_dir_fd = fd;
	return 0;
}

bool snapshot_interrupted(void *arg)
{
	sigset_t pending;

	(void)arg;
	sigpending(&pending);
	return sigismember(&pending, SIGINT) == 1 ||
	       sigismember(&pending, SIGTERM) == 1;
}

static int connect_to(const struct controller_conf *conf)
{
	struct sockaddr_un address;
	int dir_fd = -1;
	int fd, err;

	err = snapshot_address(&address, conf, &dir_fd);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		if (fd >= 0)
			close(fd);
	}
	close(dir_fd);
	return err ? err : fd;
}

/* Read the answer's line. @return 0; -ECANCELED; -ECONNRESET; -errno */
static int read_answer(int fd, char answer[static ANSWER_BYTES])
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	size_t used = 0;

	while (used < ANSWER_BYTES - 1) {
		ssize_t got;

		if (snapshot_interrupted(NULL))
			return -ECANCELED;
		if (poll(&readable, 1, SIGNAL_POLL_MS) <= 0)
			continue;
		got = read(fd, answer + used, ANSWER_BYTES - 1 - used);
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		used += (size_t)got;
		if (answer[used - 1] == '\n')
			break;
	}
	answer[used > 0 ? used - 1 : 0] = '\0';
	return 0;
}

/* Ask the controller that has the database. */
static int ask(struct snapshot *s, const struct controller_conf *conf,
	       const char *database)
{
	static const char request[] = "snapshot\n";
	char answer[ANSWER_BYTES];
	int err;

	s->live = true;
	s->fd = connect_to(conf);
	if (s->fd < 0) {
		log_error("database %s is in use by a process that does not "
			  "answer at %s/" SNAPSHOT_SOCKET " (%s): it may be "
			  "starting, or of an earlier version. Try again, or "
			  "stop it first",
			  database, conf->state_dir, strerror(-s->fd));
		return s->fd;
	}
	/* a controller that refuses at once may not read it: see the answer */
	(void)send(s->fd, request, sizeof(request) - 1, MSG_NOSIGNAL);
	err = read_answer(s->fd, answer);
	if (err == 0 && strcmp(answer, "ok") == 0)
		return 0;
	if (err == 0)
		log_error("the controller made no copy of its database: %s",
			  answer + strcspn(answer, " "));
	else if (err != -ECANCELED)
		log_error("the controller did not answer: %s", strerror(-err));
	close(s->fd);
	return err ? err : -EIO;
}

int snapshot_take(struct snapshot *ret, const struct controller_conf *conf)
{
	char database[CONF_PATH_BYTES];
	struct snapshot s = {.live = false};
	int err = snapshot_paths(conf, database, s.path);

	if (err)
		return err;
	if (access(database, F_OK)) {
		err = -errno;
		log_error("database %s: %s; is this the configuration of the "
			  "controller (--config FILE)?",
			  database, strerror(errno));
		return err;
	}
	err = database_lock(&s.fd, database);
	if (err == -EBUSY) {
		err = ask(&s, conf, database);
	} else if (err) {
		log_error("%s.lock: %s", database, strerror(-err));
	} else {
		unlink(s.path); /* left by a crash */
		err = database_copy(database, false, s.path,
				    snapshot_interrupted, NULL);
		if (err)
			close(s.fd);
	}
	if (err == 0)
		*ret = s;
	return err;
}

/* Wait until the controller has deleted it: it can be asked again then. */
static void wait_for_close(int fd)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	char byte;

	if (shutdown(fd, SHUT_WR))
		return;
	while (poll(&readable, 1, CLOSE_TIMEOUT_MS) > 0 &&
	       read(fd, &byte, 1) > 0)
		;
}

void snapshot_release(struct snapshot *s)
{
	if (s->live)
		wait_for_close(s->fd);
	else
		unlink(s->path);
	close(s->fd);
}
