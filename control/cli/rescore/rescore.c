#include "control/cli/rescore/rescore.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/rescore/rescore_table.h"
#include "control/cli/run/run_report.h"
#include "control/rescore/packets.h"
#include "control/rescore/rescore.h"
#include "control/rescore/run_streams.h"
#include "control/wire/text.h"

#define PATH_BYTES      200
#define UUID_CHARACTERS 36

/* ---- the command line ---- */

static int add_buffers(struct rescore_options *o, const char *text)
{
	char reason[RESCORE_REASON_BYTES];

	if (rescore_options_buffers(o, text, reason))
		return client_usage("--jitter-buffer %s: %s", text, reason);
	return 0;
}

static int set_codec(struct rescore_options *o, const char *name)
{
	if (rescore_options_codec(o, name))
		return client_usage("--codec %s: there are no values of that "
				    "codec: `offhook emodel --list`",
				    name);
	return 0;
}

static int set_number(const char *name, double min, double max, double *ret)
{
	double x;

	if (str_to_double(optarg, &x) || x < min || x > max)
		return client_usage("%s is %g to %g", name, min, max);
	*ret = x;
	return 0;
}

static int set_max_streams(struct rescore_options *o)
{
	uint64_t n;

	if (str_to_u64(optarg, CAPTURE_STREAMS_MAX, &n) || n == 0)
		return client_usage("--max-streams is 1 to %d",
				    CAPTURE_STREAMS_MAX);
	o->capture.streams_max = (size_t)n;
	return 0;
}

/* @return 0; exit status */
static int take_option(struct rescore_options *o, int option)
{
	switch (option) {
	case 'b':
		return add_buffers(o, optarg);
	case 'c':
		return set_codec(o, optarg);
	case 'l':
		return set_number("--least", 1.0, RESCORE_LEAST_MAX,
				  &o->least_mos);
	case 'm':
		return set_max_streams(o);
	case 'n':
		o->has_network = true;
		return set_number("--network-delay", 0.0,
				  RESCORE_NETWORK_MAX_MS, &o->network_ms);
	case 's':
		o->capture.sdp_only = true;
		return 0;
	default:
		return client_usage("wrong option of `rescore`, or its value "
				    "is missing");
	}
}

static int read_arguments(struct rescore_options *o, int argc, char **argv,
			  const char **ret_what)
{
	static const struct option options[] = {
		{"jitter-buffer", required_argument, NULL, 'b'},
		{"codec", required_argument, NULL, 'c'},
		{"least", required_argument, NULL, 'l'},
		{"max-streams", required_argument, NULL, 'm'},
		{"network-delay", required_argument, NULL, 'n'},
		{"sdp-only", no_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	int status = 0;
	int option;

	opterr = 0;
	while (!status &&
	       (option = getopt_long(argc, argv, "", options, NULL)) != -1)
		status = take_option(o, option);
	if (status)
		return status;
	if (optind + 1 != argc)
		return client_usage("`rescore` takes one run or one file");
	*ret_what = argv[optind];
	return 0;
}

/* Runs are named by number or session id (a UUID); everything else is a file. */
static bool is_run(const char *text)
{
	size_t len = strlen(text);

	if (len > 0 && strspn(text, "0123456789") == len)
		return true;
	if (len != UUID_CHARACTERS)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

/* ---- results ---- */

static void print_notes(const struct packets *p, const char *path)
{
	const uint64_t left_out = packets_left_out(p);

	if (p->damaged)
		fprintf(stderr, "offhook: %s: %s%s\n", path, p->reason,
			packets_stream_count(p)
				? "; what comes before it is shown"
				: "");
	if (left_out)
		fprintf(stderr,
			"offhook: %" PRIu64 " packets belong to more streams "
			"than --max-streams and are left out\n",
			left_out);
	if (p->frames_left_out)
		fprintf(stderr,
			"offhook: %" PRIu64 " frames of interfaces above %d "
			"are left out\n",
			p->frames_left_out, PACKETS_INTERFACES_MAX);
}

static int print_json(struct rescore *r)
{
	json_t *found = rescore_json(r);

	if (!found)
		return -ENOMEM;
	client_print_json(stdout, found);
	json_decref(found);
	return ferror(stdout) ? -EIO : 0;
}

static int print(struct client *c, struct rescore *r, const char *path)
{
	int err;

	print_notes(r->packets, path);
	err = client_json(c) ? print_json(r) : rescore_print_table(r, stdout);
	if (!err && fflush(stdout))
		err = -errno;
	if (err)
		fprintf(stderr, "offhook: cannot print: %s\n", strerror(-err));
	return err || r->packets->damaged || r->count == 0 ? CLI_EXIT_FAILED
							   : CLI_EXIT_OK;
}

/* ---- a file ---- */

static int complain(const char *path, int err)
{
	fprintf(stderr, "offhook: %s: %s\n", path, strerror(-err));
	return CLI_EXIT_FAILED;
}

static int rescore_file(struct client *c, struct rescore *r, const char *path)
{
	int fd = STDIN_FILENO;
	int status;
	int err;

	if (strcmp(path, "-") != 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return complain(path, -errno);
	err = packets_read(r->packets, fd, &r->options->capture);
	status = err ? complain(path, err) : print(c, r, path);
	packets_release(r->packets);
	if (fd != STDIN_FILENO)
		close(fd);
	return status;
}

/* ---- a run ---- */

/* Download the packets of a run into a file without a name.
 * @return 0; exit status */
static int fetch_packets(struct client *c, const char *session, FILE **ret)
{
	char reason[REMOTE_REASON_BYTES];
	char path[PATH_BYTES];
	FILE *file = tmpfile();

	if (!file) {
		fprintf(stderr, "offhook: no temporary file: %s\n",
			strerror(errno));
		return CLI_EXIT_ERRORED;
	}
	str_print(path, sizeof(path), "/run/details/%s/packets.pcapng",
		  session);
	if (remote_save(client_remote(c), path, file, reason)) {
		fclose(file);
		return client_refused(c, reason);
	}
	*ret = file;
	return 0;
}

static void note_run(const struct rescore *r, const json_t *report)
{
	if (json_array_size(json_object_get(report, "artifacts_cut")))
		fputs("offhook: the capture of the run is not whole: the "
		      "report says what is missing\n",
		      stderr);
	if (packets_stream_count(r->packets) == 0)
		fputs("offhook: the run has no captured RTP: its calls need "
		      "the parameter rtp_capture\n",
		      stderr);
}

static int rescore_report(struct client *c, struct rescore *r,
			  const json_t *report)
{
	const char *session = text_of(r->run, "session_id");
	json_t *streams = NULL;
	FILE *file = NULL;
	int status = fetch_packets(c, session, &file);
	int err;

	if (status)
		return status;
	r->streams = streams = run_streams_new(report);
	err = streams ? 0 : -ENOMEM;
	if (!err && (fflush(file) || lseek(fileno(file), 0, SEEK_SET) < 0))
		err = -errno;
	if (!err)
		err = packets_read(r->packets, fileno(file),
				   &r->options->capture);
	if (err) {
		complain("packets of the run", err);
		status = CLI_EXIT_ERRORED;
	} else {
		note_run(r, report);
		status = print(c, r, "packets of the run");
	}
	packets_release(r->packets);
	json_decref(streams);
	fclose(file);
	return status;
}

static int rescore_run(struct client *c, struct rescore *r, const char *id)
{
	json_t *report;
	int status = run_report_read(c, id, &report);

	if (status)
		return status;
	r->run = json_object_get(report, "run");
	status = rescore_report(c, r, report);
	json_decref(report);
	return status;
}

int rescore_main(struct client *c, int argc, char **argv)
{
	struct rescore_options options;
	struct packets *packets;
	struct rescore r = {.options = &options};
	const char *what = NULL;
	int status;

	rescore_options_init(&options);
	status = read_arguments(&options, argc, argv, &what);
	if (status || !what)
		return status;
	packets = calloc(1, sizeof(*packets));
	if (!packets)
		return complain(what, -ENOMEM);
	r.packets = packets;
	status = is_run(what) ? rescore_run(c, &r, what)
			      : rescore_file(c, &r, what);
	free(packets);
	return status;
}
