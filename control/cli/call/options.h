/**
 * Arguments of the commands that place or answer calls, or register.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALL_OPTIONS_H
#define OFFHOOK_CONTROL_CLI_CALL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_HOST_BYTES      256
#define CLI_CODECS_MAX      8
#define CLI_SRTP_SUITES_MAX 6
#define CLI_ANSWER_USER     "offhook" /* user name without --user */

enum cli_command {
	CLI_CALL,
	CLI_ANSWER,
	CLI_REGISTER,
	CLI_VERSION,
};

struct cli_options {
	enum cli_command command;
	const char *uri;               /* call: as given */
	char user[CLI_HOST_BYTES];     /* "": none */
	const char *auth_user;         /* NULL: user */
	char password[CLI_HOST_BYTES]; /* "": none; wiped by the caller */
	bool password_given;           /* by --password, not by environment */
	const char *caller_id;         /* display name or NULL */
	char host[CLI_HOST_BYTES];     /* target; "": none (answer only) */
	uint16_t port;                 /* 0: default of the transport */
	const char *domain;            /* NULL: the target */
	const char *transport;         /* "udp", "tcp", "tls" */
	bool tls_unverified;
	const char *tls_ca;   /* file or NULL */
	const char *tls_name; /* SNI and name to verify; NULL: the host */
	const char *tls_cert; /* ours: file or NULL */
	const char *tls_key;  /* file; NULL: in tls_cert */
	uint32_t expires_s;   /* of a registration; 0: default */
	const char *duration; /* seconds or a distribution; NULL: default */
	const char *codecs[CLI_CODECS_MAX];
	size_t codec_count;
	const char *encryption; /* as media_encryption; NULL: none */
	const char *nat;        /* as media_nat; NULL: none */
	bool ice_lite;
	const char *stun_server; /* "host:port"; NULL: none */
	const char *turn_server;
	const char *turn_transport; /* "udp", "tcp", "tls"; NULL: udp */
	bool turn_insecure;         /* TLS: the certificate is not verified */
	const char *turn_user;      /* NULL: none */
	char turn_password[CLI_HOST_BYTES]; /* "": none; wiped by the caller */
	bool turn_password_given;           /* by the option */
	bool rtcp_mux; /* neither: default of the encryption */
	bool no_rtcp_mux;
	const char *srtp_suites[CLI_SRTP_SUITES_MAX];
	size_t srtp_suite_count;
	const char *srtp_library; /* "builtin", "libsrtp2"; NULL: builtin */
	const char *media_path;   /* "call", "shared"; NULL: call */
	const char *actions;      /* sipclient_actions as text or NULL */
	const char *bind; /* local address; NULL: by the route to the target */
	bool audio_checks;
	bool audio_marker;
	bool silence_suppression;
	const char *opus_fmtp;     /* as opus_fmtp; NULL: default */
	const char *prompt;        /* path of a WAV file or NULL */
	const char *expect_prompt; /* path of the audio to expect, or NULL */
	const char *record;        /* folder for recordings, or NULL */
	const char *rtp_capture;   /* folder for rtp.pcap, that of `record` if
				    * both are given; or NULL */
	const char *ptime;         /* ms; NULL: default */
	const char *dtmf_mode;     /* as dtmf_mode; NULL: default */
	const char *reliable;      /* as prack; NULL: none */
	uint32_t session_timer_s;  /* RFC 4028; 0: none */
	const char *session_refresher; /* "any", "uac", "uas"; NULL: any */
	uint16_t sip_port; /* 0: any; answer without a target: none */
	uint16_t rtp_min;
	uint16_t rtp_max;
	unsigned calls; /* answer: end after so many; 0: one */
	bool registers;
	bool json;
	bool verbose;
	bool trace;
};

/**
 * Read the arguments. Passwords are overwritten in argv, as ps(1) shows it.
 * Complains on standard error.
 * @param ret  borrows texts from argv and the environment
 * @return 0; -EINVAL
 */
int cli_options_read(struct cli_options *ret, int argc, char **argv);

/** After a complaint, print where help is, on standard error. */
void cli_usage_hint(void);

#endif
