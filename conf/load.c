#include "conf/load.h"

#include "base/log.h"
#include "base/str.h"
#include "conf/value_internal.h"

#include <confuse.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Instead of a line: the value is of the environment. */
#define OF_ENVIRONMENT (-1)

/* A value as read, with its line, until it is checked. */
struct raw {
	int line; /* 0: the key is not given */
	char *text;
};

/* What a running daemon was started with. */
struct in_force {
	const void *settings;
	const struct conf_environment *environment;
};

/* The state of reading a file, for libconfuse's handlers, which have no argument. */
struct parse {
	const char *path;
	const struct conf_schema *schema;
	struct conf_error *error;
	const struct in_force *in_force;  /* NULL: at the start */
	struct raw values[CONF_KEYS_MAX]; /* by position in the schema */
	int line;
	bool failed; /* error is set; only the first one is kept */
};

static _Thread_local struct parse *current;

__attribute__((format(printf, 3, 4))) static void fail(struct parse *p,
						       int line,
						       const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (p->failed)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (line > 0)
		snprintf(p->error->text, sizeof(p->error->text), "%s:%d: %s",
			 p->path, line, text);
	else if (line == OF_ENVIRONMENT)
		snprintf(p->error->text, sizeof(p->error->text),
			 "environment: %s", text);
	else
		snprintf(p->error->text, sizeof(p->error->text), "%s: %s",
			 p->path, text);
	p->failed = true;
}

void conf_defaults(void *settings, const struct conf_schema *schema)
{
	char why[256];

	for (size_t i = 0; i < schema->key_count; i++) {
		if (conf_value_set(settings, &schema->keys[i],
				   schema->keys[i].fallback, why, sizeof(why)))
			abort(); /* an error in the table, which tests find */
	}
}

/* ---- the environment ---- */

/* A value of the environment that is empty counts as not given. */
static const char *variable_value(char name[static CONF_VARIABLE_BYTES],
				  const char *key)
{
	const char *value;
	size_t used = 0;

	for (const char *c = CONF_VARIABLE_PREFIX; *c; c++)
		name[used++] = *c;
	for (; *key && used < CONF_VARIABLE_BYTES - 1; key++)
		name[used++] = (char)toupper((unsigned char)*key);
	name[used] = '\0';
	value = getenv(name);
	return value && value[0] ? value : NULL;
}

size_t conf_environment_list(const struct conf_schema *schema, char *dst,
			     size_t size)
{
	char name[CONF_VARIABLE_BYTES];
	size_t count = 0, used = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < schema->key_count; i++) {
		int n;

		if (!variable_value(name, schema->keys[i].name))
			continue;
		n = str_print(dst + used, size - used, "%s%s", used ? ", " : "",
			      name);
		if (n < 0)
			dst[used] = '\0';
		else
			used += (size_t)n;
		count++;
	}
	return count;
}

struct conf_environment conf_environment_read(const struct conf_schema *schema)
{
	struct conf_environment ret = {0};
	char name[CONF_VARIABLE_BYTES];

	for (size_t i = 0; i < schema->key_count; i++)
		ret.gave[i] = variable_value(name, schema->keys[i].name);
	return ret;
}

/* Take the variables over what the file says. They are removed, so that no child
 * process inherits a secret. */
static int environment_take(struct parse *p)
{
	char name[CONF_VARIABLE_BYTES];

	for (size_t i = 0; i < p->schema->key_count; i++) {
		struct raw *raw = &p->values[i];
		const char *value =
			variable_value(name, p->schema->keys[i].name);

		if (!value)
			continue;
		free(raw->text);
		raw->text = strdup(value);
		if (!raw->text)
			return -ENOMEM;
		raw->line = OF_ENVIRONMENT;
		unsetenv(name);
		for (const char *c = raw->text; *c; c++) {
			if ((unsigned char)*c >= 0x20 && *c != 0x7f)
				continue;
			fail(p, OF_ENVIRONMENT,
			     "%s: control character 0x%02x; allowed is plain "
			     "text",
			     name, (unsigned char)*c);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- libconfuse ---- */

static void list_keys(const struct conf_schema *schema, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < schema->key_count; i++) {
		int n = snprintf(text + used, size - used, "%s%s",
				 i ? ", " : "", schema->keys[i].name);

		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}

/* libconfuse's own errors: syntax, and keys it does not know. */
__attribute__((format(printf, 2, 0))) static void on_error(cfg_t *cfg,
							   const char *fmt,
							   va_list args)
{
	struct parse *p = current;
	char text[256] = "", keys[640];

	(void)cfg;
	if (fmt)
		vsnprintf(text, sizeof(text), fmt, args);
	if (strncmp(text, "no such option", 14) == 0) {
		list_keys(p->schema, keys, sizeof(keys));
		fail(p, p->line, "unknown key%s; allowed are %s", text + 14,
		     keys);
	} else {
		fail(p, p->line,
		     "%s; expected are lines of the form key = value", text);
	}
}

static size_t key_index(const struct conf_schema *schema, const char *name)
{
	size_t i = 0;

	while (i < schema->key_count && strcmp(schema->keys[i].name, name) != 0)
		i++;
	return i;
}

/* Keep a value with its line. */
static int on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
	struct parse *p = current;
	struct raw *raw = &p->values[key_index(p->schema, opt->name)];

	(void)cfg;
	(void)result;
	if (raw->line) {
		fail(p, p->line,
		     "%s: given twice, first in line %d; allowed is once",
		     opt->name, raw->line);
		return -1;
	}
	raw->text = strdup(value);
	if (!raw->text)
		return -1;
	raw->line = p->line;
	return 0;
}

/* Say what is wrong with a key, by the name that it was given by. */
static void fail_key(struct parse *p, size_t index, const char *why)
{
	const char *key = p->schema->keys[index].name;
	int line = p->values[index].line;
	char name[CONF_VARIABLE_BYTES];

	(void)variable_value(name, key);
	fail(p, line, "%s: %s", line == OF_ENVIRONMENT ? name : key, why);
}

static size_t member_size(const struct conf_key *key)
{
	switch (key->type) {
	case CONF_U16:
		return sizeof(uint16_t);
	case CONF_U32:
		return sizeof(uint32_t);
	case CONF_BYTES:
		return sizeof(uint64_t);
	case CONF_FLAG:
		return sizeof(bool);
	case CONF_LEVEL:
		return sizeof(enum log_level);
	case CONF_TEXT:
	default:
		return (size_t)key->max;
	}
}

/* Take what the environment gave at the start over what the file says now. */
static void keep_in_force(void *settings, struct parse *p)
{
	for (size_t i = 0; i < p->schema->key_count; i++) {
		const struct conf_key *key = &p->schema->keys[i];

		if (!p->in_force->environment->gave[i])
			continue;
		memcpy((char *)settings + key->offset,
		       (const char *)p->in_force->settings + key->offset,
		       member_size(key));
		p->values[i].line = OF_ENVIRONMENT;
	}
}

static int apply(void *settings, struct parse *p)
{
	const struct conf_schema *schema = p->schema;
	const char *key = "", *wrong;
	char why[512];

	for (size_t i = 0; i < schema->key_count; i++) {
		const struct raw *raw = &p->values[i];

		if (raw->line && conf_value_set(settings, &schema->keys[i],
						raw->text, why, sizeof(why)))
			fail_key(p, i, why);
	}
	if (p->in_force)
		keep_in_force(settings, p);
	wrong = !p->failed && schema->check ? schema->check(settings, &key)
					    : NULL;
	if (wrong)
		fail_key(p, key_index(schema, key), wrong);
	return p->failed ? -EINVAL : 0;
}

/*
 * Remove the comment of a line. libconfuse counts lines wrongly after comments, and
 * takes the rest of the file for an open comment or quote. So it gets one complete
 * line at a time.
 */
static int cut_comment(char *line, struct parse *p)
{
	char quote = '\0';

	for (char *c = line; *c; c++) {
		if (quote && *c == '\\' && c[1]) {
			c++;
		} else if (quote) {
			quote = *c == quote ? '\0' : quote;
		} else if (*c == '"' || *c == '\'') {
			quote = *c;
		} else if (*c == '#') {
			*c = '\0';
			return 0;
		} else if (c[0] == '/' && c[1] == '*') {
			fail(p, p->line,
			     "begins a comment with /*; allowed "
			     "are comments that begin with #");
			return -EINVAL;
		}
	}
	if (quote)
		fail(p, p->line,
		     "a quote is not closed; allowed is %c at the end of the "
		     "text",
		     quote);
	return quote ? -EINVAL : 0;
}

static int parse_lines(cfg_t *cfg, char *text, struct parse *p)
{
	char *next;

	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		p->line++;
		if (cut_comment(line, p) != 0)
			return -EINVAL;
		if (line[strspn(line, " \t\r")] == '\0')
			continue;
		if (cfg_parse_buf(cfg, line) != CFG_SUCCESS) {
			fail(p, p->line,
			     "cannot be read; expected are lines "
			     "of the form key = value");
			return -EINVAL;
		}
	}
	return 0;
}

static int parse_text(void *settings, char *text, struct parse *p)
{
	const struct conf_schema *schema = p->schema;
	cfg_opt_t opts[CONF_KEYS_MAX + 1];
	cfg_t *cfg;
	int err;

	if (schema->key_count > CONF_KEYS_MAX)
		return -E2BIG; /* an error in the table, which tests find */
	for (size_t i = 0; i < schema->key_count; i++) {
		const cfg_opt_t opt = CFG_PTR_CB(schema->keys[i].name, NULL,
						 CFGF_NONE, on_value, NULL);

		opts[i] = opt;
	}
	opts[schema->key_count] = (cfg_opt_t)CFG_END();
	cfg = cfg_init(opts, CFGF_NONE);
	if (!cfg)
		return -ENOMEM;
	cfg_set_error_function(cfg, on_error);
	current = p;
	err = parse_lines(cfg, text, p);
	current = NULL;
	cfg_free(cfg);
	if (!err && !p->in_force)
		err = environment_take(p);
	return err ? err : apply(settings, p);
}

/* ---- the file ---- */

/* libconfuse ends the process on a read error and stops at a NUL byte, so the file
 * is read and checked here. */
static int check_text(const char *text, size_t len, struct parse *p)
{
	int line = 1;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n')
			line++;
		if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') ||
		    c == 0x7f) {
			fail(p, line,
			     "control character 0x%02x; allowed is plain text",
			     c);
			return -EINVAL;
		}
	}
	return 0;
}

static int read_regular(int fd, char *text, size_t *ret_len, struct parse *p)
{
	struct stat st;
	size_t used = 0;
	ssize_t n;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		fail(p, 0, "is %s; allowed is a regular file",
		     S_ISDIR(st.st_mode) ? "a directory" : "no file");
		return -EINVAL;
	}
	do {
		n = read(fd, text + used, CONF_FILE_BYTES + 1 - used);
		if (n < 0)
			return -errno;
		used += (size_t)n;
	} while (n > 0 && used <= CONF_FILE_BYTES);
	if (used > CONF_FILE_BYTES) {
		fail(p, 0,
		     "too large for a configuration; allowed are %u bytes",
		     CONF_FILE_BYTES);
		return -EINVAL;
	}
	text[used] = '\0';
	*ret_len = used;
	return 0;
}

static int read_settings(void *settings, const char *path,
			 const struct conf_schema *schema,
			 const struct in_force *in_force,
			 struct conf_error *error)
{
	struct parse p = {.path = path,
			  .schema = schema,
			  .error = error,
			  .in_force = in_force};
	char *text = calloc(1, CONF_FILE_BYTES + 2);
	size_t len = 0;
	int fd = -1, err = -ENOMEM;

	error->text[0] = '\0';
	conf_defaults(settings, schema);
	if (!text)
		goto out;
	/* O_NONBLOCK: a FIFO without a writer must not hang the start */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	err = fd < 0 ? -errno : read_regular(fd, text, &len, &p);
	if (err == 0)
		err = check_text(text, len, &p);
	if (err == 0)
		err = parse_text(settings, text, &p);
out:
	if (err)
		fail(&p, 0, "cannot be read: %s", strerror(-err));
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < CONF_KEYS_MAX; i++)
		free(p.values[i].text);
	free(text);
	return err;
}

int conf_load(void *settings, const char *path,
	      const struct conf_schema *schema, struct conf_error *error)
{
	return read_settings(settings, path, schema, NULL, error);
}

int conf_load_again(void *settings, const char *path,
		    const struct conf_schema *schema, const void *started,
		    const struct conf_environment *environment,
		    struct conf_error *error)
{
	const struct in_force in_force = {started, environment};

	return read_settings(settings, path, schema, &in_force, error);
}

int conf_path(char *dst, size_t size, const char *dir, const char *name)
{
	if (name[0] == '/')
		return str_print(dst, size, "%s", name);
	return str_print(dst, size, "%s/%s", dir, name);
}
