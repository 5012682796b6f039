#include "control/cli/run/run_stats.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/table.h"
#include "control/cli/run/run_report.h"
#include "control/cli/run/run_verbs.h"
#include "control/render/figures.h"
#include "control/wire/text.h"

#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#define PATH_BYTES   400
#define NUMBER_BYTES 64
#define VALUE_BYTES  100

/* ---- sums ---- */

static json_t *roles_of(const json_t *report)
{
	struct role_figures roles[FIGURES_ROLES_MAX];
	size_t count = figures_collect(roles, report);
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			rows,
			json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "role",
				  roles[i].role, "calls",
				  (json_int_t)roles[i].calls, "established",
				  (json_int_t)roles[i].established, "failed",
				  (json_int_t)roles[i].failed, "registrations",
				  (json_int_t)roles[i].registrations,
				  "registered",
				  (json_int_t)roles[i].registered));
	return rows;
}

/* Sum up the intervals of a series. */
static json_t *measure_of(const json_t *series)
{
	double samples = 0, sum = 0, min = 0, max = 0;
	const json_t *p;
	size_t i;

	json_array_foreach(json_object_get(series, "points"), i, p)
	{
		double n = json_number_value(json_object_get(p, "n"));
		double low = json_number_value(json_object_get(p, "min"));
		double high = json_number_value(json_object_get(p, "max"));

		if (!(n > 0) || !json_is_number(json_object_get(p, "avg")))
			continue;
		if (!(samples > 0) || low < min)
			min = low;
		if (!(samples > 0) || high > max)
			max = high;
		samples += n;
		sum += n * json_number_value(json_object_get(p, "avg"));
	}
	if (!(samples > 0))
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:O*}",
			 "role", text_of(series, "role"), "dir",
			 text_of(series, "dir"), "measure",
			 text_of(series, "measure"), "unit",
			 text_of(series, "unit"), "samples",
			 (json_int_t)samples, "min", min, "avg", sum / samples,
			 "max", max, "bound", json_object_get(series, "bound"));
}

json_t *run_stats_sum(const json_t *report)
{
	json_t *measures = json_array(), *sums;
	const json_t *series;
	size_t i;

	json_array_foreach(json_object_get(report, "series"), i, series)
	{
		json_t *measure = measure_of(series);

		if (measure)
			json_array_append_new(measures, measure);
	}
	sums = json_pack("{s:o, s:o, s:O*}", "roles", roles_of(report),
			 "measures", measures, "calls_omitted",
			 json_object_get(report, "calls_omitted"));
	return sums;
}

/* ---- tables ---- */

json_t *run_stats_number(const json_t *value)
{
	char text[NUMBER_BYTES];
	size_t len;

	if (json_is_integer(value))
		return json_sprintf("%lld",
				    (long long)json_integer_value(value));
	if (!json_is_number(value) ||
	    str_print(text, sizeof(text), "%.3f", json_number_value(value)) < 0)
		return json_null();
	len = strlen(text);
	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	return json_stringn(text, len);
}

/* A row with the members of an object, in their order. */
static json_t *row_of(const json_t *object, const char *const *members,
		      size_t count)
{
	json_t *row = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *value = json_object_get(object, members[i]);

		if (json_is_string(value))
			json_array_append(row, value);
		else
			json_array_append_new(row, run_stats_number(value));
	}
	return row;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Print objects as a table. @param members  one for each column */
static void print_objects(FILE *out, const struct table_column *columns,
			  const char *const *members, size_t count,
			  const json_t *objects, size_t width)
{
	json_t *rows = json_array();
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		json_array_append_new(rows, row_of(object, members, count));
	}
	table_print(out, columns, count, rows, width);
	json_decref(rows);
}

/* The last column, the error bound, is left out where no row has one. */
static size_t columns_shown(const json_t *rows, size_t count)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (json_object_get(row, "bound"))
			return count;
	}
	return count - 1;
}

void run_stats_print(FILE *out, const json_t *sums, size_t width)
{
	static const struct table_column role_columns[] = {
		{"role", false},  {"calls", true},    {"established", true},
		{"failed", true}, {"accounts", true}, {"registered", true},
	};
	static const char *const role_members[] = {
		"role",   "calls",         "established",
		"failed", "registrations", "registered",
	};
	static const struct table_column columns[] = {
		{"measure", false}, {"role", false},   {"dir", false},
		{"unit", false},    {"samples", true}, {"min", true},
		{"mean", true},     {"max", true},     {"± mean", true},
	};
	static const char *const members[] = {
		"measure", "role", "dir", "unit",  "samples",
		"min",     "avg",  "max", "bound",
	};
	const json_t *roles = json_object_get(sums, "roles");
	const json_t *measures = json_object_get(sums, "measures");
	json_int_t further =
		json_integer_value(json_object_get(sums, "calls_omitted"));

	if (json_array_size(roles))
		print_objects(out, role_columns, role_members,
			      COUNT(role_members), roles, width);
	if (further > 0)
		fprintf(out,
			"\nThe report has only the first calls: %lld further "
			"ones are not counted here.\n",
			(long long)further);
	if (json_array_size(roles) && json_array_size(measures))
		fputc('\n', out);
	if (json_array_size(measures))
		print_objects(out, columns, members,
			      columns_shown(measures, COUNT(members)), measures,
			      width);
	if (!json_array_size(roles) && !json_array_size(measures))
		fputs("nothing was measured\n", out);
}

/* Print the intervals of a measure. @param rows  `stats_data` of GET
 * /runs/ID/stats/MEASURE */
static void run_stats_print_measure(FILE *out, const json_t *rows, size_t width)
{
	static const struct table_column columns[] = {
		{"time (UTC)", false}, {"role", false},  {"dir", false},
		{"min", true},         {"mean", true},   {"p95", true},
		{"max", true},         {"± mean", true},
	};
	static const char *const members[] = {"time", "role", "dir", "min",
					      "avg",  "p95",  "max", "bound"};

	if (json_array_size(rows))
		print_objects(out, columns, members,
			      columns_shown(rows, COUNT(members)), rows, width);
	else
		fputs("nothing was measured\n", out);
}

/* ---- the command ---- */

struct stats {
	const char *run, *measure, *role, *dir;
};

static int read_arguments(struct stats *s, int argc, char **argv)
{
	static const struct option options[] = {
		{"role", required_argument, NULL, 'r'},
		{"dir", required_argument, NULL, 'd'},
		{NULL, 0, NULL, 0},
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			s->role = optarg;
		else if (option == 'd')
			s->dir = optarg;
		else
			return client_usage("wrong option of `run stats`");
	}
	s->run = optind < argc ? argv[optind++] : NULL;
	s->measure = optind < argc ? argv[optind++] : NULL;
	if (optind < argc)
		return client_usage("%s is too much", argv[optind]);
	if (s->measure &&
	    s->measure[strspn(s->measure, "abcdefghijklmnopqrstuvwxyz"
					  "0123456789_")])
		return client_usage("%s is no measure", s->measure);
	return 0;
}

/* Leave out what --role and --dir do not name. */
static void filter(const struct stats *s, json_t *sums)
{
	json_t *rows[] = {json_object_get(sums, "roles"),
			  json_object_get(sums, "measures")};

	for (size_t list = 0; list < COUNT(rows); list++)
		for (size_t i = json_array_size(rows[list]); i-- > 0;) {
			const json_t *row = json_array_get(rows[list], i);

			if ((s->role &&
			     strcmp(text_of(row, "role"), s->role) != 0) ||
			    (s->dir && list == 1 &&
			     strcmp(text_of(row, "dir"), s->dir) != 0))
				json_array_remove(rows[list], i);
		}
}

static int all_measures(struct client *c, const struct stats *s)
{
	json_t *report, *sums;
	int status = run_report_read(c, s->run, &report);

	if (status)
		return status;
	sums = run_stats_sum(report);
	filter(s, sums);
	if (client_json(c))
		client_print_json(stdout, sums);
	else
		run_stats_print(stdout, sums, table_width(stdout));
	json_decref(sums);
	json_decref(report);
	return 0;
}

static int one_measure(struct client *c, const struct stats *s)
{
	char path[PATH_BYTES], role[VALUE_BYTES] = "", dir[VALUE_BYTES] = "";
	struct remote_answer a;
	json_t *run;
	int status = run_report_run(c, s->run, &run);

	if (status)
		return status;
	if ((s->role &&
	     remote_escape(client_remote(c), s->role, role, sizeof(role))) ||
	    (s->dir &&
	     remote_escape(client_remote(c), s->dir, dir, sizeof(dir))) ||
	    str_print(path, sizeof(path), "/runs/%s/stats/%s%s%s%s%s",
		      text_of(run, "session_id"), s->measure,
		      s->role ? "?role=" : "", role,
		      !s->dir   ? ""
		      : s->role ? "&dir="
				: "?dir=",
		      dir) < 0)
		status = client_usage("a filter is too long");
	json_decref(run);
	if (!status)
		status = client_call(c, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	if (client_json(c))
		client_print_json(stdout,
				  json_object_get(a.body, "stats_data"));
	else
		run_stats_print_measure(stdout,
					json_object_get(a.body, "stats_data"),
					table_width(stdout));
	remote_answer_release(&a);
	return 0;
}

int run_stats_main(struct client *c, int argc, char **argv)
{
	struct stats s = {.run = NULL};
	int status = read_arguments(&s, argc, argv);

	if (status)
		return status;
	return s.measure ? one_measure(c, &s) : all_measures(c, &s);
}
