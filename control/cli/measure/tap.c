#include "control/cli/measure/tap.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/cli/measure/analyze.h"
#include "control/cli/measure/measure_options.h"

#define EXIT_FOUND   0
#define EXIT_NOTHING 1
#define EXIT_USAGE   2

#define INTERVAL_MIN_S 0.1
#define DURATION_MAX_S 1e8
/* An interval is closed this long after its end: its last packets have left the
 * ring by then. */
#define GRACE_NS (5 * TAP_BLOCK_MS * NS_PER_MS)
/* When the stream table is nearly full, streams silent for so long are dropped.
 */
#define SILENT_NS (60 * NS_PER_S)

enum option_code {
	OPTION_INTERFACE = MEASURE_OPTION_OWN,
	OPTION_FILTER,
	OPTION_DURATION,
	OPTION_PROMISCUOUS,
};

static const struct option long_options[] = {
	MEASURE_OPTIONS,
	{"interface", required_argument, NULL, OPTION_INTERFACE},
	{"filter", required_argument, NULL, OPTION_FILTER},
	{"duration", required_argument, NULL, OPTION_DURATION},
	{"promiscuous", no_argument, NULL, OPTION_PROMISCUOUS},
	{NULL, 0, NULL, 0},
};

struct tapping {
	/* options */
	struct tap_params params;
	struct filter *filter; /* NULL: all */
	struct measure_options options;
	int64_t duration_ns; /* 0: until it is interrupted */
	/* state */
	struct analyze_report report;
	struct tap *tap;
	bool terminal;
	int64_t end_ns;  /* of the open interval, Unix time */
	uint64_t gone;   /* silent streams dropped to make room */
	int print_error; /* 0; -errno: output failed, the loop ends */
};

static int read_filter(struct tapping *t)
{
	char reason[FILTER_REASON_BYTES];

	t->filter = filter_free(t->filter);
	if (filter_new(&t->filter, optarg, reason))
		return measure_options_complain(&t->options, "--filter: %s",
						reason);
	t->params.filter = t->filter;
	t->options.capture.filter = t->filter;
	return 0;
}

static int option(struct tapping *t, int code)
{
	switch (code) {
	case OPTION_INTERFACE:
		t->params.interface = optarg;
		return 0;
	case OPTION_FILTER:
		return read_filter(t);
	case OPTION_DURATION:
		return measure_options_seconds(&t->options, "--duration",
					       INTERVAL_MIN_S, DURATION_MAX_S,
					       &t->duration_ns);
	default:
		t->params.promiscuous = true;
		return 0;
	}
}

static int read_arguments(struct tapping *t, int argc, char **argv)
{
	struct measure_options *o = &t->options;
	int code;

	measure_options_init(o, "tap", INTERVAL_MIN_S);
	while ((code = measure_options_next(o, argc, argv, long_options)) > 0) {
		if (option(t, code))
			return -EINVAL;
	}
	if (code < 0)
		return code;
	if (optind != argc)
		return measure_options_complain(o, "\"%s\" is not understood",
						argv[optind]);
	if (!t->params.interface)
		return measure_options_complain(o,
						"--interface is missing: \"ip "
						"link\" lists them");
	t->report.path = t->params.interface;
	t->report.options = o->capture;
	return 0;
}

/* ---- figures ---- */

static void add_notes(struct tapping *t)
{
	struct tap_counters n;

	tap_counters(t->tap, &n);
	analyze_note_capture(&t->report);
	if (n.dropped)
		analyze_note(&t->report,
			     "%" PRIu64 " of %" PRIu64 " frames were dropped "
			     "as we did not keep up: they show as loss; a "
			     "--filter helps",
			     n.dropped, n.frames);
	if (t->gone)
		analyze_note(&t->report,
			     "%" PRIu64 " streams that had ended made room "
			     "and are not shown (--max-streams)",
			     t->gone);
}

/* Print as many lines as the window has. If some are left out, the last line
 * says how many. */
static void print_screen(char *text, FILE *out)
{
	struct winsize size = {0};
	char *line = text;
	unsigned rows = 0;
	unsigned more = 0;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_row < 3)
		size.ws_row = UINT16_MAX;
	fputs("\033[H\033[2J", out);
	for (char *end; *line && (end = strchr(line, '\n')); line = end + 1) {
		if (++rows < size.ws_row - 1u)
			fprintf(out, "%.*s\n", (int)(end - line), line);
		else
			more++;
	}
	if (more)
		fprintf(out,
			"... and %u lines more: a larger window or "
			"--filter shows them\n",
			more);
}

static int print_table(struct tapping *t, int64_t end_ns, bool last)
{
	char time[CLOCK_TEXT_BYTES];
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int err;

	if (!out)
		return -ENOMEM;
	clock_format(time, end_ns);
	fprintf(out, "%s UTC, %s%s\n", time, t->params.interface,
		last ? ", the end" : "");
	add_notes(t);
	err = analyze_print_table(&t->report, out);
	analyze_notes_release(&t->report);
	if (fclose(out))
		err = -ENOMEM;
	if (!err && t->terminal && !last)
		print_screen(text, stdout);
	else if (!err)
		fprintf(stdout, "%s%s\n", t->terminal ? "\033[H\033[2J" : "",
			text);
	free(text);
	return err;
}

static void take_interval(struct capture_stream *s,
			  const struct capture_interval *i, void *arg)
{
	struct tapping *t = arg;

	if (t->options.json && !t->print_error &&
	    (i->second.packets > 0 || i->second.lost != 0))
		t->print_error = tap_print_interval(stdout, s, i);
}

static void take_gone(struct capture_stream *s, void *arg)
{
	struct tapping *t = arg;

	t->gone++;
	if (t->options.json && !t->print_error)
		t->print_error =
			tap_print_stream(stdout, s, &t->report.options);
}

static void flush_output(struct tapping *t)
{
	if (!t->print_error && fflush(stdout))
		t->print_error = -errno;
}

static void end_interval(struct tapping *t)
{
	struct capture *c = t->report.capture;
	struct tap_counters n;

	capture_tick(c, t->end_ns, take_interval, t);
	if (capture_stream_count(c) > t->report.options.streams_max / 4 * 3)
		capture_expire(c, t->end_ns - SILENT_NS, take_gone, t);
	if (t->print_error)
		return;
	if (t->options.json) {
		tap_counters(t->tap, &n);
		t->print_error = tap_print_state(stdout, c, &n, t->end_ns);
	} else {
		t->print_error = print_table(t, t->end_ns, false);
	}
	flush_output(t);
}

/* Intervals are whole multiples of their length. */
static void set_end(struct tapping *t, int64_t after_ns)
{
	int64_t length = t->report.options.interval_ns;

	t->end_ns = (after_ns / length + 1) * length;
}

/* Close the interval that ended before `ns`. A silence of several intervals is
 * closed in one step. */
static void end_intervals(struct tapping *t, int64_t ns)
{
	int64_t length = t->report.options.interval_ns;

	if (ns < t->end_ns - 2 * length) /* the clock was set back */
		set_end(t, ns);
	if (ns < t->end_ns)
		return;
	end_interval(t);
	set_end(t, ns);
}

static void take_frame(const struct frame *f, void *arg)
{
	struct tapping *t = arg;

	end_intervals(t, f->ns);
	capture_take(t->report.capture, f);
}

static int print_end(struct tapping *t)
{
	struct capture *c = t->report.capture;
	int64_t now_ns = clock_wall_ns();
	struct tap_counters n;
	int err = 0;

	capture_tick(c, now_ns, take_interval, t);
	capture_finish(c);
	if (!t->options.json)
		return print_table(t, now_ns, true);
	for (size_t i = 0; !err && i < capture_stream_count(c); i++)
		err = tap_print_stream(stdout, capture_stream(c, i),
				       &t->report.options);
	tap_print_reporters(stdout, c);
	tap_counters(t->tap, &n);
	return err ? err : tap_print_state(stdout, c, &n, now_ns);
}

/* ---- the loop ---- */

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int wait_ms(const struct tapping *t, int64_t until_ns)
{
	int64_t left = t->end_ns + GRACE_NS - clock_wall_ns();
	int64_t rest = until_ns - clock_mono_ns();

	if (until_ns && rest < left)
		left = rest;
	if (left > NS_PER_S) /* the wall clock may be set */
		left = NS_PER_S;
	return left < 0 ? 0 : (int)(left / NS_PER_MS) + 1;
}

static int run(struct tapping *t, int signals)
{
	int64_t until_ns =
		t->duration_ns ? clock_mono_ns() + t->duration_ns : 0;
	struct pollfd fds[2] = {{.fd = tap_fd(t->tap), .events = POLLIN},
				{.fd = signals, .events = POLLIN}};
	int err = 0;

	set_end(t, clock_wall_ns());
	while (!err && !t->print_error && !fds[1].revents &&
	       (!until_ns || clock_mono_ns() < until_ns)) {
		poll(fds, 2, wait_ms(t, until_ns));
		err = tap_read(t->tap, take_frame, t);
		end_intervals(t, clock_wall_ns() - GRACE_NS);
	}
	/* wait until the kernel hands over the block being filled */
	poll(NULL, 0, 2 * TAP_BLOCK_MS);
	if (!err)
		err = tap_read(t->tap, take_frame, t);
	if (err == -ENETDOWN)
		fprintf(stderr, "offhook tap: %s went down\n",
			t->params.interface);
	else if (err)
		fprintf(stderr, "offhook tap: %s: %s\n", t->params.interface,
			strerror(-err));
	if (!t->print_error)
		t->print_error = print_end(t);
	flush_output(t);
	if (t->print_error)
		fprintf(stderr, "offhook tap: cannot print: %s\n",
			strerror(-t->print_error));
	return err || t->print_error;
}

int tap_main(int argc, char **argv)
{
	struct tapping *t = calloc(1, sizeof(*t));
	char reason[TAP_REASON_BYTES] = "out of memory";
	int code = EXIT_NOTHING;
	int signals = -1;
	int err;

	if (!t)
		return EXIT_NOTHING;
	if (read_arguments(t, argc, argv)) {
		code = EXIT_USAGE;
		goto out;
	}
	t->terminal = isatty(STDOUT_FILENO) == 1;
	err = capture_new(&t->report.capture, &t->report.options);
	if (!err)
		err = tap_open(&t->tap, &t->params, reason);
	if (err) {
		fprintf(stderr, "offhook tap: %s\n", reason);
	} else {
		signals = open_signals();
		fprintf(stderr, "offhook tap: listening on %s\n",
			t->params.interface);
		code = run(t, signals) == 0 &&
				       (t->gone ||
					capture_stream_count(t->report.capture))
			       ? EXIT_FOUND
			       : EXIT_NOTHING;
	}
	if (signals >= 0)
		close(signals);
	tap_close(t->tap);
	capture_free(t->report.capture);
out:
	filter_free(t->filter);
	free(t);
	return code;
}
