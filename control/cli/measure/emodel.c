#include "control/cli/measure/emodel.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "control/cli/measure/emodel_case.h"
#include "control/wire/json.h"
#include "media/analysis/emodel_values.h"

#define INPUT_BYTES_MAX (64u << 20)
#define FORMAT          (JSON_INDENT(1) | JSON_DECIMAL)

enum option_code {
	OPTION_JSON = 256,
	OPTION_CODEC,
	OPTION_LOSS,
	OPTION_BURST_RATIO,
	OPTION_DELAY,
	OPTION_IE,
	OPTION_BPL,
	OPTION_MODEL,
	OPTION_LIST,
};

static const struct option long_options[] = {
	{"json", no_argument, NULL, OPTION_JSON},
	{"codec", required_argument, NULL, OPTION_CODEC},
	{"loss", required_argument, NULL, OPTION_LOSS},
	{"burst-ratio", required_argument, NULL, OPTION_BURST_RATIO},
	{"delay", required_argument, NULL, OPTION_DELAY},
	{"ie", required_argument, NULL, OPTION_IE},
	{"bpl", required_argument, NULL, OPTION_BPL},
	{"model", required_argument, NULL, OPTION_MODEL},
	{"list", no_argument, NULL, OPTION_LIST},
	{NULL, 0, NULL, 0},
};

struct emodel_arguments {
	bool json;
	bool list;
	bool single; /* an option that describes a single score was given */
	const char *codec;
	double loss;
	double burst_ratio;
	double delay_ms;
	bool has_ie;
	bool has_bpl;
	double ie;
	double bpl;
	const char *model; /* NULL: the codec's */
};

__attribute__((format(printf, 1, 2))) static int complain(const char *fmt, ...)
{
	va_list args;

	fputs("offhook emodel: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\n       offhook emodel --help says more\n", stderr);
	return -EINVAL;
}

static int read_number(const char *name, double min, double max, double *ret)
{
	double x;

	if (str_to_double(optarg, &x) || x < min || x > max)
		return complain("%s is %g to %g", name, min, max);
	*ret = x;
	return 0;
}

static int option(struct emodel_arguments *a, int code)
{
	switch (code) {
	case OPTION_JSON:
		a->json = true;
		return 0;
	case OPTION_IE:
		a->single = a->has_ie = true;
		return read_number("--ie", 0, 200, &a->ie);
	case OPTION_BPL:
		a->single = a->has_bpl = true;
		return read_number("--bpl", 0.001, 1000, &a->bpl);
	case OPTION_MODEL:
		a->single = true;
		a->model = optarg;
		return 0;
	case OPTION_LIST:
		a->list = true;
		return 0;
	case OPTION_CODEC:
		a->codec = optarg;
		return 0;
	case OPTION_LOSS:
		a->single = true;
		return read_number("--loss", 0, 100, &a->loss);
	case OPTION_BURST_RATIO:
		a->single = true;
		return read_number("--burst-ratio", 1, 1000, &a->burst_ratio);
	case OPTION_DELAY:
		a->single = true;
		return read_number("--delay", 0, 100000, &a->delay_ms);
	default:
		return -EINVAL;
	}
}

static int read_all(FILE *in, struct buf *b)
{
	char part[65536];
	size_t n;
	int err = 0;

	while (!err && (n = fread(part, 1, sizeof(part), in)) > 0)
		err = buf_add(b, part, n);
	return ferror(in) ? -EIO : err;
}

static int answer_batch(const json_t *input)
{
	const json_t *cases = json_object_get(input, "cases");
	char reason[EMODEL_REASON_BYTES];
	struct emodel_case c;
	size_t i;
	json_t *v;

	if (!json_is_array(cases)) {
		fputs("offhook emodel: the input has no array \"cases\"\n",
		      stderr);
		return 1;
	}
	fputs("{\"results\": [", stdout);
	json_array_foreach(cases, i, v)
	{
		json_t *o = emodel_case_read(v, &c, reason)
				    ? emodel_case_rate(&c)
				    : emodel_case_error(reason);

		fputs(i ? ",\n" : "\n", stdout);
		if (o)
			json_dumpf(o, stdout, JSON_COMPACT | JSON_DECIMAL);
		else
			fputs("{\"error\":\"out of memory\"}", stdout);
		json_decref(o);
	}
	fputs("\n]}\n", stdout);
	return fflush(stdout) ? 1 : 0;
}

static int run_batch(void)
{
	json_error_t error;
	struct buf b;
	json_t *input = NULL;
	int code = 1;
	int err;

	buf_init(&b, INPUT_BYTES_MAX);
	err = read_all(stdin, &b);
	if (err == -EMSGSIZE)
		fprintf(stderr,
			"offhook emodel: the input is longer than "
			"%u MiB\n",
			INPUT_BYTES_MAX >> 20);
	else if (err)
		fprintf(stderr, "offhook emodel: cannot read the input: %s\n",
			strerror(-err));
	else
		input = json_loadb(b.data ? b.data : "", b.used,
				   JSON_REJECT_DUPLICATES, &error);
	if (!err && !input)
		fprintf(stderr, "offhook emodel: line %d: %s\n", error.line,
			error.text);
	if (input)
		code = answer_batch(input);
	json_decref(input);
	buf_release(&b);
	return code;
}

/* @return false: wrong usage, the complaint was printed */
static bool make_case(const struct emodel_arguments *a, struct emodel_case *c)
{
	const struct emodel_codec *codec =
		a->codec ? emodel_case_codec(a->codec) : NULL;

	*c = (struct emodel_case){
		.codec = codec,
		.scale = codec ? codec->scale : EMODEL_NB,
		.has_bpl = a->has_bpl || (codec && codec->has_bpl),
	};
	if (a->codec && !codec && !a->has_ie) {
		complain("there is no codec %s (see --list), and no --ie",
			 a->codec);
		return false;
	}
	if (a->model && !emodel_case_model(a->model, &c->scale)) {
		complain("there is no model %s", a->model);
		return false;
	}
	if (codec && codec->scale != c->scale && !a->has_ie) {
		complain("%s has no Ie for model %s", codec->name,
			 emodel_model_name(c->scale));
		return false;
	}
	emodel_params_default(&c->params, c->scale);
	if (codec && codec->scale == c->scale)
		emodel_params_codec(&c->params, codec, 0.0);
	else
		c->has_bpl = a->has_bpl;
	c->params.ta_ms = a->delay_ms;
	c->params.t_ms = a->delay_ms;
	c->params.tr_ms = 2 * a->delay_ms;
	c->params.ppl = a->loss;
	c->params.burst_r = a->burst_ratio;
	if (a->has_ie)
		c->params.ie = a->ie;
	if (a->has_bpl)
		c->params.bpl = a->bpl;
	return true;
}

static int run_single(const struct emodel_arguments *a)
{
	const char *name = a->codec ? a->codec : "declared values";
	struct emodel_case c;
	json_t *o;
	int code = 0;

	if (!make_case(a, &c))
		return 2;
	if (c.codec)
		name = c.codec->name;
	o = emodel_case_rate(&c);
	if (!o)
		return 1;
	if (json_object_get(o, "error")) {
		fprintf(stderr, "offhook emodel: %s: %s\n", name,
			json_string_value(json_object_get(o, "error")));
		if (!c.has_bpl)
			fputs("       --bpl declares one\n", stderr);
		code = 1;
	}
	if (a->json)
		json_dumpf(o, stdout, FORMAT);
	else if (code == 0)
		printf("%s (%s%s): R %.2f, MOS %.3f", name,
		       emodel_model_name(c.scale),
		       emodel_case_standard(&c) ? "" : ", declared",
		       json_real_value(json_object_get(o, "R")),
		       json_real_value(json_object_get(o, "MOS")));
	if (a->json || code == 0)
		puts("");
	json_decref(o);
	return code;
}

static int run_list(void)
{
	size_t count;
	const struct emodel_codec *codec = emodel_codecs(&count);

	printf("%-22s %-15s %5s %5s  %s\n", "codec", "model", "Ie", "Bpl",
	       "source");
	for (size_t i = 0; i < count; i++) {
		char bpl[16] = "-";

		if (codec[i].has_bpl)
			snprintf(bpl, sizeof(bpl), "%.1f", codec[i].bpl);
		printf("%-22s %-15s %5.1f %5s  %s\n", codec[i].name,
		       emodel_model_name(codec[i].scale), codec[i].ie, bpl,
		       codec[i].source);
	}
	return 0;
}

int emodel_main(int argc, char **argv)
{
	struct emodel_arguments a = {.burst_ratio = 1.0};
	int code;

	while ((code = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (code == '?')
			complain("wrong usage");
		if (code == '?' || option(&a, code))
			return 2;
	}
	if (optind != argc) {
		complain("takes no argument");
		return 2;
	}
	if (a.list)
		return run_list();
	if (a.codec || a.has_ie)
		return run_single(&a);
	if (!a.json || a.single) {
		complain(
			"which codec? --codec NAME or --ie X, or --json for a batch");
		return 2;
	}
	return run_batch();
}
