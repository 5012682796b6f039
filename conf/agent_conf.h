/**
 * Settings of offhook-agent; conf/offhook-agent.conf explains each.
 */
#ifndef OFFHOOK_CONF_AGENT_CONF_H
#define OFFHOOK_CONF_AGENT_CONF_H

#include "base/log.h"
#include "conf/load.h"

#include <stdbool.h>
#include <stdint.h>

/* bind: the address from which the controller is reached */
#define AGENT_BIND_AUTO "auto"

/* controller_fingerprint: forget the one that was kept */
#define AGENT_FINGERPRINT_NONE "none"

struct agent_conf {
	/* the controller */
	char controller[CONF_TEXT_BYTES];          /* URL */
	char name[CONF_TEXT_BYTES];                /* empty: the host's name */
	char join_token[CONF_TEXT_BYTES];          /* secret */
	char further_join_tokens[CONF_TEXT_BYTES]; /* comma separated; secret */
	char join_token_file[CONF_PATH_BYTES];     /* empty: none */
	char ca_file[CONF_PATH_BYTES];             /* empty: the system's */
	char controller_fingerprint[CONF_TEXT_BYTES]; /* empty: the one that
						       * was kept; or none */
	char controller_fingerprint_file[CONF_PATH_BYTES]; /* empty: none */
	char certificate_file[CONF_PATH_BYTES]; /* of this agent; empty: none */
	char key_file[CONF_PATH_BYTES];         /* empty: in certificate_file */
	bool plain_http;                        /* also beyond loopback */
	char labels[CONF_TEXT_BYTES];           /* comma separated */

	/* data on disk */
	char state_dir[CONF_PATH_BYTES];
	uint64_t spool_limit; /* bytes */

	/* calls */
	uint32_t capacity;          /* jobs at a time */
	uint32_t engines;           /* processes of one job of many calls;
				     * 0: one a processor */
	char bind[CONF_TEXT_BYTES]; /* address literal, not "any"; or auto */
	uint16_t sip_port;          /* 0: any free port */
	char sip_tls_certificate[CONF_PATH_BYTES];  /* empty: none */
	char sip_tls_key[CONF_PATH_BYTES];          /* empty: same file */
	char sip_tls_certificates[CONF_PATH_BYTES]; /* directory */
	char name_servers[CONF_TEXT_BYTES];         /* empty: the system's */
	uint16_t rtp_min;
	uint16_t rtp_max;
	char media_scheduling[CONF_TEXT_BYTES]; /* auto, realtime, normal */
	char srtp_library[CONF_TEXT_BYTES];     /* builtin, libsrtp2 */
	/* beyond these a run is errored; 0: not judged */
	uint32_t saturation_send_lateness; /* ms */
	uint32_t saturation_loop_lateness; /* ms */
	uint32_t saturation_share;         /* percent that may be later */
	uint32_t saturation_steal;         /* percent of the host */
	uint32_t saturation_throttled;     /* periods */
	uint32_t saturation_clock_step;    /* ms */
	char calibrate[CONF_TEXT_BYTES];   /* agent_conf_calibrate_s() */
	char sandbox[CONF_TEXT_BYTES];     /* on, off */
	char prompt_dir[CONF_PATH_BYTES];
	char default_prompt[CONF_TEXT_BYTES]; /* empty: none */
	char codec_values[CONF_TEXT_BYTES];   /* emodel_declare(); the agent
					     * checks it */
	char engine_program[CONF_PATH_BYTES]; /* empty: this program */
	uint32_t stop_s;   /* how long running jobs may finish at SIGTERM */
	uint32_t cancel_s; /* how long a cancelled engine may take to end */

	enum log_level log_level;
};

/** Key table and cross checks; constant. */
extern const struct conf_schema agent_conf_schema;

/**
 * Check what the environment of the configuration gave besides: a fingerprint of the
 * command line or of a file.
 * @return NULL: valid; else what is wrong with it
 */
const char *agent_conf_check_fingerprint(const char *text);

/**
 * When to calibrate at the start.
 * @param text  of the key `calibrate`
 * @return 0: each time; > 0: if the last one is older, s; -1: never; -EINVAL: not valid
 */
int64_t agent_conf_calibrate_s(const char *text);

/** Read a file over the defaults; see conf_load(). */
int agent_conf_load(struct agent_conf *ret, const char *path,
		    struct conf_error *error);

#endif
