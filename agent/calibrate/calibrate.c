#include "agent/calibrate/calibrate.h"

#include "agent/calibrate/load.h"
#include "base/clock.h"
#include "base/str.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Both sides together; a call has a session on each. */
#define CALLS_FIRST 16

/* A trial of the search takes this part of the time: with half of the time for the search
 * there are ten and more, of which eight double from 16 to 2048. */
#define TRIALS       30
#define TRIAL_MIN_NS (200 * NS_PER_MS)
#define NOISE_TRIALS 3

/* A load is too high if it fails so often in turn: something else that runs on this host for
 * a moment is no limit of it. */
#define TRIES 2

/* The start of many calls makes packets late, which no call later does. */
#define TRIAL_SETTLE_NS (200 * NS_PER_MS)
/* J of RFC 3550 has forgotten all but 5 % of its start after 48 packets, 0.96 s. */
#define NOISE_SETTLE_NS NS_PER_S

/* A session has a socket for RTP and one for RTCP. */
#define FILES_A_CALL 2
#define FILES_OTHER  64

/* Both times of a round trip and the delay at the peer are cut to 1/65536 s (RFC 3550
 * section 6.4.1): a result may be one unit too small, where a calibration over loopback
 * cannot see it, as negative round trips are not reported. */
#define RTT_UNIT_MS (1000.0 / 65536)

struct search {
	const struct calibrate_params *params;
	uint32_t most;
	const char *most_by; /* why not more than that */
	uint32_t passed;
	uint32_t failed;
	double passed_p99_ms;
	const char *failed_by;
};

/* A call needs both sides. */
static uint32_t even(uint32_t calls)
{
	return calls + calls % 2;
}

uint32_t calibrate_next(uint32_t passed, uint32_t failed, uint32_t most)
{
	uint32_t next;

	if (!failed) {
		next = passed ? 2 * passed : CALLS_FIRST;
		next = next < most ? next : most;
	} else {
		next = passed + (failed - passed) / 2;
		/* closer than a tenth, two searches differ as much */
		if (failed - passed <= passed / 10)
			return 0;
	}
	next -= next % 2;
	return next > passed ? next : 0;
}

/* What the ports, the limit of open files and the engines allow. */
static void limits_find(struct search *s)
{
	uint32_t ports = (uint32_t)(s->params->port_max - s->params->port_min);
	uint32_t most = WIRE_CALIBRATION_CALLS_MAX;
	struct rlimit files = {0};

	s->most_by = "engines";
	/* RTP has an even port, RTCP the next one; each side has the range */
	if (ports / 2 * 2 < most) {
		most = ports / 2 * 2;
		s->most_by = "ports";
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
		(void)getrlimit(RLIMIT_NOFILE, &files);
		if (files.rlim_cur < FILES_A_CALL * most + FILES_OTHER) {
			most = files.rlim_cur > FILES_OTHER
				       ? (uint32_t)(files.rlim_cur -
						    FILES_OTHER) /
						 FILES_A_CALL
				       : 0;
			s->most_by = "open files";
		}
	}
	most -= most % 2;
	s->most = most > 2 ? most : 2;
}

static bool in_time(const struct load_result *r)
{
	return r->packets && r->lateness_p99_ms < CALIBRATE_LATENESS_MS;
}

static void tell(const struct calibrate_params *p, uint32_t calls,
		 const struct load_result *r, bool passed)
{
	const struct calibrate_trial trial = {
		.calls = calls,
		.lateness_p99_ms = r->lateness_p99_ms,
		.packets = r->packets,
		.lost = r->lost,
		.errors = r->errors,
		.passed = passed,
	};

	if (p->trial_h)
		p->trial_h(&trial, p->arg);
}

static int load_of(struct load_result *ret, const struct calibrate_params *p,
		   uint32_t calls, int64_t settle_ns, int64_t length_ns)
{
	const struct load_params params = {
		.calls = calls,
		.settle_ns = settle_ns,
		.length_ns = length_ns,
		.port_min = p->port_min,
		.port_max = p->port_max,
		.realtime = p->realtime,
	};

	return load_run(ret, &params);
}

static int search_run(struct search *s)
{
	const struct calibrate_params *p = s->params;
	int64_t until_ns = clock_mono_ns() + p->seconds * NS_PER_S / 2;
	int64_t length_ns = p->seconds * NS_PER_S / TRIALS;
	uint32_t calls = calibrate_next(0, 0, s->most);
	int err = 0;

	length_ns = length_ns > TRIAL_MIN_NS ? length_ns : TRIAL_MIN_NS;
	for (int tries = 1; calls && !err && clock_mono_ns() < until_ns;
	     tries++) {
		struct load_result r;
		bool passed;

		err = load_of(&r, p, calls, TRIAL_SETTLE_NS, length_ns);
		passed = !err && in_time(&r) && !r.lost && !r.errors;
		if (passed) {
			s->passed = calls;
			s->passed_p99_ms = r.lateness_p99_ms;
		} else if (tries == TRIES) {
			s->failed = calls;
			s->failed_by = err           ? "resources"
				       : in_time(&r) ? "loss"
						     : "lateness";
		}
		if (!err)
			tell(p, calls, &r, passed);
		else if (s->passed) /* no thread, memory or port for so many */
			err = 0;
		load_result_clear(&r);
		if (passed || tries == TRIES) {
			calls = calibrate_next(s->passed, s->failed, s->most);
			tries = 0;
		}
	}
	return err;
}

static const char *limit_of(const struct search *s)
{
	if (s->failed)
		return s->failed_by;
	return s->passed == s->most ? s->most_by : "time";
}

static void bounds_take(struct wire_calibration *c, const struct load_result *r)
{
	const struct samples *j = &r->jitter_ms, *t = &r->rtt_ms;

	c->packets = r->packets;
	c->lost = r->lost + r->errors;
	if (c->packets) {
		c->has_loss_bound = true;
		c->loss_bound_pct = 100 * (double)c->lost / (double)c->packets;
		if (c->loss_bound_pct > 100)
			c->loss_bound_pct = 100;
	}
	c->jitter_median_ms = samples_middle(j);
	c->jitter_max_ms = samples_most(j);
	c->rtt_median_ms = samples_middle(t);
	c->rtt_max_ms = samples_most(t);
	c->has_jitter_bound =
		bounds_upper(j->values, j->count, &c->jitter_bound_ms);
	c->has_rtt_bound = bounds_upper(t->values, t->count, &c->rtt_bound_ms);
	if (c->rtt_bound_ms < RTT_UNIT_MS)
		c->rtt_bound_ms = RTT_UNIT_MS;
	c->clock_resolution_ns = r->clock.resolution_ns;
	c->clock_step_ms = r->clock.step_ms;
	c->clock_drift_ppm = r->clock.drift_ppm;
	(void)str_copy(c->scheduling, sizeof(c->scheduling), r->scheduling);
}

/* Measure the errors with half of the calls found. If they do not leave in time for so much
 * longer, the short trials were lucky: only what passes here is stated then. */
static int noise_run(struct wire_calibration *c,
		     const struct calibrate_params *p)
{
	uint32_t calls = even(c->calls / 2);
	int err = 0;

	for (int i = 0; i < NOISE_TRIALS && calls && !err; i++) {
		struct load_result r;
		bool passed;

		err = load_of(&r, p, calls, NOISE_SETTLE_NS,
			      p->seconds * NS_PER_S / 2);
		passed = !err && in_time(&r);
		if (!err)
			tell(p, calls, &r, passed);
		if (passed) {
			bounds_take(c, &r);
			c->bounds_calls = calls;
		}
		if (i || !passed) {
			c->calls = c->bounds_calls;
			c->lateness_p99_ms = r.lateness_p99_ms;
			(void)str_copy(c->limited_by, sizeof(c->limited_by),
				       "lateness");
		}
		load_result_clear(&r);
		if (passed)
			return 0;
		calls = calls > 2 ? even(calls / 2) : 0;
	}
	return err;
}

static void host_describe(struct wire_calibration *c)
{
	struct utsname system;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	clock_format(c->time, clock_wall_ns());
	(void)str_copy(c->version, sizeof(c->version), OFFHOOK_VERSION);
	if (uname(&system) == 0)
		(void)str_print(c->kernel, sizeof(c->kernel), "%s",
				system.release);
	c->processors = processors > 0 ? (uint32_t)processors : 0;
}

int calibrate_run(struct wire_calibration *ret,
		  const struct calibrate_params *params)
{
	struct wire_calibration c = {.calls = 0};
	struct search s = {.params = params};
	int64_t start_ns = clock_mono_ns();
	int err;

	host_describe(&c);
	limits_find(&s);
	err = search_run(&s);
	if (err)
		return err;
	c.calls = s.passed;
	c.lateness_p99_ms = s.passed_p99_ms;
	(void)str_copy(c.limited_by, sizeof(c.limited_by), limit_of(&s));
	err = noise_run(&c, params);
	if (err)
		return err;
	c.duration_s = (double)(clock_mono_ns() - start_ns) / (double)NS_PER_S;
	*ret = c;
	return 0;
}
