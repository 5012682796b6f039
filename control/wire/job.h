/**
 * A job: what one role of a run has to do, as the controller gives it to an
 * agent and the agent to its engine (`spec` of docs/internals/wire.md).
 * Thread: any; a decoded job is constant.
 */
#ifndef OFFHOOK_WIRE_JOB_H
#define OFFHOOK_WIRE_JOB_H

#include "control/wire/dtmf.h"
#include "control/wire/duration.h"
#include "control/wire/job_limits.h"
#include "control/wire/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The actions of a test: X(enumerator, name on the wire). The engine starts one
 * with action_NAME_start() (agent/engine/job/job_internal.h). */
/* clang-format off */
#define WIRE_ACTIONS(X) \
	X(REGISTER, register) \
	X(ANSWER, answer) \
	X(CALL, call) \
	X(UNREGISTER, unregister) \
	X(WAIT, wait) \
	X(MESSAGE, message) \
	X(OPTIONS, options) \
	X(SUBSCRIBE, subscribe) \
	X(PUBLISH, publish) \
	X(NOTIFY, notify) \
	X(STREAM, stream)
/* clang-format on */

#define WIRE_ACTION_ENUMERATOR(type, name) WIRE_ACTION_##type,
enum wire_action_type {
	WIRE_ACTIONS(WIRE_ACTION_ENUMERATOR)
};
#undef WIRE_ACTION_ENUMERATOR

/** Whether an action places calls, or streams without signalling. */
static inline bool wire_action_originates(enum wire_action_type type)
{
	return type == WIRE_ACTION_CALL || type == WIRE_ACTION_STREAM;
}

/** The name of an action on the wire: "register". Static. */
const char *wire_action_name(enum wire_action_type type);

/* RTP without signalling. */
struct wire_stream {
	char host[46];       /* IPv4 or IPv6 address */
	uint16_t port;       /* of RTP; RTCP uses the next one */
	uint16_t local_port; /* even; 0: any of the RTP range */
};

struct wire_credential {
	const char *username;      /* never NULL */
	const char *auth_username; /* NULL: username */
	const char *password;      /* NULL: none */
	const char *domain;        /* NULL: of the target */
	const char *display_name;
	const char *extension;
};

enum wire_transport {
	WIRE_UDP,
	WIRE_TCP,
	WIRE_TLS
};

struct wire_host {
	const char *host;
	uint16_t port; /* 0: default of the transport */
	enum wire_transport transport;
	unsigned priority;
	unsigned weight;
};

struct wire_header {
	const char *name;
	const char *value;
	const char *message_type; /* "any" if empty or left out */
};

/* What an entry of sipclient_actions does. */
enum wire_script_action {
	WIRE_SCRIPT_ASSERT_ESTABLISHED,
	WIRE_SCRIPT_ASSERT_STATE,
	WIRE_SCRIPT_HOLD,
	WIRE_SCRIPT_RESUME,
	WIRE_SCRIPT_WAIT,
	WIRE_SCRIPT_HANGUP,
	WIRE_SCRIPT_ASSERT_DTMF,
	WIRE_SCRIPT_ASSERT_AUDIO,
	WIRE_SCRIPT_DTMF,
	WIRE_SCRIPT_MUTE,
	WIRE_SCRIPT_UNMUTE,
	WIRE_SCRIPT_PLAY,
	WIRE_SCRIPT_REINVITE,
	WIRE_SCRIPT_UPDATE,
	WIRE_SCRIPT_TRANSFER,
	WIRE_SCRIPT_TRANSFER_ATTENDED,
	WIRE_SCRIPT_SNDCODE,
	WIRE_SCRIPT_REJECT,
	WIRE_SCRIPT_REDIRECT,
	WIRE_SCRIPT_MESSAGE,
	WIRE_SCRIPT_OPTIONS,
	WIRE_SCRIPT_RECORD_START,
	WIRE_SCRIPT_RECORD_STOP,
};

/* One entry of sipclient_actions: [name, argument]. */
struct wire_client_action {
	enum wire_script_action type;
	const char *argument; /* never NULL */
};

/** The name of a script action, as in sipclient_actions: "hold". Static. */
const char *wire_script_action_name(enum wire_script_action type);

/* An uploaded prompt or file. */
struct wire_prompt {
	const char *name;
	const char *sha256; /* 64 lower-case hex digits */
};

enum wire_audio_kind {
	WIRE_AUDIO_SOUND,
	WIRE_AUDIO_SILENCE,
	WIRE_AUDIO_TONE,
	WIRE_AUDIO_PROMPT, /* expect_prompt of the action */
};

/* Argument of an `assert_audio` action: "sound 5000", "silence 2000",
 * "tone 440 5000", "prompt 5000". */
struct wire_audio_expect {
	enum wire_audio_kind kind;
	uint16_t hz;      /* tone: 100 to 3600 */
	uint32_t wait_ms; /* longest wait; silence: its length */
};

/* How digits are sent. */
enum wire_dtmf_mode {
	WIRE_DTMF_RTPEVENT,   /* RFC 4733 */
	WIRE_DTMF_INFO,       /* INFO, application/dtmf-relay */
	WIRE_DTMF_INFO_PLAIN, /* INFO, application/dtmf */
	WIRE_DTMF_INBAND,     /* tones in the audio */
};

enum wire_encryption {
	WIRE_ENCRYPTION_NONE,
	WIRE_ENCRYPTION_SDES,
	WIRE_ENCRYPTION_SDES_MANDATORY,
	WIRE_ENCRYPTION_DTLS,
};

/* RTP and RTCP on one port (RFC 5761) */
enum wire_mux {
	WIRE_MUX_TAKE, /* not offered; accepted in an offer */
	WIRE_MUX_OFFER,
	WIRE_MUX_REFUSE, /* neither offered nor accepted */
};

enum wire_nat {
	WIRE_NAT_NONE,
	WIRE_NAT_STUN, /* mapped address from a STUN server */
	WIRE_NAT_TURN, /* relayed by a TURN server */
	WIRE_NAT_ICE,
};

enum wire_prack {
	WIRE_PRACK_NONE,
	WIRE_PRACK_SUPPORTED,
	WIRE_PRACK_REQUIRED,
};

/* Refresher of a session timer (RFC 4028). */
enum wire_refresher {
	WIRE_REFRESHER_ANY,
	WIRE_REFRESHER_UAC,
	WIRE_REFRESHER_UAS,
};

#define WIRE_REDIRECTS_DEFAULT 5

/* answer and call */
struct wire_call_options {
	enum wire_prack prack;
	uint32_t session_timer_s; /* 0: none */
	enum wire_refresher refresher;
	/* call */
	bool late_offer;         /* INVITE without SDP */
	uint32_t ring_timeout_s; /* 0: 180 */
	uint32_t redirects_max; /* contacts of a 3xx to try; 0: the call ends */
};

/* Event packages: presence (RFC 3856), message waiting (RFC 3842). */
enum wire_package {
	WIRE_PRESENCE,
	WIRE_MESSAGE_SUMMARY,
};

struct wire_presence {
	bool given;
	bool open;
	const char *note; /* or NULL */
};

/* Voice messages of a mailbox: "2/8 (0/2)" is new/old (urgent new/old). */
struct wire_mwi {
	bool given;
	uint32_t fresh;
	uint32_t old;
	bool has_urgent;
	uint32_t urgent_fresh;
	uint32_t urgent_old;
};

/* Digest algorithms of RFC 7616 and RFC 8760. */
enum wire_digest {
	WIRE_DIGEST_MD5,
	WIRE_DIGEST_SHA256,
	WIRE_DIGEST_SHA512_256,
};

/* answer: callers must authenticate with digest credentials. */
struct wire_challenge {
	uint16_t code; /* 401, 407; 0: no challenge */
	enum wire_digest algorithm;
	bool all;            /* also requests within dialogs */
	uint32_t nonce_uses; /* requests that may use a nonce; 0: any */
	uint32_t stale; /* correct responses refused with stale=true first */
	const struct wire_credential *credentials; /* those that are accepted */
	size_t credential_count;
};

/* How TLS to the hosts of a target is verified. */
struct wire_tls {
	bool verify;
	const char *server_name; /* NULL: the host's name */
	const char *ca;          /* PEM; NULL: the system's */
	const char *certificate; /* its name on the agent; NULL: default */
};

/* The user agent that carries out an action. */
enum wire_client {
	WIRE_CLIENT_NATIVE,
	WIRE_CLIENT_BARESIP,
	WIRE_CLIENT_SIPP,
};

/* client sipp */
struct wire_sipp {
	struct wire_prompt scenario;     /* sha256 NULL: a file of the agent */
	const struct wire_prompt *files; /* beside the scenario, likewise */
	size_t file_count;
	const char *const *options; /* checked words of its command line */
	size_t option_count;
	uint16_t port; /* of SIP; 0: any */
};

struct wire_action {
	enum wire_action_type type;
	enum wire_client client; /* register, answer, call */
	unsigned index;          /* position within its step in the test */

	const struct wire_credential *credentials; /* register, call, answer */
	size_t credential_count;
	const struct wire_host *hosts; /* by priority */
	size_t host_count;
	/* the action has no target of its own: each account uses that of its
	 * registration; here stands that of the role's last register action */
	bool target_inherited;
	const char *domain;         /* SIP domain; NULL: the host */
	const char *outbound_proxy; /* SIP URI or NULL */
	struct wire_tls tls;
	uint32_t regexpire_s; /* default 3600 */
	const struct wire_header *headers;
	size_t header_count;

	const char *codecs[WIRE_CODECS_MAX];
	size_t codec_count; /* 0: engine's default */
	uint16_t ptime_ms;  /* default 20 */
	const char *prompt; /* NULL: agent's default */
	enum wire_encryption encryption;
	enum wire_nat nat;
	bool ice_lite;
	bool media_shared;       /* media_path shared */
	const char *stun_server; /* "host", "host:port"; NULL: none */
	const char *turn_server;
	enum wire_transport turn_transport;
	bool turn_verify;          /* TLS: the certificate; default true */
	const char *turn_username; /* NULL: none */
	const char *turn_password;
	enum wire_mux rtcp_mux; /* default: with DTLS OFFER */
	const char *srtp_suites[WIRE_SRTP_SUITES_MAX]; /* names in SDP */
	size_t srtp_suite_count; /* 0: all, in the engine's order */
	/* of an uploaded prompt, 64 lower-case hex digits; NULL: `prompt` is a
	 * file of the agent */
	const char *prompt_sha256;
	enum wire_dtmf_mode dtmf_mode;
	/* prompt that must be heard, as prompt and prompt_sha256; NULL: any
	 * audio */
	const char *expect_prompt;
	const char *expect_prompt_sha256;
	const struct wire_prompt *plays; /* uploads that `play` names */
	size_t play_count;
	const char *opus_fmtp; /* a=fmtp of our SDP; NULL: default */
	bool silence_suppression;
	bool audio_checks; /* decode and measure received and sent audio */
	bool audio_marker; /* play marker tones, measure their delay */
	bool record_media; /* record every call, one WAV file per direction */
	bool store_artifacts; /* likewise, and the event of each call */
	bool rtp_capture;     /* RTP and RTCP packets, in one file a job */

	struct wire_call_options call_options;

	/* answer */
	uint32_t answer_delay_ms;
	bool ring_only;
	uint16_t answer_code; /* 200: take the call */
	/* URIs, separated by commas; set if answer_code is a redirect */
	const char *answer_contact;
	bool accept_refer; /* place calls for REFERs outside of dialogs */
	bool early_media;  /* 183 with SDP instead of 180 */

	/* call */
	/* template, see wire_expand_dial(); message and options: NULL is the
	 * domain itself */
	const char *dial_destination;
	/* default 1; of an answer action 0: no limit */
	uint32_t max_total_calls;
	uint32_t max_concurrent_calls;
	double calls_per_second;   /* default 1; register: 0, no rate */
	uint32_t ramp_up_s;        /* until the full rate; default 0 */
	struct wire_agents agents; /* default 1 */
	bool allow_reduced; /* a shard may be lost; for the controller only */
	/* default 10 s; of an answer action fixed 0: until the peer ends it */
	struct wire_duration duration;
	const struct wire_client_action *client_actions;
	size_t client_action_count;

	struct wire_stream stream; /* stream */
	struct wire_sipp sipp;     /* call, answer with client sipp */

	/* message */
	const char *message; /* its text */

	/* subscribe, publish: expires_s 0 ends the subscription or publication;
	 * without a subscription it fetches the state once */
	enum wire_package package;
	uint32_t expires_s; /* default 3600 */
	/* answer, publish, notify: the state sent to subscribers */
	struct wire_presence presence;
	struct wire_mwi mwi;

	struct wire_challenge challenge; /* answer */

	/* wait */
	uint32_t wait_ms; /* longest wait */
	uint32_t
		wait_calls; /* until so many answered calls have ended; 0: no */
};

struct wire_step {
	const struct wire_action *actions; /* of this role only; may be empty */
	size_t action_count;
};

/* Users of another role, for {{callee.username}}. */
struct wire_peer_role {
	const char *role;
	const char *const *usernames;
	size_t username_count;
};

struct wire_job {
	const char *session_id;
	const char *role;
	unsigned attempt;
	uint32_t interval_s;
	uint32_t max_duration_s;
	bool record_sip;
	bool record_media; /* of all actions */
	const struct wire_step *steps;
	size_t step_count;
	const struct wire_peer_role *peers;
	size_t peer_count;
	struct wire_share share; /* the shard of the role that it is */
};

/** Parse the argument of an `assert_audio` action. @return 0; -EINVAL */
int wire_audio_expect_parse(const char *text, struct wire_audio_expect *ret);

/**
 * Split the address of a STUN or TURN server: "host", "host:port",
 * "[2001:db8::1]:port".
 * @param port  in/out; in: the default
 * @return 0; -EINVAL (nothing is written) */
int wire_server_parse(const char *text, char *host, size_t size,
		      uint16_t *port);

/**
 * Replace the placeholders of a dial_destination: {{n}} is the call's number
 * from 0, {{credential.username}} the caller's user name, {{ROLE.username}} the
 * user name at n modulo the length of the role's list.
 * @return length; -EINVAL unknown placeholder or empty list; -ENAMETOOLONG
 */
int wire_expand_dial(char *dst, size_t size, const char *template,
		     const struct wire_job *job, unsigned n,
		     const char *credential_username);

/** The values of the placeholders in the arguments of an action's calls. */
struct wire_fillings {
	const struct wire_job *job;
	const struct wire_credential *users; /* accounts that call or answer */
	size_t user_count;
	unsigned count; /* of calls to check, 1 to 1000 */
};

/**
 * Collect the placeholder values of an action.
 * @param registered  the last register action before this one, whose accounts
 *                    it uses; NULL: none
 */
void wire_fillings_init(struct wire_fillings *ret, const struct wire_job *job,
			const struct wire_action *action,
			const struct wire_action *registered);

/** Find the last register action before this one. @return NULL: none */
const struct wire_action *wire_registered_before(const struct wire_job *job,
						 const struct wire_action *a);

/**
 * Replace the placeholders of an argument by the values of call n.
 * @param n  < fillings->count
 * @return as of wire_expand_dial()
 */
int wire_filling(char dst[static WIRE_ARGUMENT_BYTES],
		 const struct wire_fillings *fillings, const char *argument,
		 unsigned n);

#endif
