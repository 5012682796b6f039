#include "agent/calibration.h"

#include "agent/calibrate/calibrate.h"
#include "agent/supervisor/service_notify.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "calibration.json"

/* Longest that a calibration of the default length may take: search, three measurements of
 * half of it each, and the ends of overloaded trials. */
#define START_MAX_S 600

/* ---- the file ---- */

static int path_make(char path[static PATH_MAX], const struct agent_conf *conf,
		     const char *end)
{
	return str_print(path, PATH_MAX, "%s/" FILE_NAME "%s", conf->state_dir,
			 end) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

/* The agent must be able to read it, also if root has made it. */
static int owner_set(int fd, const char *folder)
{
	struct stat owner;

	if (geteuid() != 0)
		return 0;
	if (stat(folder, &owner) || fchown(fd, owner.st_uid, owner.st_gid))
		return -errno;
	return 0;
}

static int file_replace(const struct agent_conf *conf, const char *text)
{
	char path[PATH_MAX], part[PATH_MAX];
	int err = path_make(path, conf, "");
	int fd = -1;

	if (!err)
		err = path_make(part, conf, ".part");
	if (err)
		return err;
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return -errno;
	err = owner_set(fd, conf->state_dir);
	if (!err)
		err = file_write_synced(fd, text, strlen(text));
	close(fd);
	if (!err && rename(part, path))
		err = -errno;
	if (err)
		(void)unlink(part);
	else
		err = file_sync_folder(conf->state_dir);
	return err;
}

static int file_load(struct wire_calibration *ret,
		     const struct agent_conf *conf)
{
	char path[PATH_MAX];
	json_error_t error;
	const char *member = NULL;
	json_t *object;
	int err = path_make(path, conf, "");

	if (!err && access(path, F_OK))
		err = -errno;
	if (err)
		return err;
	object = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	err = wire_calibration_decode(ret, object, &member);
	if (err)
		log_warning("%s is not used: %s%s", path,
			    object ? "wrong or missing: " : error.text,
			    object ? member : "");
	json_decref(object);
	return err;
}

json_t *calibration_read(const struct agent_conf *conf)
{
	struct wire_calibration c;

	return file_load(&c, conf) ? NULL : wire_calibration_encode(&c);
}

/* ---- offhook-agent --calibrate ---- */

static void on_trial(const struct calibrate_trial *t, void *arg)
{
	(void)arg;
	fprintf(stderr,
		"%" PRIu32 " calls: send lateness p99 %.3f ms, %" PRIu64
		" of %" PRIu64 " packets lost%s: %s\n",
		t->calls, t->lateness_p99_ms, t->lost, t->packets,
		t->errors ? ", not sent or dropped here" : "",
		t->passed ? "passed" : "failed");
}

static void bound_print(const char *name, bool known, double bound,
			const char *unit)
{
	if (known)
		printf("%-12s +- %.3f %s\n", name, bound, unit);
	else
		printf("%-12s not known: too few samples\n", name);
}

static void table_print(const struct wire_calibration *c)
{
	printf("%-12s %s UTC, %.0f s, version %s\n"
	       "%-12s Linux %s, %" PRIu32 " processors, sending thread: %s\n"
	       "%-12s %" PRIu32 " at a time (send lateness p99 %.3f ms), "
	       "limited by %s\n",
	       "calibrated", c->time, c->duration_s, c->version, "host",
	       c->kernel, c->processors,
	       c->scheduling[0] ? c->scheduling : "none", "calls", c->calls,
	       c->lateness_p99_ms, c->limited_by);
	if (!c->bounds_calls)
		return;
	printf("error bounds with up to %" PRIu32 " calls, %" PRIu64
	       " packets:\n",
	       c->bounds_calls, c->packets);
	bound_print("  jitter", c->has_jitter_bound, c->jitter_bound_ms, "ms");
	bound_print("  round trip", c->has_rtt_bound, c->rtt_bound_ms, "ms");
	bound_print("  loss", c->has_loss_bound, c->loss_bound_pct, "%");
	printf("noise of time stamps, as jitter: median %.4f ms, most %.3f "
	       "ms\n"
	       "clock: resolution %.0f ns, largest step %.3f ms, adjusted by "
	       "%.2f ppm\n",
	       c->jitter_median_ms, c->jitter_max_ms, c->clock_resolution_ns,
	       c->clock_step_ms, c->clock_drift_ppm);
}

int calibration_command(const struct agent_conf *conf, uint32_t seconds,
			bool json)
{
	const struct calibrate_params params = {
		.seconds = seconds,
		.port_min = conf->rtp_min,
		.port_max = conf->rtp_max,
		.realtime = strcmp(conf->media_scheduling, "normal") != 0,
		.trial_h = on_trial,
	};
	struct wire_calibration c;
	json_t *object = NULL;
	char *text = NULL;
	int err = calibrate_run(&c, &params);

	if (err) {
		fprintf(stderr, "offhook-agent: cannot calibrate: %s\n",
			strerror(-err));
		return EXIT_FAILURE;
	}
	object = wire_calibration_encode(&c);
	text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
	err = text ? file_replace(conf, text) : -ENOMEM;
	if (text && json)
		puts(text);
	else
		table_print(&c);
	if (err)
		fprintf(stderr,
			"offhook-agent: %s/" FILE_NAME
			": cannot be written: %s\n",
			conf->state_dir, strerror(-err));
	free(text);
	json_decref(object);
	return err || !c.calls ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- at the agent's start ---- */

/* @return INT64_MAX: not a time */
static int64_t age_s(const struct wire_calibration *c)
{
	struct tm broken = {0};
	const char *end = strptime(c->time, "%Y-%m-%d %H:%M:%S", &broken);

	return end && !*end ? clock_wall_ns() / NS_PER_S - timegm(&broken)
			    : INT64_MAX;
}

static bool same_host(const struct wire_calibration *c)
{
	struct utsname system;

	return strcmp(c->version, OFFHOOK_VERSION) == 0 &&
	       uname(&system) == 0 &&
	       strncmp(c->kernel, system.release, sizeof(c->kernel) - 1) == 0 &&
	       sysconf(_SC_NPROCESSORS_ONLN) == (long)c->processors;
}

bool calibration_due(const struct agent_conf *conf)
{
	struct wire_calibration c;
	int64_t age, most_s = agent_conf_calibrate_s(conf->calibrate);

	if (most_s <= 0)
		return most_s == 0;
	if (file_load(&c, conf) || !same_host(&c))
		return true;
	age = age_s(&c);
	/* made in the future: the clock was wrong then, or is wrong now */
	return age < 0 || age > most_s;
}

static pid_t child_start(const char *program, const char *config)
{
	const char *const argv[] = {"offhook-agent", "--calibrate", "--config",
				    config, NULL};
	pid_t child = fork();

	if (child == 0) {
		sigset_t none;
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (null >= 0)
			(void)dup2(null, STDOUT_FILENO);
		execv(program, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return child;
}

/* @return the number of a signal to stop; 0: the child has ended */
static int child_wait(pid_t child, const sigset_t *signals, int *ret_status)
{
	for (;;) {
		int signal_number;

		if (waitpid(child, ret_status, WNOHANG) == child)
			return 0;
		signal_number = sigwaitinfo(signals, NULL);
		if (signal_number > 0 && signal_number != SIGCHLD)
			return signal_number;
	}
}

bool calibration_at_start(const char *program, const char *config)
{
	sigset_t signals, before;
	int signal_number = 0, status = 0;
	pid_t child;

	log_info("calibrating this host for about %d s: calibrate of the "
		 "configuration asks for it",
		 CALIBRATE_SECONDS_DEFAULT);
	service_notify_extend(START_MAX_S);
	service_notify_status("calibrating");
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	child = child_start(program, config);
	if (child > 0)
		signal_number = child_wait(child, &signals, &status);
	if (signal_number) {
		log_info("stopping on %s", strsignal(signal_number));
		kill(child, SIGKILL);
		(void)waitpid(child, &status, 0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (signal_number)
		return false;
	if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		log_warning("the calibration of this host failed: the agent "
			    "goes on with what %s has, if anything",
			    FILE_NAME);
	return true;
}
