#include "control/cli/measure/analyze.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "control/cli/measure/measure_options.h"

#define EXIT_FOUND   0
#define EXIT_NOTHING 1
#define EXIT_USAGE   2

#define INTERVAL_MIN_S 0.01
#define OPTION_BUFFER  MEASURE_OPTION_OWN

static const struct option long_options[] = {
	MEASURE_OPTIONS,
	{"jitter-buffer", required_argument, NULL, OPTION_BUFFER},
	{NULL, 0, NULL, 0},
};

/* Parse "fixed:60", "adaptive", or both in either order with a comma. */
static int read_buffers(struct measure_options *options, const char *text)
{
	struct capture_options *o = &options->capture;
	bool first = true;
	char copy[64];
	char *rest = copy;
	char *word;

	if (str_copy(copy, sizeof(copy), text))
		return measure_options_complain(options,
						"--jitter-buffer is too long");
	while ((word = strsep(&rest, ","))) {
		if (strcmp(word, "adaptive") == 0) {
			if (first)
				o->buffer = CAPTURE_BUFFER_ADAPTIVE;
		} else if (strncmp(word, "fixed:", 6) == 0) {
			if (str_to_double(word + 6, &o->fixed_delay_ms) ||
			    o->fixed_delay_ms < 1.0 ||
			    o->fixed_delay_ms > JB_FIXED_MAX_MS)
				return measure_options_complain(
					options,
					"--jitter-buffer fixed:MS takes 1 to %.0f ms",
					JB_FIXED_MAX_MS);
			if (first)
				o->buffer = CAPTURE_BUFFER_FIXED;
		} else {
			return measure_options_complain(
				options,
				"--jitter-buffer is fixed:MS, adaptive, or both with a comma");
		}
		first = false;
	}
	return 0;
}

static int read_arguments(struct measure_options *o, int argc, char **argv)
{
	int code;

	measure_options_init(o, "analyze", INTERVAL_MIN_S);
	while ((code = measure_options_next(o, argc, argv, long_options)) > 0) {
		if (read_buffers(o, optarg))
			return -EINVAL;
	}
	if (code < 0)
		return code;
	if (optind + 1 != argc)
		return measure_options_complain(
			o, "takes one file, or - for standard input");
	o->capture.detailed = o->json || o->has_interval;
	return 0;
}

void analyze_note(struct analyze_report *r, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, fmt);
	length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length >= 0 && r->note_count < ANALYZE_NOTES_MAX)
		r->note[r->note_count++] = text;
	else if (length >= 0)
		free(text);
}

void analyze_notes_release(struct analyze_report *r)
{
	while (r->note_count > 0)
		free(r->note[--r->note_count]);
}

void analyze_note_capture(struct analyze_report *r)
{
	const struct capture_counters *n = capture_counters(r->capture);

	if (n->streams_left_out)
		analyze_note(r,
			     "%" PRIu64 " RTP packets belong to more than %zu "
			     "streams and were not measured (--max-streams)",
			     n->streams_left_out, r->options.streams_max);
	if (capture_left_out(r->capture))
		analyze_note(r,
			     "%" PRIu64 " intervals or reports could not be "
			     "kept (too many, or no room for temporary files)",
			     capture_left_out(r->capture));
	if (n->bad_link)
		analyze_note(r,
			     "%" PRIu64 " frames are of link type %" PRIu32
			     ", which is not supported",
			     n->bad_link, n->bad_link_type);
	if (n->incomplete)
		analyze_note(r,
			     "%" PRIu64 " fragmented IP datagrams are not "
			     "whole in the capture: a large SDP may be missing",
			     n->incomplete);
	if (n->negative_rtt)
		analyze_note(r,
			     "%" PRIu64 " RTCP reports give a negative round "
			     "trip and were not used",
			     n->negative_rtt);
	if (n->reporters_left_out)
		analyze_note(r,
			     "%" PRIu64 " round-trip times are of more than "
			     "%d RTCP reporters and were left out",
			     n->reporters_left_out, CAPTURE_REPORTERS_MAX);
}

static void add_notes(struct analyze_report *r)
{
	const struct reader *f = r->reader;

	analyze_note_capture(r);
	if (f->untimed)
		analyze_note(r,
			     "%" PRIu64 " frames carry no time (simple packet "
			     "blocks): no jitter, no buffer figures for their "
			     "streams",
			     f->untimed);
	if (f->bad_times)
		analyze_note(r, "%" PRIu64 " frames have times that cannot be",
			     f->bad_times);
	if (f->dropped)
		analyze_note(r,
			     "%" PRIu64 " frames of an interface the file does "
			     "not describe were left out",
			     f->dropped);
}

/* @return 0; -errno nothing could be read, the reason was printed */
static int read_capture(struct analyze_report *r, struct reader *reader,
			struct source *source)
{
	struct frame f;
	int err;

	err = reader_open(reader, source);
	while (!err) {
		err = reader_next(reader, &f);
		if (err <= 0)
			break;
		capture_take(r->capture, &f);
		err = 0;
	}
	capture_finish(r->capture);
	if (err < 0)
		r->damage = reader->reason;
	return err;
}

static int report(struct analyze_report *r, bool json)
{
	int err;

	if (r->damage)
		fprintf(stderr, "offhook analyze: %s: %s%s\n", r->path,
			r->damage,
			capture_counters(r->capture)->frames
				? "; what comes before it is shown"
				: "");
	add_notes(r);
	err = json ? analyze_print_json(r, stdout)
		   : analyze_print_table(r, stdout);
	if (!err && fflush(stdout))
		err = -errno;
	if (err)
		fprintf(stderr, "offhook analyze: cannot print: %s\n",
			strerror(-err));
	analyze_notes_release(r);
	return err || r->damage || capture_stream_count(r->capture) == 0
		       ? EXIT_NOTHING
		       : EXIT_FOUND;
}

int analyze_main(int argc, char **argv)
{
	struct measure_options o;
	struct analyze_report r = {0};
	struct reader reader = {0};
	struct source source = {0};
	int code = EXIT_NOTHING;
	int fd = STDIN_FILENO;
	int err;

	if (read_arguments(&o, argc, argv))
		return EXIT_USAGE;
	r.path = argv[optind];
	r.options = o.capture;
	r.intervals = o.has_interval;
	r.reader = &reader;
	if (strcmp(r.path, "-") != 0)
		fd = open(r.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "offhook analyze: %s: %s\n", r.path,
			strerror(errno));
		return EXIT_NOTHING;
	}
	err = source_open(&source, fd);
	if (!err)
		err = capture_new(&r.capture, &r.options);
	if (err) {
		fprintf(stderr, "offhook analyze: %s\n", strerror(-err));
	} else {
		read_capture(&r, &reader, &source);
		code = report(&r, o.json);
	}
	capture_free(r.capture);
	reader_close(&reader);
	source_close(&source);
	if (fd != STDIN_FILENO)
		close(fd);
	return code;
}
