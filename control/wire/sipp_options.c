#include "control/wire/sipp_options.h"

#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum value {
	VALUE_NONE, /* the option has no such value */
	VALUE_TEXT,
	VALUE_COUNT,
	VALUE_REAL,
	VALUE_TIME, /* "500", "10s", "1.5m", "250ms" */
	VALUE_BOOL,
	VALUE_FILE, /* one of the files beside the scenario */
	VALUE_ADDRESS,
	VALUE_TRANSPORT,
	VALUE_BEHAVIORS,
	VALUE_CHECK,
};

struct option {
	const char *name;
	enum value values[2];
	uint64_t max; /* of a count */
};

/* The options of sipp 3.6.1, with the number of values that it takes. */
static const struct option allowed[] = {
	{"-s", {VALUE_TEXT}, 0},
	{"-au", {VALUE_TEXT}, 0},
	{"-ap", {VALUE_TEXT}, 0},
	{"-auth_uri", {VALUE_TEXT}, 0},
	{"-key", {VALUE_TEXT, VALUE_TEXT}, 0},
	{"-set", {VALUE_TEXT, VALUE_TEXT}, 0},
	{"-cid_str", {VALUE_TEXT}, 0},
	{"-base_cseq", {VALUE_COUNT}, 2147483647},
	{"-inf", {VALUE_FILE}, 0},
	{"-infindex", {VALUE_FILE, VALUE_COUNT}, 1000},
	{"-ip_field", {VALUE_COUNT}, 1000},
	{"-oocsf", {VALUE_FILE}, 0},
	{"-r", {VALUE_REAL}, 10000},
	{"-rp", {VALUE_TIME}, 0},
	{"-rate_increase", {VALUE_COUNT}, 10000},
	{"-rate_max", {VALUE_COUNT}, 10000},
	{"-rate_interval", {VALUE_TIME}, 0},
	{"-no_rate_quit", {VALUE_NONE}, 0},
	{"-m", {VALUE_COUNT}, 1000000},
	{"-l", {VALUE_COUNT}, 10000},
	{"-users", {VALUE_COUNT}, 10000},
	{"-d", {VALUE_TIME}, 0},
	{"-t", {VALUE_TRANSPORT}, 0},
	{"-max_socket", {VALUE_COUNT}, 10000},
	{"-max_reconnect", {VALUE_COUNT}, 10000},
	{"-reconnect_close", {VALUE_BOOL}, 0},
	{"-reconnect_sleep", {VALUE_TIME}, 0},
	{"-rsa", {VALUE_ADDRESS}, 0},
	{"-3pcc", {VALUE_ADDRESS}, 0},
	{"-aa", {VALUE_NONE}, 0},
	{"-nd", {VALUE_NONE}, 0},
	{"-default_behaviors", {VALUE_BEHAVIORS}, 0},
	{"-pause_msg_ign", {VALUE_NONE}, 0},
	{"-callid_slash_ign", {VALUE_NONE}, 0},
	{"-deadcall_wait", {VALUE_TIME}, 0},
	{"-recv_timeout", {VALUE_TIME}, 0},
	{"-send_timeout", {VALUE_TIME}, 0},
	{"-timeout", {VALUE_TIME}, 0},
	{"-timeout_error", {VALUE_NONE}, 0},
	{"-max_retrans", {VALUE_COUNT}, 100},
	{"-max_invite_retrans", {VALUE_COUNT}, 100},
	{"-max_non_invite_retrans", {VALUE_COUNT}, 100},
	{"-nr", {VALUE_NONE}, 0},
	{"-rtcheck", {VALUE_CHECK}, 0},
	{"-T2", {VALUE_COUNT}, 600000},
	{"-timer_resol", {VALUE_TIME}, 0},
	{"-max_recv_loops", {VALUE_COUNT}, 100000},
	{"-max_sched_loops", {VALUE_COUNT}, 100000},
	{"-buff_size", {VALUE_COUNT}, 16777216},
	{"-sendbuffer_warn", {VALUE_BOOL}, 0},
	{"-lost", {VALUE_COUNT}, 100},
	{"-rtp_echo", {VALUE_NONE}, 0},
	{"-mb", {VALUE_COUNT}, 65536},
	{"-rtp_payload", {VALUE_COUNT}, 127},
	{"-rtp_threadtasks", {VALUE_COUNT}, 1000},
	{"-rtp_buffsize", {VALUE_COUNT}, 16777216},
	/* given in any case */
	{"-nostdin", {VALUE_NONE}, 0},
	{"-skip_rlimit", {VALUE_NONE}, 0},
	{"-trace_stat", {VALUE_NONE}, 0},
	{"-trace_err", {VALUE_NONE}, 0},
	{"-trace_msg", {VALUE_NONE}, 0},
};

/* Why others are refused; the rest is just not on the list. */
static const struct {
	const char *name;
	const char *why;
} refused[] = {
	{"-bg", "SIPp runs as a child of the agent, not in the background"},
	{"-i", "the agent assigns addresses: its bind"},
	{"-mi", "the agent assigns addresses: its bind"},
	{"-ci", "the agent assigns addresses: its bind"},
	{"-bind_local", "the agent assigns addresses: its bind"},
	{"-p", "the agent assigns ports: use sipp_port"},
	{"-mp", "the agent assigns ports: those of its RTP range"},
	{"-cp", "the agent assigns ports"},
	{"-sf", "the scenario is sipp_scenario"},
	{"-sn", "the scenario is sipp_scenario"},
	{"-sd", "the scenario is sipp_scenario"},
	{"-oocsn", "the scenario is sipp_scenario"},
	{"-plugin", "it would load code into SIPp"},
	{"-fd", "the agent takes the statistics every second"},
	{"-f", "SIPp has no screen here"},
	{"-stf", "the agent reads this file"},
	{"-message_file", "the agent reads this file"},
	{"-error_file", "the agent reads this file"},
	{"-stat_delimiter", "the agent reads this file"},
};

static const struct option *option_find(const char *name)
{
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		if (strcmp(allowed[i].name, name) == 0)
			return &allowed[i];
	}
	return NULL;
}

static void refusal_write(char reason[static WIRE_SIPP_REASON_MAX],
			  const char *word)
{
	const char *why = word[0] == '-' ? "is no option that a test may give"
					 : "is no option: these begin with -";

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		if (strcmp(refused[i].name, word) == 0)
			why = refused[i].why;
	}
	if (strncmp(word, "-trace_", 7) == 0)
		why = "it would write a file on the agent's host";
	(void)str_copy(reason, WIRE_SIPP_REASON_MAX, why);
}

/* A number and "ms", "s", "m" or "h", or "MM:SS", "HH:MM:SS". */
static bool is_time(const char *text)
{
	size_t digits = strspn(text, "0123456789.:");
	const char *unit = text + digits;

	return digits > 0 && digits <= 12 &&
	       (unit[0] == '\0' || strcmp(unit, "ms") == 0 ||
		strcmp(unit, "s") == 0 || strcmp(unit, "m") == 0 ||
		strcmp(unit, "h") == 0);
}

/* A host with a port; an IPv6 address in brackets. */
static bool is_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	uint64_t port;

	return colon && colon > text &&
	       strspn(text,
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		      "0123456789.-:[]") == strlen(text) &&
	       str_to_u64(colon + 1, 65535, &port) == 0 && port > 0;
}

/* No control character, so that it is one line of a process list and a log. */
static bool is_line(const char *text)
{
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	}
	return strlen(text) < WIRE_SIPP_VALUE_BYTES;
}

static bool is_behaviors(const char *text)
{
	static const char *const words[] = {"all",         "none",       "bye",
					    "abortunexp",  "pingreply",  "-bye",
					    "-abortunexp", "-pingreply", NULL};
	char copy[WIRE_SIPP_VALUE_BYTES];
	char *rest = copy;
	const char *word;

	if (str_copy(copy, sizeof(copy), text))
		return false;
	while ((word = strsep(&rest, ","))) {
		if (!str_listed(words, word))
			return false;
	}
	return true;
}

/* @return NULL: it is right; else what it must be */
static const char *value_check(enum value kind, uint64_t max, const char *text,
			       const char *const *files, size_t file_count)
{
	static const char *const transports[] = {"u1", "un", "t1", "tn", NULL};
	static const char *const checks[] = {"full", "loose", NULL};
	static const char *const bools[] = {"true", "false", NULL};
	uint64_t count;
	double real;

	if (!is_line(text))
		return "must be one line of at most 255 bytes";
	/* SIPp takes the next word whatever it is: none may pass as an option */
	if (text[0] == '-')
		return "is a value and must not begin with -";
	switch (kind) {
	case VALUE_NONE:
	case VALUE_TEXT:
		return NULL;
	case VALUE_COUNT:
		return str_to_u64(text, max, &count) ? "must be a whole number "
						       "within its bounds"
						     : NULL;
	case VALUE_REAL:
		return str_to_double(text, &real) || !(real >= 0) ||
				       real > (double)max
			       ? "must be a number within its bounds"
			       : NULL;
	case VALUE_TIME:
		return is_time(text)
			       ? NULL
			       : "must be a time, such as 500, 10s or 00:30";
	case VALUE_BOOL:
		return str_listed(bools, text) ? NULL : "must be true or false";
	case VALUE_FILE:
		for (size_t i = 0; i < file_count; i++) {
			if (strcmp(files[i], text) == 0)
				return NULL;
		}
		return "must be one of sipp_files";
	case VALUE_ADDRESS:
		return is_address(text) ? NULL
					: "must be a host with a port, such as "
					  "192.0.2.1:5060";
	case VALUE_TRANSPORT:
		return str_listed(transports, text)
			       ? NULL
			       : "must be u1, un, t1 or tn";
	case VALUE_BEHAVIORS:
		return is_behaviors(text) ? NULL
					  : "must be all, none, or a list of "
					    "bye, abortunexp and pingreply";
	case VALUE_CHECK:
		return str_listed(checks, text) ? NULL
						: "must be full or loose";
	}
	return "is unknown";
}

static int refuse(size_t *ret_index, char reason[static WIRE_SIPP_REASON_MAX],
		  size_t index, const char *why)
{
	*ret_index = index;
	(void)str_copy(reason, WIRE_SIPP_REASON_MAX, why);
	return -EINVAL;
}

int wire_sipp_options_check(const char *const *words, size_t count,
			    const char *const *files, size_t file_count,
			    size_t *ret_index,
			    char reason[static WIRE_SIPP_REASON_MAX])
{
	size_t at = 0;

	if (count > WIRE_SIPP_WORDS_MAX)
		return refuse(ret_index, reason, WIRE_SIPP_WORDS_MAX,
			      "there are more than 128 words");
	while (at < count) {
		const struct option *o = option_find(words[at]);
		size_t name = at++;

		if (!o) {
			*ret_index = name;
			refusal_write(reason, words[name]);
			return -EINVAL;
		}
		for (size_t v = 0; v < 2 && o->values[v] != VALUE_NONE; v++) {
			const char *why;

			if (at == count)
				return refuse(ret_index, reason, name,
					      "a value is missing behind it");
			why = value_check(o->values[v], o->max, words[at],
					  files, file_count);
			if (why)
				return refuse(ret_index, reason, at, why);
			at++;
		}
	}
	return 0;
}

const char *wire_sipp_option(const char *const *words, size_t count,
			     const char *name)
{
	const char *found = NULL;
	size_t at = 0;

	while (at < count) {
		const struct option *o = option_find(words[at]);
		size_t values = !o || o->values[0] == VALUE_NONE ? 0
				: o->values[1] == VALUE_NONE     ? 1
								 : 2;

		if (values == 1 && at + 1 < count &&
		    strcmp(words[at], name) == 0)
			found = words[at + 1];
		at += 1 + values;
	}
	return found;
}
