#include "control/cli/call/options.h"

#include "base/str.h"
#include "control/cli/call/option_use.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* As of the parameter session_timer: a refresh is sent after half the interval
 * (RFC 4028 section 10), in whole seconds. */
#define SESSION_TIMER_S_MIN 2
#define SESSION_TIMER_S_MAX 86400

enum option_code {
	OPTION_USER = 256,
	OPTION_AUTH_USER,
	OPTION_PASSWORD,
	OPTION_CALLER_ID,
	OPTION_TARGET,
	OPTION_DOMAIN,
	OPTION_TRANSPORT,
	OPTION_TLS_VERIFY,
	OPTION_TLS_CA,
	OPTION_TLS_NAME,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
	OPTION_EXPIRES,
	OPTION_DURATION,
	OPTION_CODEC,
	OPTION_ENCRYPTION,
	OPTION_NAT,
	OPTION_ICE_LITE,
	OPTION_RTCP_MUX,
	OPTION_NO_RTCP_MUX,
	OPTION_STUN_SERVER,
	OPTION_TURN_SERVER,
	OPTION_TURN_TRANSPORT,
	OPTION_TURN_INSECURE,
	OPTION_TURN_USER,
	OPTION_TURN_PASSWORD,
	OPTION_SRTP_SUITE,
	OPTION_SRTP_LIBRARY,
	OPTION_ACTIONS,
	OPTION_BIND,
	OPTION_PROMPT,
	OPTION_EXPECT_PROMPT,
	OPTION_RECORD,
	OPTION_RTP_CAPTURE,
	OPTION_PTIME,
	OPTION_DTMF_MODE,
	OPTION_SIP_PORT,
	OPTION_RTP_PORTS,
	OPTION_100REL,
	OPTION_MEDIA_PATH,
	OPTION_SESSION_TIMER,
	OPTION_SESSION_REFRESHER,
	OPTION_CALLS,
	OPTION_REGISTER,
	OPTION_AUDIO_CHECKS,
	OPTION_AUDIO_MARKER,
	OPTION_OPUS_FMTP,
	OPTION_SILENCE_SUPPRESSION,
	OPTION_JSON,
	OPTION_VERBOSE,
	OPTION_TRACE,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{"user", required_argument, NULL, OPTION_USER},
	{"auth-user", required_argument, NULL, OPTION_AUTH_USER},
	{"password", required_argument, NULL, OPTION_PASSWORD},
	{"caller-id", required_argument, NULL, OPTION_CALLER_ID},
	{"target", required_argument, NULL, OPTION_TARGET},
	{"registrar", required_argument, NULL, OPTION_TARGET},
	{"domain", required_argument, NULL, OPTION_DOMAIN},
	{"transport", required_argument, NULL, OPTION_TRANSPORT},
	{"tls-verify", required_argument, NULL, OPTION_TLS_VERIFY},
	{"tls-ca", required_argument, NULL, OPTION_TLS_CA},
	{"tls-name", required_argument, NULL, OPTION_TLS_NAME},
	{"tls-cert", required_argument, NULL, OPTION_TLS_CERT},
	{"tls-key", required_argument, NULL, OPTION_TLS_KEY},
	{"expires", required_argument, NULL, OPTION_EXPIRES},
	{"duration", required_argument, NULL, OPTION_DURATION},
	{"codec", required_argument, NULL, OPTION_CODEC},
	{"encryption", required_argument, NULL, OPTION_ENCRYPTION},
	{"nat", required_argument, NULL, OPTION_NAT},
	{"ice-lite", no_argument, NULL, OPTION_ICE_LITE},
	{"rtcp-mux", no_argument, NULL, OPTION_RTCP_MUX},
	{"no-rtcp-mux", no_argument, NULL, OPTION_NO_RTCP_MUX},
	{"stun-server", required_argument, NULL, OPTION_STUN_SERVER},
	{"turn-server", required_argument, NULL, OPTION_TURN_SERVER},
	{"turn-transport", required_argument, NULL, OPTION_TURN_TRANSPORT},
	{"turn-insecure", no_argument, NULL, OPTION_TURN_INSECURE},
	{"turn-user", required_argument, NULL, OPTION_TURN_USER},
	{"turn-password", required_argument, NULL, OPTION_TURN_PASSWORD},
	{"srtp-suite", required_argument, NULL, OPTION_SRTP_SUITE},
	{"srtp-library", required_argument, NULL, OPTION_SRTP_LIBRARY},
	{"media-path", required_argument, NULL, OPTION_MEDIA_PATH},
	{"actions", required_argument, NULL, OPTION_ACTIONS},
	{"bind", required_argument, NULL, OPTION_BIND},
	{"prompt", required_argument, NULL, OPTION_PROMPT},
	{"expect-prompt", required_argument, NULL, OPTION_EXPECT_PROMPT},
	{"record", required_argument, NULL, OPTION_RECORD},
	{"rtp-capture", required_argument, NULL, OPTION_RTP_CAPTURE},
	{"ptime", required_argument, NULL, OPTION_PTIME},
	{"dtmf-mode", required_argument, NULL, OPTION_DTMF_MODE},
	{"sip-port", required_argument, NULL, OPTION_SIP_PORT},
	{"rtp-ports", required_argument, NULL, OPTION_RTP_PORTS},
	{"100rel", required_argument, NULL, OPTION_100REL},
	{"session-timer", required_argument, NULL, OPTION_SESSION_TIMER},
	{"session-refresher", required_argument, NULL,
	 OPTION_SESSION_REFRESHER},
	{"calls", required_argument, NULL, OPTION_CALLS},
	{"register", no_argument, NULL, OPTION_REGISTER},
	{"audio-checks", no_argument, NULL, OPTION_AUDIO_CHECKS},
	{"audio-marker", no_argument, NULL, OPTION_AUDIO_MARKER},
	{"opus-fmtp", required_argument, NULL, OPTION_OPUS_FMTP},
	{"silence-suppression", no_argument, NULL, OPTION_SILENCE_SUPPRESSION},
	{"json", no_argument, NULL, OPTION_JSON},
	{"verbose", no_argument, NULL, OPTION_VERBOSE},
	{"trace", no_argument, NULL, OPTION_TRACE},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

void cli_usage_hint(void)
{
	fputs("Usage: `offhook help` lists the commands, `offhook help call` "
	      "options\n",
	      stderr);
}

__attribute__((format(printf, 1, 2))) static int complain(const char *fmt, ...)
{
	va_list args;

	fputs("offhook: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\n", stderr);
	cli_usage_hint();
	return -EINVAL;
}

static int port_read(const char *text, uint16_t *ret)
{
	uint64_t value;

	if (str_to_u64(text, 65535, &value))
		return complain("%s is no port", text);
	*ret = (uint16_t)value;
	return 0;
}

/** Parse HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. */
static int host_read(struct cli_options *o, const char *text)
{
	const char *colon = strrchr(text, ':');
	const char *end = text + strlen(text);
	const char *start = text;

	if (text[0] == '[') {
		start = text + 1;
		end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return complain("%s is no host", text);
		colon = end[1] ? end + 1 : NULL;
	} else if (colon && colon == strchr(text, ':')) {
		end = colon;
	} else {
		colon = NULL; /* an IPv6 literal without brackets */
	}
	if (end == start || (size_t)(end - start) >= sizeof(o->host))
		return complain("%s is no host", text);
	memcpy(o->host, start, (size_t)(end - start));
	o->host[end - start] = '\0';
	return colon ? port_read(colon + 1, &o->port) : 0;
}

/** Read target and transport from "sip:user@host:port;transport=tcp". */
static int uri_read(struct cli_options *o)
{
	char text[CLI_HOST_BYTES];
	const char *at;
	const char *parameters;
	size_t len;

	if (!o->host[0] && strncasecmp(o->uri, "sips:", 5) == 0)
		return complain("%s: give sip: and --transport tls", o->uri);
	if (strncasecmp(o->uri, "sip:", 4) != 0)
		return o->host[0] ? 0 : complain("%s needs a --target", o->uri);
	if (o->uri[4] == '@')
		return complain("%s names no user", o->uri);
	parameters = strchr(o->uri, ';');
	if (!o->transport && parameters &&
	    strcasestr(parameters, ";transport=tcp"))
		o->transport = "tcp";
	if (!o->transport && parameters &&
	    strcasestr(parameters, ";transport=tls"))
		o->transport = "tls";
	if (o->host[0])
		return 0;
	at = strchr(o->uri, '@');
	at = at ? at + 1 : o->uri + 4;
	len = strcspn(at, ";?>");
	if (len == 0 || len >= sizeof(text))
		return complain("%s names no host", o->uri);
	memcpy(text, at, len);
	text[len] = '\0';
	return host_read(o, text);
}

static int rtp_ports_read(struct cli_options *o, const char *text)
{
	char copy[16];
	char *dash;

	if (str_copy(copy, sizeof(copy), text) || !(dash = strchr(copy, '-')))
		return complain("%s is no range of ports", text);
	*dash = '\0';
	if (port_read(copy, &o->rtp_min) || port_read(dash + 1, &o->rtp_max))
		return -EINVAL;
	if (!o->rtp_min || o->rtp_max <= o->rtp_min)
		return complain("%s is no range of ports", text);
	/* RFC 3550 section 11: RTP on an even port, RTCP on the next one */
	if (o->rtp_max < (o->rtp_min + 1) / 2 * 2 + 1)
		return complain("%s has no even port with the next one", text);
	return 0;
}

static int text_option(char *dst, const char *name)
{
	if (str_copy(dst, CLI_HOST_BYTES, optarg))
		return complain("%s is longer than %d bytes", name,
				CLI_HOST_BYTES - 1);
	return 0;
}

static int value_option(struct cli_options *o, int code)
{
	struct in6_addr address;
	uint64_t count;

	switch (code) {
	case OPTION_USER:
		return text_option(o->user, "--user");
	case OPTION_PASSWORD:
		if (text_option(o->password, "--password"))
			return -EINVAL;
		o->password_given = true;
		/* ps(1) shows the arguments to everybody. */
		memset(optarg, '*', strlen(optarg));
		return 0;
	case OPTION_TURN_PASSWORD:
		if (text_option(o->turn_password, "--turn-password"))
			return -EINVAL;
		o->turn_password_given = true;
		memset(optarg, '*', strlen(optarg));
		return 0;
	case OPTION_TARGET:
		return host_read(o, optarg);
	case OPTION_BIND:
		if (inet_pton(AF_INET, optarg, &address) != 1 &&
		    inet_pton(AF_INET6, optarg, &address) != 1)
			return complain("--bind %s is no IPv4 or IPv6 address",
					optarg);
		o->bind = optarg;
		return 0;
	case OPTION_TLS_VERIFY:
		if (strcmp(optarg, "yes") != 0 && strcmp(optarg, "no") != 0)
			return complain("--tls-verify is yes or no");
		o->tls_unverified = optarg[0] == 'n';
		return 0;
	case OPTION_EXPIRES:
		if (str_to_u64(optarg, 86400, &count) || count == 0)
			return complain("--expires is 1 to 86400 seconds");
		o->expires_s = (uint32_t)count;
		return 0;
	case OPTION_CODEC:
		if (o->codec_count == CLI_CODECS_MAX)
			return complain("too many --codec");
		o->codecs[o->codec_count++] = optarg;
		return 0;
	case OPTION_SRTP_SUITE:
		if (o->srtp_suite_count == CLI_SRTP_SUITES_MAX)
			return complain("too many --srtp-suite");
		o->srtp_suites[o->srtp_suite_count++] = optarg;
		return 0;
	case OPTION_SRTP_LIBRARY:
		if (strcmp(optarg, "builtin") != 0 &&
		    strcmp(optarg, "libsrtp2") != 0)
			return complain("--srtp-library is builtin or "
					"libsrtp2");
		o->srtp_library = optarg;
		return 0;
	case OPTION_SIP_PORT:
		return port_read(optarg, &o->sip_port);
	case OPTION_RTP_PORTS:
		return rtp_ports_read(o, optarg);
	case OPTION_SESSION_TIMER:
		if (str_to_u64(optarg, SESSION_TIMER_S_MAX, &count) ||
		    count < SESSION_TIMER_S_MIN)
			return complain("--session-timer is %d to %d seconds",
					SESSION_TIMER_S_MIN,
					SESSION_TIMER_S_MAX);
		o->session_timer_s = (uint32_t)count;
		return 0;
	case OPTION_CALLS:
		if (str_to_u64(optarg, 100000, &count) || count == 0)
			return complain("--calls is a number from 1 to 100000");
		o->calls = (unsigned)count;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Options whose value is one of three words. */
static const struct {
	int code;
	const char *name;
	const char *words[3];
	size_t at; /* of a const char * in struct cli_options */
} choices[] = {
	{OPTION_TRANSPORT,
	 "--transport",
	 {"udp", "tcp", "tls"},
	 offsetof(struct cli_options, transport)},
	{OPTION_100REL,
	 "--100rel",
	 {"none", "supported", "required"},
	 offsetof(struct cli_options, reliable)},
	{OPTION_SESSION_REFRESHER,
	 "--session-refresher",
	 {"any", "uac", "uas"},
	 offsetof(struct cli_options, session_refresher)},
};

static int choice_option(struct cli_options *o, size_t choice)
{
	const char *const *words = choices[choice].words;

	if (strcmp(optarg, words[0]) != 0 && strcmp(optarg, words[1]) != 0 &&
	    strcmp(optarg, words[2]) != 0)
		return complain("%s is %s, %s or %s", choices[choice].name,
				words[0], words[1], words[2]);
	*(const char **)((char *)o + choices[choice].at) = optarg;
	return 0;
}

/* Options whose value is kept as the text that was given. */
static const struct {
	int code;
	size_t at; /* of a const char * in struct cli_options */
} texts[] = {
	{OPTION_AUTH_USER, offsetof(struct cli_options, auth_user)},
	{OPTION_CALLER_ID, offsetof(struct cli_options, caller_id)},
	{OPTION_DOMAIN, offsetof(struct cli_options, domain)},
	{OPTION_TLS_CA, offsetof(struct cli_options, tls_ca)},
	{OPTION_TLS_NAME, offsetof(struct cli_options, tls_name)},
	{OPTION_TLS_CERT, offsetof(struct cli_options, tls_cert)},
	{OPTION_TLS_KEY, offsetof(struct cli_options, tls_key)},
	{OPTION_DURATION, offsetof(struct cli_options, duration)},
	{OPTION_ENCRYPTION, offsetof(struct cli_options, encryption)},
	{OPTION_NAT, offsetof(struct cli_options, nat)},
	{OPTION_MEDIA_PATH, offsetof(struct cli_options, media_path)},
	{OPTION_STUN_SERVER, offsetof(struct cli_options, stun_server)},
	{OPTION_TURN_SERVER, offsetof(struct cli_options, turn_server)},
	{OPTION_TURN_TRANSPORT, offsetof(struct cli_options, turn_transport)},
	{OPTION_TURN_USER, offsetof(struct cli_options, turn_user)},
	{OPTION_ACTIONS, offsetof(struct cli_options, actions)},
	{OPTION_PROMPT, offsetof(struct cli_options, prompt)},
	{OPTION_EXPECT_PROMPT, offsetof(struct cli_options, expect_prompt)},
	{OPTION_RECORD, offsetof(struct cli_options, record)},
	{OPTION_RTP_CAPTURE, offsetof(struct cli_options, rtp_capture)},
	{OPTION_PTIME, offsetof(struct cli_options, ptime)},
	{OPTION_DTMF_MODE, offsetof(struct cli_options, dtmf_mode)},
	{OPTION_OPUS_FMTP, offsetof(struct cli_options, opus_fmtp)},
};

static const struct {
	int code;
	size_t at; /* of a bool */
} switches[] = {
	{OPTION_ICE_LITE, offsetof(struct cli_options, ice_lite)},
	{OPTION_RTCP_MUX, offsetof(struct cli_options, rtcp_mux)},
	{OPTION_NO_RTCP_MUX, offsetof(struct cli_options, no_rtcp_mux)},
	{OPTION_TURN_INSECURE, offsetof(struct cli_options, turn_insecure)},
	{OPTION_REGISTER, offsetof(struct cli_options, registers)},
	{OPTION_AUDIO_CHECKS, offsetof(struct cli_options, audio_checks)},
	{OPTION_AUDIO_MARKER, offsetof(struct cli_options, audio_marker)},
	{OPTION_SILENCE_SUPPRESSION,
	 offsetof(struct cli_options, silence_suppression)},
	{OPTION_JSON, offsetof(struct cli_options, json)},
	{OPTION_TRACE, offsetof(struct cli_options, trace)},
	{OPTION_VERBOSE, offsetof(struct cli_options, verbose)},
};

static int option(struct cli_options *o, int code)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (choices[i].code == code)
			return choice_option(o, i);
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].code == code) {
			*(const char **)((char *)o + texts[i].at) = optarg;
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		if (switches[i].code == code) {
			*(bool *)((char *)o + switches[i].at) = true;
			return 0;
		}
	}
	if (code == OPTION_VERSION) {
		o->command = CLI_VERSION;
		return 0;
	}
	return value_option(o, code);
}

static int command_read(struct cli_options *o, int argc, char **argv)
{
	const char *option, *needs;

	if (o->command == CLI_VERSION)
		return 0;
	if (optind == argc)
		return complain("a command is missing, as call, answer, tap");
	if (strcmp(argv[optind], "answer") == 0) {
		o->command = CLI_ANSWER;
		if (optind + 1 != argc)
			return complain("answer takes no argument");
		if (!o->host[0] && !o->bind)
			return complain("answer needs --registrar or --bind");
		if (o->host[0])
			o->registers = true;
	} else if (strcmp(argv[optind], "register") == 0) {
		o->command = CLI_REGISTER;
		o->registers = true;
		if (optind + 1 != argc)
			return complain("register takes no argument");
		if (!o->host[0])
			return complain("register needs --registrar");
	} else if (strcmp(argv[optind], "call") == 0) {
		o->command = CLI_CALL;
		if (optind + 2 != argc)
			return complain("call takes one URI");
		o->uri = argv[optind + 1];
		if (uri_read(o))
			return -EINVAL;
	} else {
		return complain("there is no command %s", argv[optind]);
	}
	if (!o->transport)
		o->transport = "udp";
	/* an unregistered user agent is reached at the default port (RFC 3261
	 * section 19.1.2) */
	if (o->command == CLI_ANSWER && !o->host[0] && !o->sip_port)
		o->sip_port = strcmp(o->transport, "tls") == 0 ? 5061 : 5060;
	if (o->registers && !o->user[0])
		return complain("registering needs --user");
	/* A registered user agent needs no certificate: calls come over the
	 * connection that it opened (RFC 5626). */
	if (o->command == CLI_ANSWER && !o->registers && !o->tls_cert &&
	    strcmp(o->transport, "tls") == 0)
		return complain("--transport tls needs --tls-cert: nobody can "
				"connect to who has no certificate");
	if (o->turn_user && !o->turn_password[0])
		return complain("--turn-user needs --turn-password, or "
				"OFFHOOK_TURN_PASSWORD in the environment");
	option = option_without_effect(o, &needs);
	return option ? complain("%s is of use %s only", option, needs) : 0;
}

int cli_options_read(struct cli_options *ret, int argc, char **argv)
{
	struct cli_options o = {
		.command = CLI_CALL,
		.rtp_min = 20000,
		.rtp_max = 29999,
	};
	const char *password = getenv("OFFHOOK_PASSWORD");
	const char *turn = getenv("OFFHOOK_TURN_PASSWORD");
	int code;

	if (password && str_copy(o.password, sizeof(o.password), password))
		return complain("OFFHOOK_PASSWORD is too long");
	if (turn && str_copy(o.turn_password, sizeof(o.turn_password), turn))
		return complain("OFFHOOK_TURN_PASSWORD is too long");
	while ((code = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (code == '?')
			cli_usage_hint();
		if (code == '?' || option(&o, code)) {
			explicit_bzero(&o, sizeof(o));
			return -EINVAL;
		}
	}
	if (command_read(&o, argc, argv)) {
		explicit_bzero(&o, sizeof(o));
		return -EINVAL;
	}
	*ret = o;
	explicit_bzero(&o, sizeof(o));
	return 0;
}
