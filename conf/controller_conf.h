/**
 * Settings of offhook-controller; conf/offhook-controller.conf explains each.
 */
#ifndef OFFHOOK_CONF_CONTROLLER_CONF_H
#define OFFHOOK_CONF_CONTROLLER_CONF_H

#include "base/log.h"
#include "conf/load.h"

#include <stdbool.h>

struct controller_conf {
	/* HTTP */
	char listen[CONF_TEXT_BYTES];     /* address literal */
	uint16_t port;                    /* 0: any free one */
	char base_url[CONF_TEXT_BYTES];   /* empty: from the request's Host */
	char host_names[CONF_TEXT_BYTES]; /* accepted in Host if base_url is
					   * empty */
	uint32_t hsts_s;           /* max-age of Strict-Transport-Security */
	char tls[CONF_TEXT_BYTES]; /* auto, on, off */
	char tls_certificate_file[CONF_PATH_BYTES]; /* empty: its own */
	char tls_key_file[CONF_PATH_BYTES];
	char fingerprint_file[CONF_PATH_BYTES]; /* written; empty: none */
	char agent_ca_file[CONF_PATH_BYTES];    /* empty: agents need no
						 * certificate */
	char trusted_proxies[CONF_TEXT_BYTES];  /* networks */
	uint32_t connections;
	uint32_t connections_per_address; /* 0: no limit */
	uint32_t header_timeout_s;
	uint32_t threads;        /* serving connections */
	uint32_t workers;        /* serving requests over the store */
	uint64_t body_limit;     /* bytes of a request body */
	uint64_t upload_limit;   /* bytes of an uploaded file */
	uint64_t artifact_limit; /* bytes of a run's artifacts */
	uint32_t json_depth;     /* of a request body */
	uint32_t page_limit;     /* most items of one listing */
	bool session_status_alias;
	uint32_t rate_limit; /* requests/s a key; 0: no limit */
	uint32_t rate_burst;
	/* starts of runs; 0: no limit */
	uint32_t key_runs_limit;     /* in progress, of a key or user */
	uint32_t project_runs_limit; /* in progress */
	uint64_t project_bytes_limit;
	char beyond_calibration[CONF_TEXT_BYTES]; /* allow, warn, refuse */

	/* data on disk */
	char state_dir[CONF_PATH_BYTES];
	char database[CONF_PATH_BYTES]; /* relative: below state_dir */
	char key_file[CONF_PATH_BYTES]; /* relative: below state_dir */
	/* uploads and artifacts; empty: state_dir */
	char artifact_store[CONF_PATH_BYTES];

	/* runs */
	uint32_t interval_s;      /* reporting interval of a run without one */
	uint32_t max_duration_s;  /* of a run without one */
	uint32_t claim_timeout_s; /* a run without an agent ends errored */

	/* retention; 0: no limit */
	uint32_t retention_runs_days;
	uint64_t retention_runs_bytes;
	uint32_t retention_metrics_days;
	uint64_t retention_metrics_bytes;
	uint32_t retention_thin_days; /* metrics are thinned; 0: never */
	uint32_t retention_sip_days;
	uint64_t retention_sip_bytes;
	uint32_t retention_artifacts_days;
	uint64_t retention_artifacts_bytes;
	uint32_t retention_check_s; /* between two looks at what is due */

	/* sent to agents */
	uint32_t poll_s;
	uint32_t renew_s;
	uint32_t lease_s;
	uint32_t offer_s;
	uint32_t upload_grace_s;

	/* agent pool of the configuration */
	char join_pool[CONF_TEXT_BYTES];       /* name */
	char join_token_file[CONF_PATH_BYTES]; /* empty: there is none */

	/* callbacks */
	char callback_allow[CONF_TEXT_BYTES];   /* networks */
	char callback_ca_file[CONF_PATH_BYTES]; /* empty: the system's */
	uint32_t callback_timeout_s;
	uint32_t callback_retry_s; /* bound of the first pause */

	enum log_level log_level;
};

/** Whether HTTP is served over TLS. */
bool controller_conf_tls(const struct controller_conf *conf);

/** Whether the database is an SQLite file, not one of PostgreSQL. */
bool controller_conf_has_file(const struct controller_conf *conf);

/**
 * Make the path of an upload or an artifact: below `artifact_store`.
 * @param below  relative
 * @return length; -ENAMETOOLONG
 */
int controller_conf_stored(char *dst, size_t size,
			   const struct controller_conf *conf,
			   const char *below);

/** Key table and cross checks; constant. */
extern const struct conf_schema controller_conf_schema;

/** Read a file over the defaults; see conf_load(). */
int controller_conf_load(struct controller_conf *ret, const char *path,
			 struct conf_error *error);

#endif
