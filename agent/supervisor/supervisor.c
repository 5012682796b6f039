#include "agent/supervisor/supervisor.h"

#include "agent/spool/artifacts.h"
#include "agent/supervisor/health.h"
#include "agent/supervisor/supervisor_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- signals ---- */

static void on_terminate(struct supervisor *s)
{
	switch (s->terminations++) {
	case 0:
		log_info("stopping: running jobs may finish for %u s",
			 s->conf->stop_s);
		event_loop_arm(s->loop, &s->stop_timer,
			       (int64_t)s->conf->stop_s * 1000);
		supervisor_stop(s, STOP_DRAINING);
		break;
	case 1:
		log_info("stopping: running jobs are cancelled");
		supervisor_stop(s, STOP_CANCELLING);
		break;
	default:
		log_warning("stopping at once");
		event_loop_stop(s->loop);
		break;
	}
}

static void on_reload(struct supervisor *s)
{
	service_notify_reloading();
	if (s->reload_h)
		s->reload_h(s->reload_arg);
	service_notify_reloaded();
}

static void on_signal(uint32_t events, void *arg)
{
	struct supervisor *s = arg;
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		on_reload(s);
	} else if (info.ssi_signo == SIGUSR1) {
		log_info("draining: no new jobs; the end comes with the last "
			 "one");
		supervisor_stop(s, STOP_DRAINING);
	} else {
		on_terminate(s);
	}
}

static int signals_begin(struct supervisor *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	s->signals.ready_h = on_signal;
	s->signals.arg = s;
	s->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals.fd < 0)
		return -errno;
	return event_loop_watch(s->loop, &s->signals, EPOLLIN);
}

static void signals_release(struct supervisor *s)
{
	if (s->signals.fd < 0)
		return;
	event_loop_unwatch(s->loop, &s->signals);
	close(s->signals.fd);
}

/* Time for uploads after the last call, when stopping. */
#define FLUSH_MS 10000

/* ---- leases ---- */

static size_t busy_count(const struct supervisor *s)
{
	size_t busy = 0;

	for (size_t i = 0; i < s->lease_count; i++)
		busy += lease_is_busy(s->leases[i]);
	return busy;
}

bool supervisor_draining(const struct supervisor *s)
{
	return s->stop != STOP_NO || s->acquire.session[0];
}

size_t supervisor_free_slots(const struct supervisor *s)
{
	size_t busy = busy_count(s), room = LEASES_MAX - s->lease_count, slots;

	if (supervisor_draining(s) || busy >= s->conf->capacity)
		return 0;
	slots = s->conf->capacity - busy;
	return slots < room ? slots : room;
}

static bool has_lease(const char *id, void *arg)
{
	const struct supervisor *s = arg;

	for (size_t i = 0; i < s->lease_count; i++) {
		if (strcmp(lease_id(s->leases[i]), id) == 0)
			return true;
	}
	return false;
}

/* All jobs of a run are offered together: the first one closes the door for other
 * runs if only one is taken. */
static bool has_room(const struct supervisor *s, const char *session)
{
	if (s->stop != STOP_NO || s->acquire.expired || !s->acquire.session[0])
		return supervisor_free_slots(s) > 0;
	return strcmp(session, s->acquire.session) == 0 &&
	       s->lease_count < LEASES_MAX && busy_count(s) < s->conf->capacity;
}

void supervisor_offer(struct supervisor *s, json_t *job)
{
	const char *id = json_string_value(json_object_get(job, "lease_id"));
	const char *session = text_of(job, "session_id");
	int err;

	if (!id) {
		log_error("the controller offered a job without a lease");
		return;
	}
	if (has_lease(id, s))
		return; /* it is being confirmed */
	if (!has_room(s, session)) {
		log_warning(
			"lease=%s: offered, but this agent has no room: left to "
			"others",
			id);
		return;
	}
	err = lease_new(&s->leases[s->lease_count], &s->env, job);
	if (err) {
		log_error("lease=%s: cannot be taken: %s", id, strerror(-err));
		return;
	}
	s->lease_count++;
	if (s->acquire.on)
		str_print(s->acquire.session, sizeof(s->acquire.session), "%s",
			  session);
}

/* While stopping: a job or a lease is over. */
static void check_stop(struct supervisor *s)
{
	if (s->stop == STOP_NO || s->stop == STOP_LEAVING)
		return;
	if (s->lease_count == 0) {
		link_leave(s);
		return;
	}
	/* only uploads are left; bounded after SIGTERM and SIGINT */
	if (s->terminations > 0 && busy_count(s) == 0 && !s->flush_timer.armed)
		event_loop_arm(s->loop, &s->flush_timer, FLUSH_MS);
}

/* ---- the jobs of one run ---- */

static void acquire_end(struct supervisor *s)
{
	event_loop_disarm(s->loop, &s->acquire.timer);
	if (s->stop == STOP_NO)
		supervisor_stop(s, STOP_DRAINING);
}

static void on_acquire_due(void *arg)
{
	struct supervisor *s = arg;

	s->acquire.expired = true;
	if (s->acquire.session[0])
		return; /* a job came in time */
	log_info("no job came in time");
	acquire_end(s);
}

static enum acquired acquired_by(enum lease_result result)
{
	switch (result) {
	case LEASE_COMPLETED:
		return ACQUIRED_COMPLETED;
	case LEASE_UNSUCCESSFUL:
		return ACQUIRED_UNSUCCESSFUL;
	case LEASE_UNDELIVERED:
		return ACQUIRED_UNDELIVERED;
	case LEASE_UNCONFIRMED:
	default:
		return ACQUIRED_NONE;
	}
}

/* A lease is over and not listed any more. After the last one of the run the end
 * comes, or the next run if the controller has let none of them start. */
static void acquire_lease_over(struct supervisor *s, const struct lease *lease)
{
	const enum acquired result = acquired_by(lease_result(lease));

	if (!s->acquire.session[0] ||
	    strcmp(lease_session(lease), s->acquire.session) != 0)
		return;
	if (result > s->acquire.result)
		s->acquire.result = result; /* the worst of them */
	for (size_t i = 0; i < s->lease_count; i++)
		if (strcmp(lease_session(s->leases[i]), s->acquire.session) ==
		    0)
			return;
	if (s->acquire.result == ACQUIRED_NONE) {
		s->acquire.session[0] = '\0';
		if (s->acquire.expired)
			on_acquire_due(s);
		return;
	}
	acquire_end(s);
}

void supervisor_acquire(struct supervisor *s, int64_t until_ns)
{
	s->acquire.on = true;
	s->acquire.until_ns = until_ns;
}

enum acquired supervisor_acquired(const struct supervisor *s)
{
	enum acquired result = s->acquire.result;

	/* jobs that the end found here */
	for (size_t i = 0; i < s->lease_count; i++)
		if (s->acquire.session[0] && strcmp(lease_session(s->leases[i]),
						    s->acquire.session) == 0)
			result = ACQUIRED_UNDELIVERED;
	return result;
}

static void on_lease_idle(struct lease *lease, void *arg)
{
	struct supervisor *s = arg;

	(void)lease;
	link_changed(s);
	check_stop(s);
}

static void on_lease_over(struct lease *lease, void *arg)
{
	struct supervisor *s = arg;

	for (size_t i = 0; i < s->lease_count; i++) {
		if (s->leases[i] == lease) {
			s->leases[i] = s->leases[--s->lease_count];
			break;
		}
	}
	acquire_lease_over(s, lease);
	lease_free(lease);
	link_changed(s);
	check_stop(s);
}

void supervisor_drop_leases(struct supervisor *s)
{
	for (size_t i = 0; i < s->lease_count; i++)
		lease_drop(s->leases[i]);
}

static bool has_spool(const char *id, void *arg)
{
	const struct supervisor *s = arg;
	char path[PATH_MAX];

	return str_print(path, sizeof(path), "%s/%s", s->spool_dir, id) < 0 ||
	       access(path, F_OK) == 0;
}

static void recover_leases(struct supervisor *s)
{
	DIR *dir = opendir(s->spool_dir);
	struct dirent *entry;

	if (!dir) {
		log_error(
			"%s: cannot be read: %s: results of earlier jobs stay "
			"there",
			s->spool_dir, strerror(errno));
		return;
	}
	while ((entry = readdir(dir)) && s->lease_count < LEASES_MAX) {
		int err;

		if (!spool_name_valid(entry->d_name))
			continue;
		err = lease_recover(&s->leases[s->lease_count], &s->env,
				    entry->d_name);
		if (err == 0) {
			s->lease_count++;
			log_info("lease=%s: results found in the spool",
				 entry->d_name);
		} else if (err != -ENODATA) {
			log_error("%s/%s: cannot be recovered: %s",
				  s->spool_dir, entry->d_name, strerror(-err));
		}
	}
	closedir(dir);
	/* also those of a lease that could not be recovered stay */
	artifacts_sweep(s->artifact_dir, has_spool, s);
}

/* ---- the end ---- */

void supervisor_stop(struct supervisor *s, enum stop_state how)
{
	if (s->stop == STOP_NO) {
		service_notify_stopping();
		service_notify_status("draining");
	}
	if (how > s->stop)
		s->stop = how;
	if (s->stop == STOP_CANCELLING) {
		/* stop_timer and cancel_s bound the rest */
		for (size_t i = 0; i < s->lease_count; i++)
			lease_cancel(s->leases[i], "the agent was stopped");
	}
	if (s->stop < STOP_LEAVING && !s->enrolled) {
		link_leave(s);
		return;
	}
	link_changed(s);
	check_stop(s);
}

void supervisor_fail(struct supervisor *s, int err)
{
	if (!s->result)
		s->result = err;
	supervisor_stop(s, STOP_DRAINING);
}

void supervisor_refuse(struct supervisor *s)
{
	s->refused = true;
	supervisor_fail(s, -EACCES);
}

static void on_stop_due(void *arg)
{
	log_warning("running jobs did not finish in time: cancelled");
	supervisor_stop(arg, STOP_CANCELLING);
}

static void on_flush_due(void *arg)
{
	struct supervisor *s = arg;

	log_warning("%zu results stay in the spool for the next start",
		    s->lease_count);
	link_leave(s);
}

/* ---- the start ---- */

static int make_dir(const char *path)
{
	int err;

	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	err = -errno;
	log_error("%s cannot be made: %s", path, strerror(-err));
	return err;
}

/* Refuse a second agent on the same state directory. */
static int lock_state(struct supervisor *s)
{
	char path[PATH_MAX];

	if (str_print(path, sizeof(path), "%s/lock", s->conf->state_dir) < 0)
		return -ENAMETOOLONG;
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0) {
		int err = -errno;

		log_error("%s cannot be opened: %s", path, strerror(-err));
		return err;
	}
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		log_error("%s is in use by another agent", s->conf->state_dir);
		return -EBUSY;
	}
	return 0;
}

/* The fingerprint of the configuration precedes the one that was kept, and is kept
 * instead; that of an agent that is not enrolled yet is kept when it is. */
static int take_fingerprint(struct supervisor *s)
{
	const char *given = s->conf->controller_fingerprint;
	int err;

	if (strcmp(given, AGENT_FINGERPRINT_NONE) == 0)
		given = "";
	else if (!given[0])
		return 0;
	if (strcmp(given, s->identity.key_pin) == 0)
		return 0;
	err = str_copy(s->identity.key_pin, sizeof(s->identity.key_pin), given);
	if (err == 0 && s->enrolled)
		err = identity_save(&s->identity, s->conf->state_dir);
	if (err)
		log_error("%s/credentials cannot be written: %s",
			  s->conf->state_dir, strerror(-err));
	return err;
}

static int open_state(struct supervisor *s)
{
	int err = make_dir(s->conf->state_dir);

	if (err == 0)
		err = lock_state(s);
	if (err == 0 && str_print(s->spool_dir, sizeof(s->spool_dir),
				  "%s/spool", s->conf->state_dir) < 0)
		err = -ENAMETOOLONG;
	if (err == 0)
		err = make_dir(s->spool_dir);
	if (err == 0 && str_print(s->artifact_dir, sizeof(s->artifact_dir),
				  "%s/artifacts", s->conf->state_dir) < 0)
		err = -ENAMETOOLONG;
	if (err == 0)
		err = make_dir(s->artifact_dir);
	if (err == 0 && str_print(s->prompt_cache, sizeof(s->prompt_cache),
				  "%s/prompts", s->conf->state_dir) < 0)
		err = -ENAMETOOLONG;
	if (err == 0)
		err = make_dir(s->prompt_cache);
	if (err)
		return err;
	err = identity_load(&s->identity, s->conf->state_dir);
	s->enrolled = err == 0;
	if (err && err != -ENOENT)
		log_error("%s/credentials cannot be used: %s%s",
			  s->conf->state_dir, strerror(-err),
			  err == -EPERM ? " (others may read it: set its mode "
					  "to 0600)"
					: "");
	if (err && err != -ENOENT)
		return err;
	return take_fingerprint(s);
}

void supervisor_calibrated(struct supervisor *s, json_t *calibration)
{
	s->calibration = json_incref(calibration);
	s->env.calibration = s->calibration;
}

int supervisor_new(struct supervisor **ret, const struct agent_conf *conf,
		   const char *join_token, const char *engine_program,
		   json_t *features, bool verbose)
{
	struct supervisor *s = calloc(1, sizeof(*s));
	struct http_client_params params = {
		.base_url = conf->controller,
		.ca_file = conf->ca_file[0] ? conf->ca_file : NULL,
		.certificate_file = conf->certificate_file[0]
					    ? conf->certificate_file
					    : NULL,
		.key_file = conf->key_file[0] ? conf->key_file
					      : conf->certificate_file};
	int err;

	if (!s)
		return -ENOMEM;
	s->conf = conf;
	s->join_token = join_token;
	s->lock_fd = -1;
	s->signals.fd = -1;
	s->space.limit = conf->spool_limit;
	s->stop_timer.due_h = on_stop_due;
	s->stop_timer.arg = s;
	s->flush_timer.due_h = on_flush_due;
	s->flush_timer.arg = s;
	s->acquire.timer.due_h = on_acquire_due;
	s->acquire.timer.arg = s;
	err = event_loop_new(&s->loop);
	if (err) {
		free(s);
		return err;
	}
	link_init(s);
	s->features = json_incref(features);
	err = open_state(s);
	if (err == 0)
		err = signals_begin(s);
	if (err == 0 && s->identity.key_pin[0])
		params.key_pin = s->identity.key_pin;
	if (err == 0)
		err = http_client_new(&s->http, s->loop, &params);
	if (err) {
		supervisor_free(s);
		return err;
	}
	s->env.loop = s->loop;
	s->env.http = s->http;
	s->env.conf = conf;
	s->env.verbose = verbose;
	s->engine_program = engine_program;
	s->env.spool_dir = s->spool_dir;
	s->env.artifact_dir = s->artifact_dir;
	s->env.prompt_cache = s->prompt_cache;
	s->env.space = &s->space;
	s->env.idle_h = on_lease_idle;
	s->env.over_h = on_lease_over;
	s->env.unauthorized_h = link_unauthorized;
	s->env.arg = s;
	*ret = s;
	return 0;
}

void supervisor_on_reload(struct supervisor *s, supervisor_reload_h *reload_h,
			  void *arg)
{
	s->reload_h = reload_h;
	s->reload_arg = arg;
}

static int64_t time_left_ms(int64_t until_ns)
{
	const int64_t left = until_ns - clock_mono_ns();

	return left > 0 ? left / NS_PER_MS : 0;
}

int supervisor_run(struct supervisor *s)
{
	int err;

	if (s->enrolled) {
		err = http_client_authorize(s->http, s->identity.agent_id,
					    s->identity.secret);
		if (err)
			return err;
		recover_leases(s); /* before the first poll lists them */
	}
	err = engine_pool_new(&s->env.engines, s->loop, s->engine_program,
			      s->conf->capacity);
	if (err)
		return err;
	health_forget(s->conf->state_dir);
	orphans_begin(&s->orphans, s->loop);
	if (s->acquire.on && s->acquire.until_ns != INT64_MAX)
		event_loop_arm(s->loop, &s->acquire.timer,
			       time_left_ms(s->acquire.until_ns));
	link_begin(s);
	err = service_notify_new(&s->notify, s->loop);
	if (err == 0)
		err = event_loop_run(s->loop);
	health_forget(s->conf->state_dir);
	return s->result ? s->result : err;
}

bool supervisor_refused(const struct supervisor *s)
{
	return s->refused;
}

struct supervisor *supervisor_free(struct supervisor *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->lease_count; i++)
		lease_free(s->leases[i]);
	engine_pool_free(s->env.engines);
	link_release(s);
	event_loop_disarm(s->loop, &s->stop_timer);
	event_loop_disarm(s->loop, &s->flush_timer);
	event_loop_disarm(s->loop, &s->acquire.timer);
	service_notify_free(s->notify);
	orphans_end(&s->orphans);
	signals_release(s);
	if (s->http)
		http_client_free(s->http);
	json_decref(s->features);
	json_decref(s->calibration);
	event_loop_free(s->loop);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	free(s);
	return NULL;
}
