#include "conf/controller_conf.h"

#include "base/loopback.h"
#include "base/str.h"

#include <string.h>

#define U16(member, low, high, def)                                 \
	{                                                           \
		.name = #member, .type = CONF_U16,                  \
		.offset = offsetof(struct controller_conf, member), \
		.min = (low), .max = (high), .fallback = (def)      \
	}
#define U32(member, low, high, def)                                 \
	{                                                           \
		.name = #member, .type = CONF_U32,                  \
		.offset = offsetof(struct controller_conf, member), \
		.min = (low), .max = (high), .fallback = (def)      \
	}
#define TEXT(member, def, check_h, what)                                 \
	{                                                                \
		.name = #member, .type = CONF_TEXT,                      \
		.offset = offsetof(struct controller_conf, member),      \
		.max = sizeof(((struct controller_conf *)0)->member),    \
		.fallback = (def), .check = (check_h), .allowed = (what) \
	}

static const char *check_calibration(const char *text)
{
	return strcmp(text, "allow") && strcmp(text, "warn") &&
			       strcmp(text, "refuse")
		       ? "is no such word"
		       : NULL;
}

static const char *check_tls(const char *text)
{
	return strcmp(text, "auto") && strcmp(text, "on") && strcmp(text, "off")
		       ? "is no such word"
		       : NULL;
}

#define BYTES(member, low, high, def)                               \
	{                                                           \
		.name = #member, .type = CONF_BYTES,                \
		.offset = offsetof(struct controller_conf, member), \
		.min = (low), .max = (high), .fallback = (def)      \
	}
/* At least 100 years, and a number of bytes that int64_t holds. */
#define RETENTION_DAYS_MAX  36500
#define RETENTION_BYTES_MAX (UINT64_C(1) << 50)

static const struct conf_key keys[] = {
	TEXT(listen, "127.0.0.1", conf_check_address,
	     "the literal address to listen on, 0.0.0.0 or :: for all"),
	U16(port, 0, 65535, "8080"),
	TEXT(base_url, "", conf_check_url_or_empty,
	     "a URL such as https://offhook.example.net, or nothing"),
	TEXT(host_names, "", conf_check_hosts,
	     "names and addresses without ports, such as "
	     "offhook.example.net, 192.0.2.1"),
	U32(hsts_s, 0, 63072000, "31536000"),
	TEXT(tls, "auto", check_tls, "auto, on or off"),
	TEXT(tls_certificate_file, "", NULL, NULL),
	TEXT(tls_key_file, "", NULL, NULL),
	TEXT(fingerprint_file, "", NULL, NULL),
	TEXT(agent_ca_file, "", NULL, NULL),
	TEXT(trusted_proxies, "", conf_check_networks,
	     "addresses and networks such as 127.0.0.1, 10.0.0.0/8"),
	U32(connections, 16, 100000, "4096"),
	U32(connections_per_address, 0, 100000, "256"),
	U32(header_timeout_s, 1, 600, "30"),
	U32(threads, 1, 64, "2"),
	U32(workers, 1, 64, "4"),
	{.name = "body_limit",
	 .type = CONF_BYTES,
	 .offset = offsetof(struct controller_conf, body_limit),
	 .min = 524288,
	 .max = UINT64_C(1) << 30,
	 .fallback = "1M"},
	{.name = "upload_limit",
	 .type = CONF_BYTES,
	 .offset = offsetof(struct controller_conf, upload_limit),
	 .min = 1024,
	 .max = UINT64_C(1) << 30,
	 .fallback = "64M"},
	{.name = "artifact_limit",
	 .type = CONF_BYTES,
	 .offset = offsetof(struct controller_conf, artifact_limit),
	 .min = 0,
	 .max = UINT64_C(1) << 40,
	 .fallback = "1G"},
	U32(json_depth, 8, 512, "32"),
	U32(page_limit, 1, 10000, "1000"),
	{.name = "session_status_alias",
	 .type = CONF_FLAG,
	 .offset = offsetof(struct controller_conf, session_status_alias),
	 .fallback = "false"},
	U32(rate_limit, 0, 1000000, "100"),
	U32(rate_burst, 1, 1000000, "200"),
	U32(key_runs_limit, 0, 1000000, "0"),
	U32(project_runs_limit, 0, 1000000, "0"),
	BYTES(project_bytes_limit, 0, RETENTION_BYTES_MAX, "0"),
	TEXT(beyond_calibration, "warn", check_calibration,
	     "allow, warn or refuse"),
	TEXT(state_dir, "/var/lib/offhook-controller", conf_check_filled,
	     "a directory"),
	TEXT(database, "offhook.db", conf_check_filled,
	     "a file, or postgresql://..."),
	TEXT(key_file, "master.key", conf_check_filled, "a file"),
	TEXT(artifact_store, "", NULL, NULL),
	U32(interval_s, 1, 3600, "10"),
	U32(max_duration_s, 1, 86400, "3600"),
	U32(claim_timeout_s, 1, 86400, "30"),
	U32(retention_runs_days, 0, RETENTION_DAYS_MAX, "0"),
	BYTES(retention_runs_bytes, 0, RETENTION_BYTES_MAX, "0"),
	U32(retention_metrics_days, 0, RETENTION_DAYS_MAX, "0"),
	BYTES(retention_metrics_bytes, 0, RETENTION_BYTES_MAX, "0"),
	U32(retention_thin_days, 0, RETENTION_DAYS_MAX, "0"),
	U32(retention_sip_days, 0, RETENTION_DAYS_MAX, "0"),
	BYTES(retention_sip_bytes, 0, RETENTION_BYTES_MAX, "0"),
	U32(retention_artifacts_days, 0, RETENTION_DAYS_MAX, "0"),
	BYTES(retention_artifacts_bytes, 0, RETENTION_BYTES_MAX, "0"),
	U32(retention_check_s, 1, 86400, "3600"),
	U32(poll_s, 1, 50, "50"),
	U32(renew_s, 1, 3600, "20"),
	U32(lease_s, 2, 7200, "60"),
	U32(offer_s, 1, 3600, "30"),
	U32(upload_grace_s, 1, 86400, "900"),
	TEXT(join_pool, "default", conf_check_filled, "the name of a pool"),
	TEXT(join_token_file, "", NULL, NULL),
	TEXT(callback_allow, "", conf_check_networks,
	     "addresses and networks such as 127.0.0.1, 10.0.0.0/8"),
	TEXT(callback_ca_file, "", NULL, NULL),
	U32(callback_timeout_s, 1, 60, "10"),
	U32(callback_retry_s, 1, 3600, "10"),
	{.name = "log_level",
	 .type = CONF_LEVEL,
	 .offset = offsetof(struct controller_conf, log_level),
	 .fallback = "info"},
};

bool controller_conf_tls(const struct controller_conf *conf)
{
	return strcmp(conf->tls, "on") == 0 || conf->tls_key_file[0];
}

bool controller_conf_has_file(const struct controller_conf *conf)
{
	return strncmp(conf->database, "postgresql://", 13) != 0 &&
	       strncmp(conf->database, "postgres://", 11) != 0;
}

int controller_conf_stored(char *dst, size_t size,
			   const struct controller_conf *conf,
			   const char *below)
{
	char folder[CONF_PATH_BYTES];
	int err = conf->artifact_store[0]
			  ? conf_path(folder, sizeof(folder), conf->state_dir,
				      conf->artifact_store)
			  : str_copy(folder, sizeof(folder), conf->state_dir);

	return err < 0 ? err : conf_path(dst, size, folder, below);
}

static const char *check_connections(const struct controller_conf *c,
				     const char **ret_key)
{
	if (!c->tls_certificate_file[0] != !c->tls_key_file[0]) {
		*ret_key = c->tls_key_file[0] ? "tls_certificate_file"
					      : "tls_key_file";
		return "is missing; allowed are both files or none";
	}
	if (c->tls_key_file[0] && strcmp(c->tls, "off") == 0) {
		*ret_key = "tls";
		return "is off, and there is a certificate; allowed is on, or "
		       "no tls_certificate_file and tls_key_file";
	}
	if (c->agent_ca_file[0] && !controller_conf_tls(c)) {
		*ret_key = "agent_ca_file";
		return "this controller serves plain HTTP, which has no "
		       "certificates of clients; allowed is tls = on or "
		       "tls_certificate_file, or nothing. Behind a proxy that "
		       "adds TLS the proxy must ask agents for them";
	}
	if (strcmp(c->tls, "auto") == 0 && !controller_conf_tls(c) &&
	    !loopback_address(c->listen)) {
		*ret_key = "listen";
		return "other hosts would send passwords and keys over plain "
		       "HTTP; allowed are a loopback address, tls = on (a "
		       "certificate is made at the first start), "
		       "tls_certificate_file with tls_key_file, and tls = off "
		       "behind a proxy that adds TLS";
	}
	return NULL;
}

static const char *check(const void *settings, const char **ret_key)
{
	const struct controller_conf *c = settings;
	const char *wrong = check_connections(c, ret_key);

	if (wrong)
		return wrong;
	if (c->artifact_store[0] && controller_conf_has_file(c)) {
		*ret_key = "artifact_store";
		return "a backup of an SQLite database has the files below "
		       "state_dir; allowed is a directory with PostgreSQL "
		       "only";
	}
	if (c->renew_s * 2 > c->lease_s) {
		*ret_key = "renew_s";
		return "a lease would be lost with one late renewal; allowed is "
		       "at most half of lease_s";
	}
	if (c->interval_s > c->max_duration_s) {
		*ret_key = "interval_s";
		return "longer than a run may last; allowed is at most "
		       "max_duration_s";
	}
	return NULL;
}

const struct conf_schema controller_conf_schema = {
	.keys = keys,
	.key_count = sizeof(keys) / sizeof(*keys),
	.check = check,
};

int controller_conf_load(struct controller_conf *ret, const char *path,
			 struct conf_error *error)
{
	return conf_load(ret, path, &controller_conf_schema, error);
}
