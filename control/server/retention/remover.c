#include "control/server/retention/remover.h"

#include "base/clock.h"
#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/server/request/controller.h"
#include "control/server/retention/retention.h"
#include "control/server/store/artifact_files.h"
#include "control/server/store/store.h"
#include "control/server/store/store_removal.h"
#include "control/server/store/store_thinning.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Least pause after a chunk. It is as long as the chunk took, if that was more:
 * at most half of the writer's time is spent on deleting. */
#define PAUSE_NS (5 * NS_PER_MS)

/* Pause after an error, such as a full disk. */
#define RETRY_NS (10 * NS_PER_S)

struct remover {
	/* constant after start */
	const struct controller_conf *conf;
	struct store *store;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool poked; /* lock */
	bool stop;  /* lock */
};

/* Wait until it is poked, or for a time. @return false: stop */
static bool wait_for(struct remover *r, int64_t ns, bool wake_by_poke)
{
	const int64_t until = clock_mono_ns() + ns;
	const struct timespec deadline = {.tv_sec = until / NS_PER_S,
					  .tv_nsec = until % NS_PER_S};
	bool go;

	pthread_mutex_lock(&r->lock);
	while (!r->stop && !(wake_by_poke && r->poked))
		if (pthread_cond_timedwait(&r->wake, &r->lock, &deadline))
			break;
	if (wake_by_poke)
		r->poked = false;
	go = !r->stop;
	pthread_mutex_unlock(&r->lock);
	return go;
}

/* @return 0 it is gone; -ECANCELED the thread is to stop; -EBUSY; -EIO */
static int carry_out(struct remover *r, const struct removal *removal)
{
	int more;

	if (removal->files)
		artifact_files_delete(r->conf, removal->session_id);
	do {
		const int64_t began = clock_mono_ns();
		int64_t took;

		more = store_removal_step(r->store, removal);
		took = clock_mono_ns() - began;
		if (!wait_for(r, took > PAUSE_NS ? took : PAUSE_NS, false))
			return more == 0 ? 0 : -ECANCELED;
	} while (more > 0);
	if (more == 0)
		log_info("run=%s: %s deleted", removal->session_id,
			 removal->kind);
	return more;
}

/* The next points of a run. @return ns to wait before the next call */
static int64_t thin(struct remover *r, const struct thinning *thinning)
{
	const int64_t began = clock_mono_ns();
	const int more = store_thinning_step(r->store, thinning);
	const int64_t took = clock_mono_ns() - began;

	if (more < 0) {
		log_error("run=%s: its metrics were not thinned: %s",
			  thinning->session_id, strerror(-more));
		return RETRY_NS;
	}
	if (more == 0)
		log_info("run=%s: metrics thinned", thinning->session_id);
	return took > PAUSE_NS ? took : PAUSE_NS;
}

/* One piece of work: what is marked comes first, then retention marks more.
 * @return ns to wait before the next call */
static int64_t work(struct remover *r, int64_t *next_check_ns,
		    struct retention_cursor *cursor)
{
	struct removal removal;
	struct thinning thinning;
	int found = store_removal_next(r->store, &removal);

	if (found > 0)
		return carry_out(r, &removal) < 0 ? RETRY_NS : 0;
	if (found == 0)
		found = store_thinning_next(r->store, &thinning);
	if (found > 0)
		return thin(r, &thinning);
	if (found == 0 && clock_mono_ns() >= *next_check_ns) {
		found = retention_step(r->store, r->conf, store_now_ms(),
				       cursor);
		if (found > 0)
			return PAUSE_NS;
		*cursor = (struct retention_cursor){0};
		*next_check_ns =
			clock_mono_ns() + r->conf->retention_check_s * NS_PER_S;
		if (found == 0)
			log_debug("retention: nothing more is due, next check "
				  "in %" PRIu32 " s",
				  r->conf->retention_check_s);
	}
	if (found < 0) {
		log_error("deletion: %s", strerror(-found));
		return RETRY_NS;
	}
	return *next_check_ns - clock_mono_ns();
}

static void *remover_thread(void *arg)
{
	struct remover *r = arg;
	struct retention_cursor cursor = {0};
	int64_t next_check_ns = 0, pause_ns = 0;

	while (wait_for(r, pause_ns, true))
		pause_ns = work(r, &next_check_ns, &cursor);
	return NULL;
}

static void init_lock(struct remover *r)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&r->lock, NULL);
}

static void release(struct remover *r)
{
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	store_free(r->store);
	free(r);
}

int remover_start(struct controller *controller)
{
	struct remover *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->conf = controller->conf;
	init_lock(r);
	err = store_new(&r->store, controller->database);
	if (err == 0)
		err = -pthread_create(&r->thread, NULL, remover_thread, r);
	if (err) {
		release(r);
		return err;
	}
	controller->remover = r;
	return 0;
}

void remover_stop(struct controller *controller)
{
	struct remover *r = controller->remover;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	release(r);
	controller->remover = NULL;
}

void remover_poke(struct controller *controller)
{
	struct remover *r = controller->remover;

	pthread_mutex_lock(&r->lock);
	r->poked = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}
