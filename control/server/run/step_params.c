#include "control/server/run/step_params.h"

#include "base/str.h"

#include <string.h>

#define MEDIA "answer call"

/* Headings of docs/reference/parameters.md. */
#define ACCOUNTS   "Accounts and targets"
#define CALLS      "Number and duration of calls"
#define SIGNALLING "Signalling of a call"
#define AUDIO      "Audio"
#define ENCRYPTION "Encryption"
#define NATS       "NATs"
#define PRESENCE   "Messages, presence, message waiting"

#define RANGE(low, high) .ranged = true, .min = (low), .max = (high)

/* In the order of docs/reference/parameters.md; the lint compares both. */
/* clang-format off */
static const struct step_param params[] = {
	{.name = "credential_pool", .type = "integer", .fallback = NULL, .actions = "register answer call message options subscribe publish",
	 .group = ACCOUNTS, .word = "Accounts", .records = "credential-pools", .required = "register",
	 .help = "id of the pool with the accounts. `register` requires it. `answer` and `call` use the accounts that their role registered, else this pool, else the user `offhook`"},
	{.name = "target_pool", .type = "integer", .fallback = NULL, .actions = "register call message options subscribe publish",
	 .group = ACCOUNTS, .word = "Target", .records = "targets", .required = "register",
	 .help = "id of the target, the system under test; default: that of the role's last `register`"},
	{.name = "transport", .type = "string", .fallback = NULL, .actions = "register call message options subscribe publish",
	 .group = ACCOUNTS, .word = "Transport", .choices = "udp tcp tls",
	 .help = "udp, tcp or tls; overrides the transport of the target. Needs `target_pool` in the same action"},
	{.name = "client", .type = "string", .fallback = NULL, .actions = "register answer call",
	 .group = ACCOUNTS, .word = "Client", .choices = "native baresip sipp",
	 .help = "native, baresip or sipp; default: that of the role's `register`, else native"},
	{.name = "requires", .type = "array", .fallback = "[]", .actions = "register answer call message options subscribe publish stream",
	 .group = ACCOUNTS, .word = "Required of the agent",
	 .help = "labels and capabilities that the agent of the role must have, as `[\"site=fra\", \"client=baresip\"]`: `labels` of its configuration, or KIND=VALUE of a capability; at most 16. A run that no agent of the pool has them for says so at once"},
	{.name = "sipp_scenario", .type = "string", .fallback = NULL, .actions = MEDIA,
	 .group = ACCOUNTS, .word = "Scenario of SIPp",
	 .help = "with client sipp: its XML scenario, the name of an appimage or of a file in the agent's `prompt_dir`; required"},
	{.name = "sipp_files", .type = "array", .fallback = "[]", .actions = MEDIA,
	 .group = ACCOUNTS, .word = "Files of the scenario",
	 .help = "with client sipp: at most 16 files beside the scenario (CSV of `-inf`, audio of `rtp_stream`), named as `sipp_scenario`"},
	{.name = "sipp_options", .type = "array", .fallback = "[]", .actions = MEDIA,
	 .group = ACCOUNTS, .word = "Options of SIPp",
	 .help = "with client sipp: words of its command line, `[\"-s\", \"1002\", \"-d\", \"500\"]`, of those that a test may give"},
	{.name = "sipp_port", .type = "integer", .fallback = "0", .actions = MEDIA,
	 .group = ACCOUNTS, .word = "SIP port of SIPp", RANGE(0, 65535),
	 .help = "with client sipp: its SIP port; 0: any free one"},
	{.name = "dial_destination", .type = "string", .fallback = NULL, .actions = "call message options subscribe stream",
	 .group = ACCOUNTS, .word = "Destination", .required = "stream",
	 .help = "a user, a number or a URI; may contain `{{n}}`, `{{credential.username}}` and `{{ROLE.username}}`. Default of `call`: the test's callee, if there is one; of `message` and `options`: the domain; of `subscribe`: the account itself. `stream` requires it, as address and port"},
	{.name = "custom_headers", .type = "array", .fallback = "[]", .actions = "register answer call unregister message options subscribe publish",
	 .group = ACCOUNTS, .word = "Header fields",
	 .help = "`[[\"X-Test\", \"1\", \"invites\"], ...]`: name, value, and the requests that carry the header: any (default), registers, calls, presence, invites, updates, refers"},
	{.name = "regexpire", .type = "integer", .fallback = "3600", .actions = "register",
	 .group = ACCOUNTS, .word = "Expiry", .unit = "s", RANGE(1, 86400),
	 .help = "s, 1 to 86400; the expiry that REGISTER requests"},
	{.name = "max_total_calls", .type = "integer", .fallback = "1", .actions = "call stream",
	 .group = CALLS, .word = "Calls in all", RANGE(1, 1000000),
	 .help = "calls in all, to 1000000"},
	{.name = "max_total_calls", .type = "integer", .fallback = NULL, .actions = "answer",
	 .group = CALLS, .word = "Calls in all", RANGE(1, 1000000),
	 .help = "calls that are answered; further calls get 486. Default: no limit"},
	{.name = "max_concurrent_calls", .type = "integer", .fallback = "1", .actions = "call stream",
	 .group = CALLS, .word = "At a time", RANGE(1, 10000),
	 .help = "calls at a time, to 10000"},
	{.name = "max_concurrent_calls", .type = "integer", .fallback = NULL, .actions = "answer",
	 .group = CALLS, .word = "At a time", RANGE(1, 10000),
	 .help = "calls at a time; further calls get 486. Default: no limit"},
	{.name = "calls_per_second", .type = "number", .fallback = "1", .actions = "call stream",
	 .group = CALLS, .word = "Rate", .unit = "/s", RANGE(0.001, 10000),
	 .help = "new calls a second at most, 0.001 to 10000"},
	{.name = "calls_per_second", .type = "number", .fallback = NULL, .actions = "register",
	 .group = CALLS, .word = "Rate", .unit = "/s", RANGE(0.001, 10000),
	 .help = "registrations begun in a second at most. Default: no limit"},
	{.name = "ramp_up", .type = "integer", .fallback = "0", .actions = "call stream",
	 .group = CALLS, .word = "Rising for", .unit = "s", RANGE(0, 86400),
	 .help = "s in which the rate rises from zero to `calls_per_second`"},
	{.name = "agents", .type = "string", .fallback = "\"1\"", .actions = "call stream",
	 .group = CALLS, .word = "Agents",
	 .help = "how many agents of the pool place the calls together, each its share: `4`, or the least and the most, `2-8`; at most 8. Calls, rate and limits stay those of all of them"},
	{.name = "allow_reduced", .type = "boolean", .fallback = "false", .actions = "call stream",
	 .group = CALLS, .word = "Goes on without lost agents",
	 .help = "with `agents`: the run goes on when it loses one of them, and is judged by the others; then its `reduced` is true. Else it ends `errored`"},
	{.name = "call_duration", .type = "string", .fallback = "\"10\"", .actions = "call stream",
	 .group = CALLS, .word = "Length of a call", .unit = "s",
	 .help = "s from CALL_ESTABLISHED, or a distribution: `uniform:5,15`, `exponential:180`, `normal:60,10`"},
	{.name = "call_duration", .type = "string", .fallback = NULL, .actions = "answer",
	 .group = CALLS, .word = "Length of a call", .unit = "s",
	 .help = "seconds, or a distribution, after which we end the call; default: the peer ends it"},
	{.name = "wait_ms", .type = "integer", .fallback = "0", .actions = "wait",
	 .group = CALLS, .word = "Time", .unit = "ms", RANGE(0, 86400000),
	 .help = "ms, at most a day"},
	{.name = "wait_calls", .type = "integer", .fallback = NULL, .actions = "wait",
	 .group = CALLS, .word = "Or until calls have ended", RANGE(1, 1000000),
	 .help = "number of calls, to 1000000: the wait ends earlier if this number of calls of the role's `answer` action have ended"},
	{.name = "answer_delay", .type = "integer", .fallback = "0", .actions = "answer",
	 .group = SIGNALLING, .word = "Rings for", .unit = "ms", RANGE(0, 600000),
	 .help = "ms of ringing before the answer, to 600000"},
	{.name = "answer_code", .type = "integer", .fallback = "200", .actions = "answer",
	 .group = SIGNALLING, .word = "Final response", RANGE(200, 699),
	 .help = "200, or 300 to 699"},
	{.name = "answer_contact", .type = "string", .fallback = NULL, .actions = "answer",
	 .group = SIGNALLING, .word = "Contacts of a redirect",
	 .help = "Contact URIs of a 3xx, separated by commas; required with 3xx"},
	{.name = "ring_only", .type = "boolean", .fallback = "false", .actions = "answer",
	 .group = SIGNALLING, .word = "Rings only",
	 .help = "rings, and sends no final response"},
	{.name = "early_media", .type = "boolean", .fallback = "false", .actions = "answer",
	 .group = SIGNALLING, .word = "Early media",
	 .help = "183 with SDP; audio flows before the answer"},
	{.name = "accept_refer", .type = "boolean", .fallback = "false", .actions = "answer",
	 .group = SIGNALLING, .word = "Accepts REFER",
	 .help = "places the call that an out-of-dialog REFER requests"},
	{.name = "prack", .type = "string", .fallback = "\"none\"", .actions = MEDIA,
	 .group = SIGNALLING, .word = "Reliable provisional responses", .choices = "none supported required",
	 .help = "RFC 3262: none, supported, required"},
	{.name = "session_timer", .type = "integer", .fallback = "0", .actions = MEDIA,
	 .group = SIGNALLING, .word = "Session timer", .unit = "s", RANGE(0, 86400),
	 .help = "RFC 4028: s, 2 to 86400; 0: none"},
	{.name = "session_refresher", .type = "string", .fallback = "\"any\"", .actions = MEDIA,
	 .group = SIGNALLING, .word = "Who refreshes the session", .choices = "any uac uas",
	 .help = "any, uac, uas"},
	{.name = "late_offer", .type = "boolean", .fallback = "false", .actions = "call",
	 .group = SIGNALLING, .word = "INVITE without SDP",
	 .help = "INVITE without SDP"},
	{.name = "ring_timeout", .type = "integer", .fallback = "180", .actions = "call",
	 .group = SIGNALLING, .word = "Longest ringing", .unit = "s", RANGE(1, 3600),
	 .help = "s to wait for a final response, 1 to 3600; then CANCEL"},
	{.name = "max_redirects", .type = "integer", .fallback = "5", .actions = "call",
	 .group = SIGNALLING, .word = "Contacts tried", RANGE(0, 20),
	 .help = "contacts of a 3xx that are tried, 0 to 20"},
	{.name = "sipclient_actions", .type = "array", .fallback = "[]", .actions = MEDIA,
	 .group = SIGNALLING, .word = "What each call does",
	 .help = "the script of each call, `[[\"assert_established\", \"\"], [\"hold\", \"\"]]`; arguments may contain the placeholders of `dial_destination`"},
	{.name = "dtmf_mode", .type = "string", .fallback = "\"rtpevent\"", .actions = MEDIA,
	 .group = SIGNALLING, .word = "Digits are sent by", .choices = "rtpevent info info-dtmf inband",
	 .help = "how digits are sent: rtpevent, info, info-dtmf, inband"},
	{.name = "challenge", .type = "integer", .fallback = "0", .actions = "answer",
	 .group = SIGNALLING, .word = "Challenge callers with", .choices = "0 401 407",
	 .help = "401 or 407: callers are challenged (digest) with this status; 0: no challenge"},
	{.name = "challenge_pool", .type = "integer", .fallback = NULL, .actions = "answer",
	 .group = SIGNALLING, .word = "Accounts of callers", .records = "credential-pools",
	 .help = "id of the pool with the accepted credentials; required with `challenge`"},
	{.name = "challenge_algorithm", .type = "string", .fallback = "\"MD5\"", .actions = "answer",
	 .group = SIGNALLING, .word = "Digest algorithm", .choices = "MD5 SHA-256 SHA-512-256",
	 .help = "MD5, SHA-256, SHA-512-256 (RFC 8760; few peers know it: kamailio 5.6 and linphone 5.1 do not, baresip 1.0 knows MD5 alone)"},
	{.name = "challenge_requests", .type = "string", .fallback = "\"initial\"", .actions = "answer",
	 .group = SIGNALLING, .word = "Requests that are challenged", .choices = "initial all",
	 .help = "initial: out-of-dialog requests; all: requests within calls as well"},
	{.name = "challenge_nonce_uses", .type = "integer", .fallback = "0", .actions = "answer",
	 .group = SIGNALLING, .word = "Uses of a nonce", RANGE(0, 1000000),
	 .help = "a nonce becomes stale after this number of requests; 0: never"},
	{.name = "challenge_stale", .type = "integer", .fallback = "0", .actions = "answer",
	 .group = SIGNALLING, .word = "Stale challenges", RANGE(0, 1000000),
	 .help = "number of requests with right credentials that are first challenged again with stale=true"},
	{.name = "audio_codecs", .type = "array", .fallback = "[]", .actions = "answer call stream",
	 .group = AUDIO, .word = "Codecs", .choices = "PCMU PCMA G722 opus GSM L16/8000 L16/16000 L16/44100",
	 .help = "PCMU, PCMA, G722, opus, GSM, L16/8000, L16/16000 (also L16), L16/44100, the preferred one first; []: PCMU and PCMA. `stream` sends the first"},
	{.name = "ptime", .type = "integer", .fallback = "20", .actions = "answer call stream",
	 .group = AUDIO, .word = "Packet time", .unit = "ms", RANGE(10, 120),
	 .help = "ms of a packet, 10 to 120, rounded down to the codec's step; the peer's `ptime` takes precedence"},
	{.name = "opus_fmtp", .type = "string", .fallback = NULL, .actions = MEDIA,
	 .group = AUDIO, .word = "Parameters of Opus",
	 .help = "our `a=fmtp` of Opus (RFC 7587), for example `maxplaybackrate=16000;useinbandfec=1`; default `useinbandfec=1`"},
	{.name = "silence_suppression", .type = "boolean", .fallback = "false", .actions = MEDIA,
	 .group = AUDIO, .word = "Silence suppression",
	 .help = "comfort noise (RFC 3389) and DTX of Opus are offered and used"},
	{.name = "prompt", .type = "string", .fallback = NULL, .actions = "answer call stream",
	 .group = AUDIO, .word = "Sound that is played", .records = "appimages",
	 .help = "audio to play in a loop: the name of an uploaded prompt, or of a file in the agent's `prompt_dir`; default: the agent's default prompt, else a sequence of tones"},
	{.name = "audio_marker", .type = "boolean", .fallback = "false", .actions = "answer call stream",
	 .group = AUDIO, .word = "Marker tones",
	 .help = "plays marker tones, and measures the delay of those received; `ptime` must divide 2400 ms"},
	{.name = "expect_prompt", .type = "string", .fallback = NULL, .actions = "answer call stream",
	 .group = AUDIO, .word = "Sound that should be heard", .records = "appimages",
	 .help = "audio that should be heard, named as `prompt`; compared by correlation"},
	{.name = "audio_checks", .type = "boolean", .fallback = "false", .actions = "answer call stream",
	 .group = AUDIO, .word = "Sound is measured",
	 .help = "decode and measure: level, peak, clipping, silence, one-way audio, tones; conditions on audio switch it on"},
	{.name = "record", .type = "string", .fallback = "\"none\"", .actions = "answer call stream",
	 .group = AUDIO, .word = "Recording", .choices = "none media",
	 .help = "none, or media: records every call as WAV files"},
	{.name = "store_artifacts", .type = "boolean", .fallback = "false", .actions = MEDIA,
	 .group = AUDIO, .word = "Keep the files of each call",
	 .help = "records every call, and stores CALL.json with its figures"},
	{.name = "rtp_capture", .type = "boolean", .fallback = "false", .actions = "answer call stream",
	 .group = AUDIO, .word = "Capture of RTP",
	 .help = "stores the RTP headers and the RTCP packets of every call as rtp.pcap; with the payload where the call is recorded"},
	{.name = "local_port", .type = "integer", .fallback = "0", .actions = "stream",
	 .group = AUDIO, .word = "RTP port", RANGE(0, 65534),
	 .help = "even RTP port; 0: any port of the agent's range"},
	{.name = "media_encryption", .type = "string", .fallback = "\"none\"", .actions = MEDIA,
	 .group = ENCRYPTION, .word = "Encryption", .choices = "none sdes sdes-mandatory dtls",
	 .help = "none; sdes (plain media with a peer without keys); sdes-mandatory; dtls"},
	{.name = "srtp_suites", .type = "array", .fallback = "[]", .actions = MEDIA,
	 .group = ENCRYPTION, .word = "Cipher suites", .choices = "AES_CM_128_HMAC_SHA1_80 AES_CM_128_HMAC_SHA1_32 AES_256_CM_HMAC_SHA1_80 AES_256_CM_HMAC_SHA1_32 AEAD_AES_128_GCM AEAD_AES_256_GCM",
	 .help = "AES_CM_128_HMAC_SHA1_80, AES_CM_128_HMAC_SHA1_32, AES_256_CM_HMAC_SHA1_80, AES_256_CM_HMAC_SHA1_32, AEAD_AES_128_GCM, AEAD_AES_256_GCM, the preferred one first; []: all"},
	{.name = "rtcp_mux", .type = "boolean", .fallback = NULL, .actions = MEDIA,
	 .group = ENCRYPTION, .word = "RTCP on RTP's port",
	 .help = "RTCP on RTP's port: true offers it; false neither offers nor accepts it; default: accepted, and offered with dtls"},
	{.name = "media_path", .type = "string", .fallback = "\"call\"", .actions = MEDIA,
	 .group = NATS, .word = "RTP sockets", .choices = "call shared",
	 .help = "call, a socket a call; shared, sockets of many calls, which costs less a call: without `media_nat` and dtls; the peer must announce its SSRC (`a=ssrc`), or have an RTP port a call"},
	{.name = "media_nat", .type = "string", .fallback = "\"none\"", .actions = MEDIA,
	 .group = NATS, .word = "NAT traversal", .choices = "none stun turn ice",
	 .help = "none, stun, turn, ice"},
	{.name = "ice_lite", .type = "boolean", .fallback = "false", .actions = MEDIA,
	 .group = NATS, .word = "ICE lite",
	 .help = "with ice: be a lite agent"},
	{.name = "stun_server", .type = "string", .fallback = NULL, .actions = MEDIA,
	 .group = NATS, .word = "STUN server",
	 .help = "`host` or `host:port` (3478); required with stun, optional with ice"},
	{.name = "turn_server", .type = "string", .fallback = NULL, .actions = MEDIA,
	 .group = NATS, .word = "TURN server",
	 .help = "`host` or `host:port` (3478, with TLS 5349); required with turn, optional with ice"},
	{.name = "turn_transport", .type = "string", .fallback = "\"udp\"", .actions = MEDIA,
	 .group = NATS, .word = "Transport to the TURN server", .choices = "udp tcp tls",
	 .help = "udp, tcp, tls"},
	{.name = "turn_verify", .type = "boolean", .fallback = "true", .actions = MEDIA,
	 .group = NATS, .word = "Verify the TURN server's certificate",
	 .help = "verify the TURN server's certificate"},
	{.name = "turn_credential_pool", .type = "integer", .fallback = NULL, .actions = MEDIA,
	 .group = NATS, .word = "Account at the TURN server", .records = "credential-pools",
	 .help = "id of the pool whose first credential is used at the TURN server"},
	{.name = "message", .type = "string", .fallback = NULL, .actions = "message",
	 .group = PRESENCE, .word = "Text", .required = "message",
	 .help = "the text, at most 800 bytes; required"},
	{.name = "event", .type = "string", .fallback = "\"presence\"", .actions = "subscribe publish",
	 .group = PRESENCE, .word = "Event package", .choices = "presence message-summary",
	 .help = "presence, message-summary"},
	{.name = "expires", .type = "integer", .fallback = "3600", .actions = "subscribe publish",
	 .group = PRESENCE, .word = "Expiry", .unit = "s", RANGE(0, 86400),
	 .help = "s, to 86400; 0 ends the subscription or publication, or fetches the state once"},
	{.name = "presence", .type = "string", .fallback = NULL, .actions = "answer publish notify",
	 .group = PRESENCE, .word = "Presence", .choices = "open closed",
	 .help = "open, closed"},
	{.name = "presence_note", .type = "string", .fallback = NULL, .actions = "answer publish notify",
	 .group = PRESENCE, .word = "Note of the presence",
	 .help = "note of the presence document"},
	{.name = "mwi", .type = "string", .fallback = NULL, .actions = "answer publish notify",
	 .group = PRESENCE, .word = "Messages waiting",
	 .help = "new/old messages, optionally the urgent ones: `2/8 (0/2)`"},
};
/* clang-format on */

#define PARAM_COUNT (sizeof(params) / sizeof(*params))

static const struct {
	const char *pool;
	const char *as; /* what a job has in its place */
} pools[] = {
	{"credential_pool", "credentials"},
	{"challenge_pool", "challenge_credentials"},
	{"turn_credential_pool", "turn_credentials"},
	{"target_pool", "target"},
};

#define POOL_COUNT (sizeof(pools) / sizeof(pools[0]))

const char *step_pool_member(const char *name)
{
	for (size_t i = 0; i < POOL_COUNT; i++) {
		if (strcmp(pools[i].pool, name) == 0)
			return pools[i].as;
	}
	return NULL;
}

const char *step_pool_param(const char *as)
{
	for (size_t i = 0; i < POOL_COUNT; i++) {
		if (strcmp(pools[i].as, as) == 0)
			return pools[i].pool;
	}
	return NULL;
}

const struct step_param *step_param_find(const char *action_type,
					 const char *name)
{
	for (size_t i = 0; i < PARAM_COUNT; i++) {
		if (strcmp(params[i].name, name) == 0 &&
		    str_has_word(params[i].actions, action_type))
			return &params[i];
	}
	return NULL;
}

bool step_type_known(const char *action_type)
{
	for (size_t i = 0; i < PARAM_COUNT; i++) {
		if (str_has_word(params[i].actions, action_type))
			return true;
	}
	return false;
}

const struct step_param *step_param_at(size_t i)
{
	return i < PARAM_COUNT ? &params[i] : NULL;
}
