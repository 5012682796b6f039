#include "control/cli/import/import.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "control/cli/common/exit_code.h"
#include "control/import/call_capture.h"
#include "control/import/call_summary.h"
#include "control/import/test_code.h"
#include "control/yaml/yaml_write.h"

#define MODELINE                                                \
	"# yaml-language-server: $schema=offhook.schema.json\n" \
	"# offhook apply -f FILE; secrets come from the environment\n"
#define AGENT_POOL "lab"
#define ALL_NAME   "imported-calls" /* of a file in a folder */

struct import {
	const char *path;
	const char *output; /* NULL: standard output */
	uint64_t number;    /* of the call, from 1; 0: the only one */
	bool all;           /* calls, in one file */
	struct test_code_options options;
};

__attribute__((format(printf, 1, 2))) static int complain(const char *fmt, ...)
{
	va_list args;

	fputs("offhook import: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\nhelp: offhook import --help\n", stderr);
	return CLI_EXIT_USAGE;
}

static int failed(const char *path, int err)
{
	fprintf(stderr, "offhook import: %s: %s\n", path, strerror(-err));
	return CLI_EXIT_FAILED;
}

static const struct option long_options[] = {
	{"anonymise", no_argument, NULL, 'a'},
	{"call", required_argument, NULL, 'c'},
	{"expect-failure", no_argument, NULL, 'e'},
	{"name", required_argument, NULL, 'n'},
	{"agent-pool", required_argument, NULL, 'p'},
	{"target", required_argument, NULL, 't'},
	{NULL, 0, NULL, 0},
};

static int read_options(struct import *o, int argc, char **argv)
{
	int code;

	opterr = 0;
	while ((code = getopt_long(argc, argv, "o:", long_options, NULL)) !=
	       -1) {
		if (code == 'a')
			o->options.anonymise = true;
		else if (code == 'e')
			o->options.expect_failure = true;
		else if (code == 'n')
			o->options.name = optarg;
		else if (code == 'p')
			o->options.agent_pool = optarg;
		else if (code == 't')
			o->options.target = optarg;
		else if (code == 'o')
			o->output = optarg;
		else if (code != 'c')
			return complain("wrong option %s", argv[optind - 1]);
		else if (strcmp(optarg, "all") == 0)
			o->all = true;
		else if (str_to_u64(optarg, DIALOGS_CALLS_MAX, &o->number) ||
			 o->number == 0)
			return complain("--call is a number from 1 to %d, "
					"or all",
					DIALOGS_CALLS_MAX);
	}
	if (optind + 1 != argc)
		return complain("takes one file, or - for standard input");
	o->path = argv[optind];
	return 0;
}

/* Print a text of the capture: no control characters. */
static void print_text(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == '\x7f' ? '?'
								    : *text,
		      stderr);
}

static void print_call(size_t number, const struct dialogs_call *c)
{
	struct call_summary s;

	if (call_summary_make(c, &s)) {
		fprintf(stderr, "  %zu  cannot be read\n", number);
		return;
	}
	fprintf(stderr, "  %zu  ", number);
	print_text(s.from.user);
	fputs(" to ", stderr);
	print_text(s.to.user[0] ? s.to.user : s.to.host);
	if (s.established_ns)
		fprintf(stderr, ": established, %.1f s\n",
			(double)(s.end_ns - s.established_ns) / 1e9);
	else
		fprintf(stderr, ": not established, %u\n", s.code);
}

static int list_calls(const struct import *o, struct dialogs *d)
{
	fprintf(stderr,
		"offhook import: %s has %zu calls: choose one with --call, or all\n",
		o->path, dialogs_call_count(d));
	for (size_t i = 0; i < dialogs_call_count(d); i++)
		print_call(i + 1, dialogs_call(d, i));
	return CLI_EXIT_USAGE;
}

/* ---- output ---- */

static int write_test(json_t *document, json_t *notes, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	json_t *note;
	size_t i;
	int err;

	if (!out)
		return failed(path, -errno);
	fputs(MODELINE, out);
	if (json_array_size(notes))
		fputs("#\n# Not carried over, or to be checked:\n", out);
	json_array_foreach(notes, i, note)
		fprintf(out, "# - %s\n", json_string_value(note));
	err = yaml_write(out, document);
	if (!err && fflush(out))
		err = -errno;
	if (path && fclose(out) && !err)
		err = -EIO;
	return err ? failed(path ? path : "standard output", err) : 0;
}

/* The path of the file: in a folder it is named after the test. */
static void output_path(const struct import *o, const json_t *document,
			char ret[static PATH_MAX])
{
	json_t *test = json_array_get(json_object_get(document, "tests"), 0);
	const char *name =
		o->all ? ALL_NAME
		       : json_string_value(json_object_get(test, "name"));
	struct stat st;
	int length;

	length = str_print(ret, PATH_MAX, "%s", o->output);
	if (length < 0 || stat(o->output, &st) || !S_ISDIR(st.st_mode))
		return;
	str_print(ret + length, PATH_MAX - (size_t)length, "/%s.yaml", name);
	for (char *c = ret + length + 1; *c; c++)
		*c = isalnum((unsigned char)*c) || *c == '.'
			     ? (char)tolower((unsigned char)*c)
			     : '-';
	if (ret[length + 1] == '.')
		ret[length + 1] = '-';
}

/* @param call  NULL: all */
static int import_calls(const struct import *o, struct dialogs *d,
			const struct dialogs_call *call)
{
	json_t *document = NULL, *notes = NULL, *note;
	char path[PATH_MAX];
	int status;
	size_t i;
	int err = call ? test_code_make(d, call, &o->options, &document, &notes)
		       : test_code_make_all(d, &o->options, &document, &notes);

	if (err == -EINVAL)
		return complain("--target is a SIP URI, as "
				"\"sip:192.0.2.1:5060;transport=tcp\"");
	if (err)
		return failed(o->path, err);
	if (o->output)
		output_path(o, document, path);
	status = write_test(document, notes, o->output ? path : NULL);
	if (!status) {
		json_array_foreach(notes, i, note)
			fprintf(stderr, "offhook import: %s\n",
				json_string_value(note));
		if (o->output)
			fprintf(stderr, "offhook import: wrote %s\n", path);
	}
	json_decref(document);
	json_decref(notes);
	return status;
}

static int choose_call(const struct import *o, struct dialogs *d)
{
	size_t count = dialogs_call_count(d);

	if (dialogs_left_out(d))
		fprintf(stderr,
			"offhook import: %" PRIu64 " calls or messages above "
			"a ceiling were left out\n",
			dialogs_left_out(d));
	if (count == 0) {
		fprintf(stderr, "offhook import: %s has no SIP call\n",
			o->path);
		return CLI_EXIT_FAILED;
	}
	if (o->all)
		return import_calls(o, d, NULL);
	if (!o->number && count > 1)
		return list_calls(o, d);
	if (o->number > count) {
		fprintf(stderr, "offhook import: %s has %zu calls only\n",
			o->path, count);
		return CLI_EXIT_FAILED;
	}
	return import_calls(o, d,
			    dialogs_call(d, o->number ? o->number - 1 : 0));
}

int import_main(int argc, char **argv)
{
	struct import o = {.path = "-", .options = {.agent_pool = AGENT_POOL}};
	char reason[CALL_CAPTURE_REASON_BYTES] = "";
	struct source source = {0};
	struct dialogs *d = NULL;
	int fd = STDIN_FILENO;
	int status, err;

	status = read_options(&o, argc, argv);
	if (status)
		return status;
	if (strcmp(o.path, "-") != 0)
		fd = open(o.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return failed(o.path, -errno);
	err = source_open(&source, fd);
	if (!err)
		err = call_capture_read(&source, NULL, &d, reason);
	if (err == -EBADMSG)
		fprintf(stderr,
			"offhook import: %s: %s; only what comes "
			"before it is used\n",
			o.path, reason);
	status = d ? choose_call(&o, d) : failed(o.path, err);
	dialogs_free(d);
	source_close(&source);
	if (fd != STDIN_FILENO)
		close(fd);
	return status;
}
