#include "control/cli/analyze.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define EXIT_FOUND   0
#define EXIT_NOTHING 1
#define EXIT_USAGE   2

#define INTERVAL_MIN_S 0.01
#define INTERVAL_MAX_S 3600.0

enum option_code {
	OPTION_JSON = 256,
	OPTION_INTERVAL,
	OPTION_JITTER_BUFFER,
	OPTION_SDP_ONLY,
	OPTION_MAX_STREAMS,
	OPTION_CODEC,
	OPTION_HELP,
};

static const struct option long_options[] = {
	{"json", no_argument, NULL, OPTION_JSON},
	{"interval", required_argument, NULL, OPTION_INTERVAL},
	{"jitter-buffer", required_argument, NULL, OPTION_JITTER_BUFFER},
	{"sdp-only", no_argument, NULL, OPTION_SDP_ONLY},
	{"max-streams", required_argument, NULL, OPTION_MAX_STREAMS},
	{"codec", required_argument, NULL, OPTION_CODEC},
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0},
};

struct analyze_arguments {
	bool json;
	bool help;
	struct emodel_declarations declarations;
	struct analyze_report report;
};

static void usage(FILE *out)
{
	fputs("Usage: offhook analyze FILE [OPTION]...\n"
	      "\n"
	      "Measures every RTP stream of a pcap or pcapng file; FILE - is standard input.\n"
	      "\n"
	      "  --json               all figures of all streams as JSON\n"
	      "  --interval S         length of an interval in seconds (default: 1);\n"
	      "                       the table then shows the intervals, too\n"
	      "  --jitter-buffer M    buffer models: fixed:MS or adaptive, or both with\n"
	      "                       a comma (default: fixed:60,adaptive); the table\n"
	      "                       uses the first\n"
	      "  --codec NAME=V       score RTP encoding NAME with V: a codec of\n"
	      "                       \"offhook emodel --list\", or IE,BPL,SCALE (nb, wb, fb)\n"
	      "                       of your own, as opus=12,10,fb; may be repeated\n"
	      "  --sdp-only           only media that an SDP in the capture announced\n"
	      "  --max-streams N      measure at most N streams (default: 10000)\n"
	      "\n"
	      "Exit status: 0 streams were found, 1 none or the file is damaged (what\n"
	      "could be read is shown), 2 wrong usage.\n",
	      out);
}

__attribute__((format(printf, 1, 2))) static int complain(const char *fmt, ...)
{
	va_list args;

	fputs("offhook analyze: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\n       offhook analyze --help says more\n", stderr);
	return -EINVAL;
}

/* fixed:60,adaptive in either order, or one of them */
static int read_buffers(struct capture_options *o, const char *text)
{
	bool first = true;
	char copy[64];
	char *rest = copy;
	char *word;

	if (str_copy(copy, sizeof(copy), text))
		return complain("--jitter-buffer is too long");
	while ((word = strsep(&rest, ","))) {
		if (strcmp(word, "adaptive") == 0) {
			if (first)
				o->buffer = CAPTURE_BUFFER_ADAPTIVE;
		} else if (strncmp(word, "fixed:", 6) == 0) {
			if (str_to_double(word + 6, &o->fixed_delay_ms) ||
			    o->fixed_delay_ms < 1.0 ||
			    o->fixed_delay_ms > JB_FIXED_DEPTH_MS)
				return complain(
					"--jitter-buffer fixed:MS takes 1 to %.0f ms",
					JB_FIXED_DEPTH_MS);
			if (first)
				o->buffer = CAPTURE_BUFFER_FIXED;
		} else {
			return complain(
				"--jitter-buffer is fixed:MS, adaptive, or both with a comma");
		}
		first = false;
	}
	return 0;
}

static int option(struct analyze_arguments *a, int code)
{
	struct capture_options *o = &a->report.options;
	const char *reason;
	uint64_t n;
	double x;

	switch (code) {
	case OPTION_JSON:
		a->json = true;
		return 0;
	case OPTION_INTERVAL:
		if (str_to_double(optarg, &x) || x < INTERVAL_MIN_S ||
		    x > INTERVAL_MAX_S)
			return complain("--interval is %.2f to %.0f seconds",
					INTERVAL_MIN_S, INTERVAL_MAX_S);
		o->interval_ns = (int64_t)(x * 1e9 + 0.5);
		a->report.intervals = true;
		return 0;
	case OPTION_JITTER_BUFFER:
		return read_buffers(o, optarg);
	case OPTION_SDP_ONLY:
		o->sdp_only = true;
		return 0;
	case OPTION_MAX_STREAMS:
		if (str_to_u64(optarg, CAPTURE_STREAMS_MAX, &n) || n == 0)
			return complain("--max-streams is 1 to %d",
					CAPTURE_STREAMS_MAX);
		o->streams_max = (size_t)n;
		return 0;
	case OPTION_CODEC:
		if (emodel_declare(&a->declarations, optarg, &reason))
			return complain("--codec %s: %s", optarg, reason);
		o->declarations = &a->declarations;
		return 0;
	case OPTION_HELP:
		a->help = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int read_arguments(struct analyze_arguments *a, int argc, char **argv)
{
	int code;

	*a = (struct analyze_arguments){
		.report.options = {
			.interval_ns = INT64_C(1000000000),
			.fixed_delay_ms = JB_FIXED_DELAY_MS,
			.streams_max = CAPTURE_STREAMS_DEFAULT,
		}};
	while ((code = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (code == '?')
			return complain("wrong usage");
		if (option(a, code))
			return -EINVAL;
	}
	if (a->help)
		return 0;
	if (optind + 1 != argc)
		return complain("takes one file, or - for standard input");
	a->report.path = argv[optind];
	a->report.options.detailed = a->json || a->report.intervals;
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

/* @return 0; -errno: nothing could be read at all, the reason was printed */
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

static int report(struct analyze_arguments *a)
{
	struct analyze_report *r = &a->report;
	int err;

	if (r->damage)
		fprintf(stderr, "offhook analyze: %s: %s%s\n", r->path,
			r->damage,
			capture_counters(r->capture)->frames
				? "; what comes before it is shown"
				: "");
	add_notes(r);
	err = a->json ? analyze_print_json(r, stdout)
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
	struct analyze_arguments a;
	struct reader reader = {0};
	struct source source = {0};
	int code = EXIT_NOTHING;
	int fd = STDIN_FILENO;
	int err;

	if (read_arguments(&a, argc, argv))
		return EXIT_USAGE;
	if (a.help) {
		usage(stdout);
		return 0;
	}
	a.report.reader = &reader;
	if (strcmp(a.report.path, "-") != 0)
		fd = open(a.report.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "offhook analyze: %s: %s\n", a.report.path,
			strerror(errno));
		return EXIT_NOTHING;
	}
	err = source_open(&source, fd);
	if (!err)
		err = capture_new(&a.report.capture, &a.report.options);
	if (err) {
		fprintf(stderr, "offhook analyze: %s\n", strerror(-err));
	} else {
		read_capture(&a.report, &reader, &source);
		code = report(&a);
	}
	capture_free(a.report.capture);
	reader_close(&reader);
	source_close(&source);
	if (fd != STDIN_FILENO)
		close(fd);
	return code;
}
