/**
 * Configuration files: `key = value`, comments with #, read through libconfuse
 * and checked against a table of keys. Every error is one line
 * `file:line: key: what is wrong; what is allowed`. Unknown and repeated keys
 * are refused: a typo must not silently leave a default in force.
 * Each key may also be given by an environment variable, which takes precedence:
 * rtp_min by OFFHOOK_RTP_MIN.
 * Thread: any; used at the start of a daemon.
 */
#ifndef OFFHOOK_CONF_LOAD_H
#define OFFHOOK_CONF_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest file: a larger one is not a configuration. */
#define CONF_FILE_BYTES 65536u
#define CONF_PATH_BYTES 1024u
#define CONF_TEXT_BYTES 256u

/* Most keys of a schema. */
#define CONF_KEYS_MAX 64

/* A variable's name is this and the key in capitals. */
#define CONF_VARIABLE_PREFIX "OFFHOOK_"
#define CONF_VARIABLE_BYTES  64u

enum conf_type {
	CONF_U16,   /* uint16_t, min..max */
	CONF_U32,   /* uint32_t, min..max */
	CONF_BYTES, /* uint64_t, min..max; suffix K, M or G (powers of 1024) */
	CONF_FLAG,  /* bool: true or false */
	CONF_LEVEL, /* enum log_level: error, warning, info, debug */
	CONF_TEXT,  /* char[max], always terminated */
};

/** @return NULL if text is allowed, else what is wrong with it */
typedef const char *(conf_check_h)(const char *text);

struct conf_key {
	const char *name;
	enum conf_type type;
	size_t offset; /* of the member in the settings' struct */
	uint64_t min;
	uint64_t max;         /* CONF_TEXT: size of the member in bytes */
	const char *fallback; /* default, as one would write it in the file */
	conf_check_h *check;  /* CONF_TEXT; may be NULL */
	const char *allowed;  /* CONF_TEXT; for the message; may be NULL */
};

struct conf_error {
	char text[1536]; /* one line without its end */
};

struct conf_schema {
	const struct conf_key *keys;
	size_t key_count;
	/**
	 * Check settings that depend on each other; may be NULL.
	 * @param ret_key  set with the message: the key that it is about
	 * @return NULL: valid; else what is wrong and what is allowed
	 */
	const char *(*check)(const void *settings, const char **ret_key);
};

/**
 * Set every member to its default.
 * @param settings  out; the struct the schema's offsets belong to
 */
void conf_defaults(void *settings, const struct conf_schema *schema);

/**
 * The environment variables that conf_load() will take: those that name a key and
 * are not empty. Call it first, as conf_load() removes them.
 * @param dst   out: "OFFHOOK_BIND, OFFHOOK_NAME"; what does not fit is left out
 * @param size  of dst, at least 1
 * @return how many there are
 */
size_t conf_environment_list(const struct conf_schema *schema, char *dst,
			     size_t size);

/** Which settings the environment gave, by their position in the schema. */
struct conf_environment {
	bool gave[CONF_KEYS_MAX];
};

/** Which ones conf_load() will take; call it first, as conf_environment_list(). */
struct conf_environment conf_environment_read(const struct conf_schema *schema);

/**
 * Set the defaults, then the settings of a file, then those of environment
 * variables; these are removed from the environment.
 * @param settings  out; undefined on failure
 * @param path      regular file of at most CONF_FILE_BYTES, text without
 *                  control characters
 * @param error     on failure: the message
 * @return 0; -EINVAL invalid content; -errno the file cannot be read; -ENOMEM
 * Thread: no other one reads or changes the environment.
 */
int conf_load(void *settings, const char *path,
	      const struct conf_schema *schema, struct conf_error *error);

/**
 * Read the file again, as conf_load(), for a daemon that runs: what the environment
 * gave at its start still holds, and takes precedence.
 * @param started      the settings in force
 * @param environment  conf_environment_read() before they were loaded
 */
int conf_load_again(void *settings, const char *path,
		    const struct conf_schema *schema, const void *started,
		    const struct conf_environment *environment,
		    struct conf_error *error);

/**
 * Make a path of the configuration absolute: a relative one is below dir.
 * @return length; -ENAMETOOLONG (dst cut)
 */
int conf_path(char *dst, size_t size, const char *dir, const char *name);

/* Checks for both daemons; each is a conf_check_h. */

const char *conf_check_address(const char *text); /* IPv4 or IPv6 literal */
const char *conf_check_url(const char *text);     /* http(s)://host[...] */
const char *conf_check_url_or_empty(const char *text);
const char *conf_check_networks(const char *text); /* netlist_parse() */
const char *conf_check_hosts(const char *text);    /* names and addresses */
const char *conf_check_filled(const char *text);   /* not empty */

#endif
