#include "base/clock.h"
#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/server/callback/callback.h"
#include "control/server/request/controller.h"
#include "control/server/request/request.h"
#include "control/server/run/early_stop.h"
#include "control/server/run/follow.h"
#include "control/server/run/run.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/server/store/store_lease.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Interval at which timeouts are checked; changes by requests wake the thread
 * at once. */
#define SWEEP_NS NS_PER_S

struct run_engine {
	/* constant after start */
	struct controller *controller;
	run_schedules_h *follow_schedules;
	struct store *store;
	pthread_t thread;
	/* the engine's thread, once it runs */
	/* No lease is lost before: agents could not renew while the controller
	 * was not running, or did not reach its database. */
	int64_t grace_until;
	int64_t begun_ms; /* lease clock, of the pass before */
	struct early_stop early_stop;
	bool failed; /* likewise */

	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool poked; /* lock */
	bool stop;  /* lock */
};

struct lease_times run_lease_times(const struct controller_conf *conf,
				   int64_t now)
{
	return (struct lease_times){
		.now = now,
		.offer_ms = INT64_C(1000) * conf->offer_s,
		.lease_ms = INT64_C(1000) * conf->lease_s,
		.grace_ms = INT64_C(1000) * conf->upload_grace_s,
	};
}

/* Base URL of links in callbacks: there is no request to take it from. */
static int make_callbacks(struct run_engine *e)
{
	struct controller *c = e->controller;
	const char *address = controller_address(c);
	int made;

	if (!address)
		return 0; /* not listening yet */
	made = callback_make(e->store, c->conf->base_url[0] ? c->conf->base_url
							    : address);
	if (made > 0)
		callback_sender_poke(c->callbacks);
	return made;
}

/* Between runs, as the times of a run belong together. */
static void follow_clock(struct run_engine *e)
{
	int64_t set_ms;
	int err = lease_clock_follow(e->store, &set_ms);

	if (err)
		log_warning("the times of the agents' polls could not be moved "
			    "with the clock of this host: %s",
			    strerror(-err));
	else if (set_ms)
		log_warning("the clock of this host was set by %.1f s",
			    (double)set_ms / 1000);
}

/* Polls are as many as there are agents: not for nothing. */
static void wake_parked(struct run_engine *e)
{
	bool waits = true;
	int err = lease_waits(e->store, &waits);

	controller_wake_parked(e->controller,
			       err || waits ? PARKED_ALL
					    : PARKED_BIT(PARKED_FOR_STEP));
}

/* After a pass that failed, or that was held up with the process or its database
 * for so long that agents may not have been able to renew, they have the time of a
 * lease again. */
static void extend_grace(struct run_engine *e, int64_t now, int64_t lease_ms)
{
	if (e->failed || now - e->begun_ms > lease_ms / 2)
		e->grace_until = now + lease_ms;
	e->begun_ms = now;
}

static void pass(struct run_engine *e)
{
	const struct controller_conf *conf = e->controller->conf;
	const int64_t now = lease_clock_ms();
	const int64_t lease_ms = INT64_C(1000) * conf->lease_s;

	extend_grace(e, now, lease_ms);
	const struct sweep_times times = {
		.now = now,
		.lease_ms = lease_ms,
		.claim_timeout_ms = INT64_C(1000) * conf->claim_timeout_s,
		.grace_until = e->grace_until,
	};
	int err = run_advance(e->store, &times);
	int moved = err > 0;

	if (err >= 0)
		err = early_stop_look(&e->early_stop, e->store);
	e->failed = err < 0;

	follow_clock(e);
	if (err >= 0)
		err = run_follow(e->store, conf);
	if (err >= 0) {
		moved |= err > 0;
		err = e->follow_schedules(e->store, conf, store_now_ms());
	}
	if (err >= 0) {
		moved |= err > 0;
		err = make_callbacks(e);
	}
	if (err < 0)
		log_error("runs could not be advanced: %s", strerror(-err));
	if (err > 0 || moved)
		wake_parked(e);
}

/* @return false: stop */
static bool wait_for_work(struct run_engine *e)
{
	struct timespec until;
	bool go;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SWEEP_NS / NS_PER_S;
	pthread_mutex_lock(&e->lock);
	while (!e->poked && !e->stop)
		if (pthread_cond_timedwait(&e->wake, &e->lock, &until))
			break;
	e->poked = false;
	go = !e->stop;
	pthread_mutex_unlock(&e->lock);
	return go;
}

static void *engine_thread(void *arg)
{
	struct run_engine *e = arg;

	while (wait_for_work(e))
		pass(e);
	return NULL;
}

static void init_lock(struct run_engine *e)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&e->lock, NULL);
}

int run_engine_start(struct controller *controller,
		     run_schedules_h *follow_schedules)
{
	struct run_engine *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->controller = controller;
	e->follow_schedules = follow_schedules;
	e->begun_ms = lease_clock_ms();
	e->grace_until =
		e->begun_ms + INT64_C(1000) * controller->conf->lease_s;
	err = store_new(&e->store, controller->database);
	if (!err)
		err = lease_clock_start(
			e->store, INT64_C(1000) * controller->conf->lease_s);
	if (err) {
		if (e->store)
			store_free(e->store);
		free(e);
		return err;
	}
	init_lock(e);
	err = -pthread_create(&e->thread, NULL, engine_thread, e);
	if (err) {
		store_free(e->store);
		free(e);
		return err;
	}
	controller->run_engine = e;
	return 0;
}

void run_engine_stop(struct controller *controller)
{
	struct run_engine *e = controller->run_engine;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	pthread_cond_signal(&e->wake);
	pthread_mutex_unlock(&e->lock);
	pthread_join(e->thread, NULL);
}

void run_engine_free(struct controller *controller)
{
	struct run_engine *e = controller->run_engine;

	if (!e)
		return;
	pthread_cond_destroy(&e->wake);
	pthread_mutex_destroy(&e->lock);
	store_free(e->store);
	free(e);
	controller->run_engine = NULL;
}

void run_engine_look(struct controller *controller)
{
	struct run_engine *e = controller->run_engine;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->poked = true;
	pthread_cond_signal(&e->wake);
	pthread_mutex_unlock(&e->lock);
}

void run_engine_poke(struct controller *controller)
{
	run_engine_look(controller);
	controller_wake_parked(controller, PARKED_ALL);
}

void run_agent_left(struct controller *controller, int64_t agent_id)
{
	controller_end_polls(controller, agent_id);
	run_engine_poke(controller);
}

int run_stop(struct controller *controller, struct store *store, int64_t run_id)
{
	int err = store_run_stop(store, run_id, lease_clock_ms());

	if (!err)
		run_engine_poke(controller);
	return err;
}
