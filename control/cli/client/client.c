#include "control/cli/client/client.h"

#include "base/str.h"
#include "control/cli/client/profile.h"
#include "control/cli/client/record_kinds.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/wire/json.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES       300
#define PATH_BYTES      1024
#define LIST_PATH_BYTES 1100 /* the longest path, with its filters and page */
#define AMBIGUOUS       10   /* ids that are told of an ambiguous name */

static const char default_url[] = "http://127.0.0.1:8080";

struct client {
	/* constant after client_new() */
	const char *url;
	const char *key_file;
	const char *ca_file;
	const char *fingerprint;
	const char *profile;
	bool json;
	/* client_connect() */
	json_t *profiles;
	const char *used_url; /* NULL: not connected */
	struct remote *remote;
};

int client_usage(const char *fmt, ...)
{
	va_list args;

	fputs("offhook: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\nUsage: `offhook help` lists the commands\n", stderr);
	return CLI_EXIT_USAGE;
}

/* ---- options ---- */

/* Where the value of an option goes. @return NULL: it is not a shared one */
static const char **value_of(struct client *c, const char *name, size_t len)
{
	const struct {
		const char *name;
		const char **value;
	} options[] = {
		{"--url", &c->url},         {"--key-file", &c->key_file},
		{"--ca-file", &c->ca_file}, {"--fingerprint", &c->fingerprint},
		{"--profile", &c->profile},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strlen(options[i].name) == len &&
		    strncmp(options[i].name, name, len) == 0)
			return options[i].value;
	return NULL;
}

static int take_options(struct client *c, int *argc, char **argv)
{
	int kept = 1, i = 1;

	for (; i < *argc && strcmp(argv[i], "--") != 0; i++) {
		size_t len = strcspn(argv[i], "=");
		const char **value = value_of(c, argv[i], len);

		if (strcmp(argv[i], "--json") == 0) {
			c->json = true;
		} else if (!value) {
			argv[kept++] = argv[i];
		} else if (argv[i][len] == '=') {
			*value = argv[i] + len + 1;
		} else if (i + 1 < *argc) {
			*value = argv[++i];
		} else {
			return client_usage("%s needs a value", argv[i]);
		}
	}
	while (i < *argc)
		argv[kept++] = argv[i++];
	argv[kept] = NULL;
	*argc = kept;
	return 0;
}

int client_new(struct client **ret, int *argc, char **argv)
{
	struct client *c = calloc(1, sizeof(*c));
	int status;

	if (!c)
		return client_usage("%s", strerror(ENOMEM));
	status = take_options(c, argc, argv);
	if (status)
		client_free(c);
	else
		*ret = c;
	return status;
}

struct client *client_free(struct client *c)
{
	if (c) {
		remote_free(c->remote);
		json_decref(c->profiles);
		free(c);
	}
	return NULL;
}

bool client_json(const struct client *c)
{
	return c->json;
}

const char *client_given_url(const struct client *c)
{
	return c->url;
}

const char *client_given_key_file(const struct client *c)
{
	return c->key_file;
}

const char *client_given_ca_file(const struct client *c)
{
	return c->ca_file;
}

const char *client_given_fingerprint(const struct client *c)
{
	return c->fingerprint;
}

const char *client_given_profile(const struct client *c)
{
	return c->profile;
}

/* ---- connection ---- */

int client_read_key_file(const char *path, char *key, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(key, (int)size, file);

	if (file)
		fclose(file);
	if (!read)
		return client_usage("the key file %s cannot be read", path);
	key[strcspn(key, "\r\n")] = '\0';
	return 0;
}

static const char *member(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

bool client_plain_http(void)
{
	const char *value = variable("OFFHOOK_PLAIN_HTTP");

	return value && strcmp(value, "1") == 0;
}

/* Find the profile that gives what neither options nor environment do. Its key
 * is sent to its own URL only. @param ret  borrowed; NULL: none */
static int choose_profile(struct client *c, const json_t **ret)
{
	char reason[PROFILE_REASON_BYTES];
	const json_t *profile;

	if (profile_read(&c->profiles, reason))
		return client_usage("%s", reason);
	profile = profile_find(c->profiles, c->profile);
	if (c->profile && !profile)
		return client_usage("there is no profile %s: offhook profile "
				    "list; offhook login --profile %s makes it",
				    c->profile, c->profile);
	if (c->profile) {
		if (c->url && strcmp(c->url, member(profile, "url")) != 0)
			return client_usage("the profile %s is of %s, not of "
					    "%s: its key is not sent there",
					    c->profile, member(profile, "url"),
					    c->url);
		c->used_url = member(profile, "url");
	} else {
		c->used_url = c->url ? c->url : variable("OFFHOOK_URL");
		if (c->used_url)
			profile = profile_of_url(c->profiles, c->used_url);
		else if (profile)
			c->used_url = member(profile, "url");
	}
	if (!c->used_url)
		c->used_url = default_url;
	*ret = profile;
	return 0;
}

static int find_key(struct client *c, const json_t *profile,
		    char key[static KEY_BYTES])
{
	const char *given = c->profile ? NULL : variable("OFFHOOK_KEY");

	if (c->key_file)
		return client_read_key_file(c->key_file, key, KEY_BYTES);
	if (!given)
		given = member(profile, "key");
	if (!given)
		return client_usage("there is no API key for %s: offhook "
				    "login, or set OFFHOOK_KEY to "
				    "PUBLIC:SECRET, or give --key-file",
				    c->used_url);
	if (str_copy(key, KEY_BYTES, given) < 0)
		return client_usage("the key is too long");
	return 0;
}

int client_connect(struct client *c)
{
	char reason[REMOTE_REASON_BYTES], key[KEY_BYTES] = "";
	const json_t *profile = NULL;
	struct remote_params p = {.ca_file = c->ca_file,
				  .fingerprint = c->fingerprint};
	int status, err;

	if (c->remote)
		return 0;
	json_decref(c->profiles);
	c->profiles = NULL;
	status = choose_profile(c, &profile);
	if (!status)
		status = find_key(c, profile, key);
	if (status)
		return status;
	if (!p.ca_file && !c->profile)
		p.ca_file = variable("OFFHOOK_CA");
	if (!p.fingerprint && !c->profile)
		p.fingerprint = variable("OFFHOOK_FINGERPRINT");
	/* one that is given replaces both of the profile's */
	if (!p.ca_file && !p.fingerprint) {
		p.ca_file = member(profile, "ca_file");
		p.fingerprint = member(profile, "fingerprint");
	}
	p.url = c->used_url;
	p.key = key;
	p.plain_http = client_plain_http() ||
		       json_is_true(json_object_get(profile, "plain_http"));
	err = remote_new(&c->remote, &p, reason);
	explicit_bzero(key, sizeof(key));
	return err ? client_usage("%s",
				  err == -EINVAL ? reason : strerror(-err))
		   : 0;
}

int client_connect_to(struct client *c, const char *url, const char *key)
{
	char reason[REMOTE_REASON_BYTES];
	const struct remote_params p = {.url = url, .key = key};
	int err = remote_new(&c->remote, &p, reason);

	c->used_url = url;
	return err ? client_usage("%s",
				  err == -EINVAL ? reason : strerror(-err))
		   : 0;
}

struct remote *client_remote(struct client *c)
{
	return c->remote;
}

/* ---- requests ---- */

/* @return NULL: none is known */
static const char *remedy(const struct client *c)
{
	switch (remote_status(c->remote)) {
	case 0:
		if (remote_is_unknown(c->remote))
			return "`offhook login` shows the certificate's "
			       "fingerprint and asks; or --fingerprint, or "
			       "--ca-file";
		if (c->used_url == default_url)
			return "no controller was given, so this host's was "
			       "asked: set OFFHOOK_URL, or give --url, or "
			       "`offhook login`";
		return "is the controller running, and is this its URL? "
		       "--url, OFFHOOK_URL or `offhook profile list`";
	case 401:
		return "the key is unknown or was deleted: `offhook login`, or "
		       "another OFFHOOK_KEY or --key-file";
	case 403:
		return "use a key with more rights";
	case 412:
		return "read it again and repeat your change";
	case 429:
		return "wait a moment and repeat the command";
	case 503:
		return "the controller starts, ends or is overloaded: repeat "
		       "the command";
	default:
		return NULL;
	}
}

int client_refused(struct client *c, const char *reason)
{
	const char *remedy_text = remedy(c);

	fputs("offhook: ", stderr);
	for (const char *line = reason; *line;) {
		size_t len = strcspn(line, "\n");
		char text[REMOTE_REASON_BYTES];

		str_print(text, sizeof(text), "%.*s", (int)len, line);
		terminal_print(stderr, text, 0);
		fputc('\n', stderr);
		line += len + (line[len] == '\n');
		if (*line)
			fputs("         ", stderr);
	}
	if (remedy_text)
		fprintf(stderr, "       %s\n", remedy_text);
	return CLI_EXIT_ERRORED;
}

int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, const char *if_match,
		struct remote_answer *ret)
{
	char reason[REMOTE_REASON_BYTES];
	int status = client_connect(c);

	if (!status && remote_call_json(c->remote, method, path, body, if_match,
					ret, reason))
		status = client_refused(c, reason);
	return status;
}

int client_call_form(struct client *c, const char *method, const char *path,
		     json_t *fields, const char *if_match,
		     struct remote_answer *ret)
{
	char reason[REMOTE_REASON_BYTES];
	int status = client_connect(c);

	if (!status &&
	    remote_call(c->remote, method, path, fields, if_match, ret, reason))
		status = client_refused(c, reason);
	return status;
}

/* Download into a file and close it. @return exit status */
static int save_to(struct client *c, const char *path, FILE *out,
		   const char *file)
{
	char reason[REMOTE_REASON_BYTES + PATH_MAX];
	int err = remote_save(c->remote, path, out, reason);

	if (fclose(out) && !err) {
		str_print(reason, sizeof(reason), "%s: %s", file,
			  strerror(errno));
		err = -EIO;
	}
	return err ? client_refused(c, reason) : 0;
}

static int wrong_file(const char *file, int err)
{
	fprintf(stderr, "offhook: %s: %s\n", file, strerror(-err));
	return CLI_EXIT_ERRORED;
}

int client_save(struct client *c, const char *path, const char *file)
{
	int status = client_connect(c);
	FILE *out;

	if (status)
		return status;
	out = fopen(file, "wxe");
	if (!out)
		return wrong_file(file, -errno);
	status = save_to(c, path, out, file);
	if (status)
		unlink(file);
	return status;
}

/* Where a file is written: through links, and not in the place of a device.
 * @param ret_part  beside it, renamed to it; "": write to the file itself */
static int place_of(const char *file, char real[static PATH_MAX],
		    char ret_part[static PATH_MAX])
{
	struct stat found;

	ret_part[0] = '\0';
	if (!realpath(file, real)) {
		if (errno != ENOENT || str_copy(real, PATH_MAX, file) < 0)
			return -errno;
	} else if (stat(real, &found)) {
		return -errno;
	} else if (S_ISDIR(found.st_mode)) {
		return -EISDIR;
	} else if (!S_ISREG(found.st_mode)) {
		return 0;
	}
	return str_print(ret_part, PATH_MAX, "%s.%ld.part", real,
			 (long)getpid()) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

int client_may_replace(const char *file)
{
	char real[PATH_MAX], part[PATH_MAX];
	int err = place_of(file, real, part);
	FILE *out;

	if (err || !part[0])
		return err ? err : access(real, W_OK) ? -errno : 0;
	out = fopen(part, "wxe");
	if (!out)
		return -errno;
	fclose(out);
	return unlink(part) ? -errno : 0;
}

int client_replace(struct client *c, const char *path, const char *file)
{
	char real[PATH_MAX], part[PATH_MAX];
	int err = place_of(file, real, part), status;
	FILE *out;

	if (!err && part[0]) {
		status = client_save(c, path, part);
		if (status || rename(part, real) == 0)
			return status;
		err = -errno;
		unlink(part);
		return wrong_file(file, err);
	}
	status = err ? 0 : client_connect(c);
	if (status)
		return status;
	out = err ? NULL : fopen(real, "we");
	if (!out)
		return wrong_file(file, err ? err : -errno);
	return save_to(c, path, out, file);
}

int client_list_first(struct client *c, const char *path, const char *plural,
		      size_t most, json_t *rows)
{
	json_int_t total = 1;
	int status = 0;

	while (!status && (json_int_t)json_array_size(rows) < total &&
	       json_array_size(rows) < most) {
		struct remote_answer a;
		char page[LIST_PATH_BYTES];
		json_t *found;

		/* without "count": what the controller's page_limit allows is
		 * not known here */
		str_print(page, sizeof(page), "%s%sstart=%zu", path,
			  strchr(path, '?') ? "&" : "?", json_array_size(rows));
		status = client_call(c, "GET", page, NULL, NULL, &a);
		if (status)
			break;
		found = json_object_get(a.body, plural);
		total = json_array_size(found)
				? json_integer_value(
					  json_object_get(a.body, "total"))
				: 0;
		json_array_extend(rows, found);
		remote_answer_release(&a);
	}
	while (json_array_size(rows) > most)
		json_array_remove(rows, json_array_size(rows) - 1);
	return status;
}

int client_list(struct client *c, const char *path, const char *plural,
		json_t *rows)
{
	return client_list_first(c, path, plural, SIZE_MAX, rows);
}

/* ---- names ---- */

static int ambiguous(const struct record_kind *kind, const char *name,
		     const json_t *ids)
{
	json_t *id;
	size_t i;

	fprintf(stderr, "offhook: %zu %s are called ", json_array_size(ids),
		kind->plural);
	terminal_print(stderr, name, 0);
	fputs("; give one of the ids", stderr);
	json_array_foreach(ids, i, id)
	{
		if (i < AMBIGUOUS)
			fprintf(stderr, "%s %" JSON_INTEGER_FORMAT,
				i ? "," : "", json_integer_value(id));
	}
	fputs(json_array_size(ids) > AMBIGUOUS ? ", ...\n" : "\n", stderr);
	return CLI_EXIT_USAGE;
}

static int choose(const struct record_kind *kind, const char *name,
		  const json_t *ids, char id[static CLIENT_ID_BYTES])
{
	if (json_array_size(ids) > 1)
		return ambiguous(kind, name, ids);
	if (json_array_size(ids) == 1) {
		str_print(id, CLIENT_ID_BYTES, "%" JSON_INTEGER_FORMAT,
			  json_integer_value(json_array_get(ids, 0)));
		return 0;
	}
	fprintf(stderr, "offhook: there is no %s ", kind->command);
	terminal_print(stderr, name, 0);
	fprintf(stderr, "\n       `offhook %s list` lists what there is\n",
		kind->command);
	return CLI_EXIT_ERRORED;
}

int client_id(struct client *c, const struct record_kind *kind,
	      const char *name, char id[static CLIENT_ID_BYTES])
{
	json_t *rows, *ids, *row;
	size_t i;
	int status;

	if (name[0] && !name[strspn(name, "0123456789")] &&
	    str_copy(id, CLIENT_ID_BYTES, name) >= 0)
		return 0;
	rows = json_array();
	ids = json_array();
	status = client_list(c, kind->path, kind->plural, rows);
	json_array_foreach(rows, i, row)
	{
		const char *own = member(row, "name");

		if (own && strcmp(own, name) == 0)
			json_array_append(ids, json_object_get(row, "id"));
	}
	if (!status)
		status = choose(kind, name, ids, id);
	json_decref(rows);
	json_decref(ids);
	return status;
}

void client_print_json(FILE *out, const json_t *value)
{
	json_dumpf(value, out, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_DECIMAL);
	fputc('\n', out);
}
