#include "control/cli/run/run_list.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/table.h"
#include "control/cli/run/run_verbs.h"
#include "control/render/outcome.h"
#include "control/wire/text.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <time.h>

#define PATH_BYTES    1000 /* of a listing with its filters */
#define VALUE_BYTES   600
#define RUNS          50 /* that are listed without --count */
#define RUNS_MAX      100000
#define TIME_S_MAX    253402300799LL /* 9999-12-31 23:59:59, the API's last */
#define FILTERS_MAX   20
#define TIME_BYTES    30
#define OPTION_FILTER 'f'

/* ---- times ---- */

static int ago(const char *text, int64_t now_s, int64_t *ret_s)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}};
	size_t digits = strspn(text, "0123456789");
	char number[12];
	uint64_t count;

	if (!digits || strlen(text) != digits + 1 || digits >= sizeof(number))
		return -EINVAL;
	str_print(number, sizeof(number), "%.*s", (int)digits, text);
	if (str_to_u64(number, 10000000, &count))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (units[i].unit == text[digits]) {
			int64_t s = now_s - (int64_t)count * units[i].seconds;

			*ret_s = s > 0 ? s : 0;
			return 0;
		}
	return -EINVAL;
}

int run_list_time(const char *text, int64_t now_s, int64_t *ret_s)
{
	static const char *const endings[] = {"", ":00", " 00:00:00"};
	char whole[TIME_BYTES];
	uint64_t seconds;
	double s;

	if (str_to_u64(text, TIME_S_MAX, &seconds) == 0) {
		*ret_s = (int64_t)seconds;
		return 0;
	}
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (str_print(whole, sizeof(whole), "%s%s", text, endings[i]) >
			    0 &&
		    outcome_time(whole, &s) && s >= 0) {
			*ret_s = (int64_t)s;
			return 0;
		}
	return ago(text, now_s, ret_s);
}

/* ---- the table ---- */

/* "3:05", from the times of a run. @return new reference; null: unknown */
static json_t *duration_of(const json_t *run)
{
	double begin, end;
	long long s;

	if (!outcome_time(text_of(run, "started_at"), &begin) ||
	    !outcome_time(text_of(run, "stopped_at"), &end) || end < begin)
		return json_null();
	s = (long long)(end - begin);
	return s < 3600 ? json_sprintf("%lld:%02lld", s / 60, s % 60)
			: json_sprintf("%lld:%02lld:%02lld", s / 3600,
				       s / 60 % 60, s % 60);
}

void run_list_print(FILE *out, const json_t *runs, size_t width)
{
	static const struct table_column columns[] = {
		{"id", true},       {"status", false},        {"test", false},
		{"project", false}, {"started (UTC)", false}, {"took", true},
		{"result", false},
	};
	json_t *rows = json_array();
	const json_t *run;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		const char *test = text_of(run, "test_name");

		json_array_append_new(
			rows,
			json_pack("[o, s, s, s, O?, o, s]",
				  json_sprintf(
					  "%lld",
					  (long long)json_integer_value(
						  json_object_get(run, "id"))),
				  text_of(run, "status"),
				  test[0] ? test
					  : text_of(run, "testcase_name"),
				  text_of(run, "project_name"),
				  json_object_get(run, "started_at"),
				  duration_of(run),
				  text_of(run, "result_description")));
	}
	table_print(out, columns, sizeof(columns) / sizeof(*columns), rows,
		    width);
	json_decref(rows);
}

/* ---- the command ---- */

struct listing {
	char path[PATH_BYTES];
	unsigned filters;
	uint64_t count;
};

/* Append a parameter to the query of the listing. @return 0; exit status */
static int add(struct client *c, struct listing *l, const char *name,
	       const char *value)
{
	char escaped[VALUE_BYTES];
	size_t used = strlen(l->path);

	if (remote_escape(client_remote(c), value, escaped, sizeof(escaped)) ||
	    str_print(l->path + used, sizeof(l->path) - used, "%s%s=%s",
		      strchr(l->path, '?') ? "&" : "?", name, escaped) < 0)
		return client_usage("the filters are too long");
	return 0;
}

static int add_filter(struct client *c, struct listing *l, const char *column,
		      const char *value)
{
	int status = 0;

	if (++l->filters > FILTERS_MAX)
		return client_usage("at most %d filters", FILTERS_MAX);
	status = add(c, l, "filtername", column);
	return status ? status : add(c, l, "filterval", value);
}

static int add_time(struct client *c, struct listing *l, const char *name,
		    const char *text)
{
	char seconds[24];
	int64_t s;

	if (run_list_time(text, (int64_t)time(NULL), &s))
		return client_usage("%s is no time such as 2026-01-31, "
				    "\"2026-01-31 23:59\", 12h or 7d",
				    text);
	str_print(seconds, sizeof(seconds), "%lld", (long long)s);
	return add(c, l, name, seconds);
}

/* @param pair  COLUMN=VALUE */
static int add_pair(struct client *c, struct listing *l, const char *pair)
{
	const char *equals = strchr(pair, '=');
	char column[40];

	if (!equals || str_print(column, sizeof(column), "%.*s",
				 (int)(equals - pair), pair) < 1)
		return client_usage("%s is not COLUMN=VALUE", pair);
	return add_filter(c, l, column, equals + 1);
}

static const struct option options[] = {
	{"status", required_argument, NULL, 's'},
	{"test", required_argument, NULL, 't'},
	{"project", required_argument, NULL, 'p'},
	{"tag", required_argument, NULL, 'g'},
	{"pool", required_argument, NULL, 'a'},
	{"filter", required_argument, NULL, OPTION_FILTER},
	{"since", required_argument, NULL, 'b'},
	{"until", required_argument, NULL, 'e'},
	{"count", required_argument, NULL, 'n'},
	{NULL, 0, NULL, 0},
};

static int read_option(struct client *c, struct listing *l, int option)
{
	switch (option) {
	case 's':
		return add_filter(c, l, "session_status", optarg);
	case 't':
		return add_filter(c, l, "test_name", optarg);
	case 'p':
		return add_filter(c, l, "project_name", optarg);
	case 'g':
		return add_filter(c, l, "tags", optarg);
	case 'a':
		return add_filter(c, l, "agentpool_name", optarg);
	case OPTION_FILTER:
		return add_pair(c, l, optarg);
	case 'b':
		return add_time(c, l, "startdate", optarg);
	case 'e':
		return add_time(c, l, "enddate", optarg);
	case 'n':
		if (str_to_u64(optarg, RUNS_MAX, &l->count) || !l->count)
			return client_usage("--count is 1 to %d", RUNS_MAX);
		return 0;
	default:
		return client_usage("wrong option of `run list`");
	}
}

int run_list_main(struct client *c, int argc, char **argv)
{
	struct listing l = {.path = "/runs", .count = RUNS};
	int option, status = client_connect(c);
	json_t *rows;

	opterr = 0;
	while (!status &&
	       (option = getopt_long(argc, argv, "", options, NULL)) != -1)
		status = read_option(c, &l, option);
	if (!status && optind < argc)
		status = client_usage("%s is too much", argv[optind]);
	if (status)
		return status;
	rows = json_array();
	status = client_list_first(c, l.path, "runs", (size_t)l.count, rows);
	if (!status && client_json(c))
		client_print_json(stdout, rows);
	else if (!status)
		run_list_print(stdout, rows, table_width(stdout));
	json_decref(rows);
	return status;
}
