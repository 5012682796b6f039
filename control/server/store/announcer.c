#include "control/server/store/announcer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/store/postgresql_uri.h"
#include "control/server/store/store.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Interval of the query that finds what was not heard. */
#define LOOK_MS 1000
/* Pause before the next attempt to connect. */
#define CONNECT_PAUSE_MS 1000
/* Calls of announcer_tell() within this become one message. */
#define COLLECT_NS (5 * NS_PER_MS)
/* A server that says nothing for longer is taken as lost. */
#define ANSWER_TIMEOUT_NS (10 * NS_PER_S)

#define DIGEST_BYTES 40

/* What parked requests wait for: leases that are offered or waiting, steps that
 * begin, phases. */
#define DIGEST                                                                       \
	"SELECT md5(coalesce(string_agg(concat_ws(' ', r.id, r.phase, "              \
	"r.go_step, (SELECT string_agg(l.role || l.state || l.epoch, ',' ORDER BY "  \
	"l.role, l.shard) FROM lease l WHERE l.run_id = r.id)), ';' ORDER BY r.id)," \
	" '')) FROM run r WHERE r.phase <> 'done'"

struct announcer {
	/* constant after start */
	char *uri;
	announcer_h *heard_h;
	void *arg;
	int event_fd;
	pthread_t thread;

	/* relaxed: a write to event_fd follows, which the thread reads */
	atomic_bool tell;
	atomic_bool stop;

	/* thread */
	PGconn *conn; /* NULL: not connected */
	char digest[DIGEST_BYTES];
};

static bool stopping(const struct announcer *a)
{
	return atomic_load_explicit(&a->stop, memory_order_relaxed);
}

/* Wait for the server, a call of another thread or the time. */
static void wait_for_any(struct announcer *a, int64_t ms)
{
	struct pollfd fds[] = {
		{.fd = a->event_fd, .events = POLLIN},
		{.fd = a->conn ? PQsocket(a->conn) : -1, .events = POLLIN},
	};
	uint64_t count;

	if (poll(fds, 2, (int)ms) <= 0)
		return;
	if (fds[0].revents && read(a->event_fd, &count, sizeof(count)) < 0)
		log_debug("announcements: %s", strerror(errno));
}

static void lose(struct announcer *a)
{
	PQfinish(a->conn);
	a->conn = NULL;
}

/* @return the last result of a statement, successful; NULL: the connection is lost, or
 * the thread is to stop */
static PGresult *ask(struct announcer *a, const char *sql)
{
	const int64_t until = clock_mono_ns() + ANSWER_TIMEOUT_NS;
	PGresult *result, *last = NULL;

	if (!PQsendQuery(a->conn, sql))
		return NULL;
	for (;;) {
		while (PQisBusy(a->conn)) {
			wait_for_any(a, LOOK_MS);
			if (stopping(a) || clock_mono_ns() > until ||
			    !PQconsumeInput(a->conn)) {
				PQclear(last);
				return NULL;
			}
		}
		result = PQgetResult(a->conn);
		if (!result)
			break;
		PQclear(last);
		last = result;
	}
	if (PQresultStatus(last) == PGRES_COMMAND_OK ||
	    PQresultStatus(last) == PGRES_TUPLES_OK)
		return last;
	PQclear(last);
	return NULL;
}

static int run(struct announcer *a, const char *sql)
{
	PGresult *result = ask(a, sql);

	if (!result)
		return -ENOTCONN;
	PQclear(result);
	return 0;
}

/* @return 1 it is another one than before; 0; -ENOTCONN */
static int look(struct announcer *a)
{
	char before[DIGEST_BYTES];
	PGresult *result = ask(a, DIGEST);

	if (!result)
		return -ENOTCONN;
	str_copy(before, sizeof(before), a->digest);
	str_copy(a->digest, sizeof(a->digest), PQgetvalue(result, 0, 0));
	PQclear(result);
	return strcmp(before, a->digest) != 0;
}

/* @return whether another controller has told something */
static bool hear(struct announcer *a)
{
	PGnotify *notice;
	bool heard = false;

	if (!PQconsumeInput(a->conn))
		return false; /* the next query finds out */
	while ((notice = PQnotifies(a->conn)) != NULL) {
		heard |= notice->be_pid != PQbackendPID(a->conn);
		PQfreemem(notice);
	}
	return heard;
}

static int tell(struct announcer *a)
{
	const struct timespec collect = {.tv_nsec = COLLECT_NS};

	nanosleep(&collect, NULL);
	/* cleared before the message: what changes from now on is told again */
	atomic_store_explicit(&a->tell, false, memory_order_relaxed);
	return run(a, "NOTIFY offhook_runs");
}

/* Serve a connection until it is lost. */
static void follow(struct announcer *a)
{
	int64_t next_ns = 0;
	int err = run(a, "LISTEN offhook_runs");

	while (err == 0 && !stopping(a)) {
		bool heard = hear(a);

		if (atomic_load_explicit(&a->tell, memory_order_relaxed))
			err = tell(a);
		if (err == 0 && (heard || clock_mono_ns() >= next_ns)) {
			int changed = look(a);

			err = changed < 0 ? changed : 0;
			heard |= changed > 0;
			next_ns = clock_mono_ns() + LOOK_MS * NS_PER_MS;
		}
		if (heard)
			a->heard_h(a->arg);
		else if (err == 0)
			wait_for_any(a, LOOK_MS);
	}
}

static void *announcer_thread(void *arg)
{
	struct announcer *a = arg;

	while (!stopping(a)) {
		a->conn = postgresql_connect(a->uri);
		if (a->conn && PQstatus(a->conn) == CONNECTION_OK)
			follow(a);
		lose(a);
		if (!stopping(a))
			wait_for_any(a, CONNECT_PAUSE_MS);
	}
	return NULL;
}

static void call_thread(struct announcer *a)
{
	const uint64_t one = 1;

	if (write(a->event_fd, &one, sizeof(one)) < 0)
		log_warning("announcements: %s", strerror(errno));
}

struct announcer *announcer_free(struct announcer *a)
{
	if (!a)
		return NULL;
	if (a->event_fd >= 0)
		close(a->event_fd);
	free(a->uri);
	free(a);
	return NULL;
}

int announcer_start(struct announcer **ret, const char *database,
		    announcer_h *heard_h, void *arg)
{
	struct announcer *a;
	int err = 0;

	*ret = NULL;
	if (database_is_file(database))
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->heard_h = heard_h;
	a->arg = arg;
	a->uri = strdup(database);
	a->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!a->uri)
		err = -ENOMEM;
	else if (a->event_fd < 0)
		err = -errno;
	else
		err = -pthread_create(&a->thread, NULL, announcer_thread, a);
	if (err) {
		announcer_free(a);
		return err;
	}
	*ret = a;
	return 0;
}

void announcer_tell(struct announcer *a)
{
	if (a &&
	    !atomic_exchange_explicit(&a->tell, true, memory_order_relaxed))
		call_thread(a);
}

void announcer_stop(struct announcer *a)
{
	if (!a || stopping(a))
		return;
	atomic_store_explicit(&a->stop, true, memory_order_relaxed);
	call_thread(a);
	pthread_join(a->thread, NULL);
}
