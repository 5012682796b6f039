#include "conf/agent_conf.h"

#include "base/key_pin.h"
#include "base/loopback.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define U16(member, low, high, def)                                          \
	{                                                                    \
		.name = #member, .type = CONF_U16,                           \
		.offset = offsetof(struct agent_conf, member), .min = (low), \
		.max = (high), .fallback = (def)                             \
	}
#define U32(member, low, high, def)                                          \
	{                                                                    \
		.name = #member, .type = CONF_U32,                           \
		.offset = offsetof(struct agent_conf, member), .min = (low), \
		.max = (high), .fallback = (def)                             \
	}
#define TEXT(member, def, check_h, what)                                 \
	{                                                                \
		.name = #member, .type = CONF_TEXT,                      \
		.offset = offsetof(struct agent_conf, member),           \
		.max = sizeof(((struct agent_conf *)0)->member),         \
		.fallback = (def), .check = (check_h), .allowed = (what) \
	}

#define NAME_CHARS "letters, digits, dot, dash and underscore"

/* The controller's limit for an agent's name. */
#define NAME_LEN 64

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || strchr(".-_", c);
}

static const char *check_name(const char *text)
{
	if (strlen(text) > NAME_LEN)
		return "is longer than 64 characters";
	for (; *text; text++) {
		if (!is_name_char(*text))
			return "has other characters in it than a name has";
	}
	return NULL;
}

static const char *check_labels(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!is_name_char(*c) && !strchr(",=:", *c))
			return "has other characters in it than labels have";
	}
	return NULL;
}

static const char *check_bind(const char *text)
{
	if (strcmp(text, AGENT_BIND_AUTO) == 0)
		return NULL;
	if (strcmp(text, "0.0.0.0") == 0 || strcmp(text, "::") == 0)
		return "is no address of this host: SIP and SDP must name one";
	return conf_check_address(text);
}

static const char *check_servers(const char *text)
{
	return text[strspn(text, "0123456789abcdefABCDEF.:[], ")]
		       ? "has something else than addresses in it"
		       : NULL;
}

static const char *check_scheduling(const char *text)
{
	return strcmp(text, "auto") && strcmp(text, "realtime") &&
			       strcmp(text, "normal")
		       ? "is no such word"
		       : NULL;
}

static const char *check_srtp_library(const char *text)
{
	return strcmp(text, "builtin") && strcmp(text, "libsrtp2")
		       ? "is no such library"
		       : NULL;
}

int64_t agent_conf_calibrate_s(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	int64_t number = 0;

	if (strcmp(text, "no") == 0)
		return -1;
	if (strcmp(text, "yes") == 0)
		return 0;
	if (digits < 1 || digits > 4 ||
	    (strcmp(text + digits, "h") && strcmp(text + digits, "d")))
		return -EINVAL;
	for (size_t i = 0; i < digits; i++)
		number = 10 * number + (text[i] - '0');
	number *= text[digits] == 'h' ? 3600 : 86400;
	return number ? number : -EINVAL;
}

static const char *check_calibrate(const char *text)
{
	return agent_conf_calibrate_s(text) == -EINVAL ? "is none of these"
						       : NULL;
}

static const char *check_sandbox(const char *text)
{
	return strcmp(text, "on") && strcmp(text, "off") ? "is no such word"
							 : NULL;
}

const char *agent_conf_check_fingerprint(const char *text)
{
	return text[0] && strcmp(text, AGENT_FINGERPRINT_NONE) != 0 &&
			       !key_pin_valid(text)
		       ? "is no fingerprint"
		       : NULL;
}

static const struct conf_key keys[] = {
	TEXT(controller, "http://127.0.0.1:8080", conf_check_url,
	     "a URL such as https://offhook.example.net"),
	TEXT(name, "", check_name, NAME_CHARS ", or nothing"),
	TEXT(join_token, "", NULL, NULL),
	TEXT(join_token_file, "", NULL, NULL),
	TEXT(further_join_tokens, "", NULL, NULL),
	TEXT(ca_file, "", NULL, NULL),
	TEXT(controller_fingerprint, "", agent_conf_check_fingerprint,
	     "sha256// and 44 characters, as `offhook-controller fingerprint` "
	     "prints it, none, or nothing"),
	TEXT(controller_fingerprint_file, "", NULL, NULL),
	TEXT(certificate_file, "", NULL, NULL),
	TEXT(key_file, "", NULL, NULL),
	{.name = "plain_http",
	 .type = CONF_FLAG,
	 .offset = offsetof(struct agent_conf, plain_http),
	 .fallback = "false"},
	TEXT(labels, "", check_labels, NAME_CHARS ", = and :, with commas"),
	TEXT(state_dir, "/var/lib/offhook-agent", conf_check_filled,
	     "a directory"),
	{.name = "spool_limit",
	 .type = CONF_BYTES,
	 .offset = offsetof(struct agent_conf, spool_limit),
	 .min = 65536,
	 .max = UINT64_C(1) << 40,
	 .fallback = "256M"},
	U32(capacity, 1, 64, "4"),
	U32(engines, 0, 8, "0"),
	TEXT(bind, "127.0.0.1", check_bind,
	     "a literal address of this host, or auto"),
	U16(sip_port, 0, 65535, "0"),
	TEXT(sip_tls_certificate, "", NULL, NULL),
	TEXT(sip_tls_key, "", NULL, NULL),
	TEXT(sip_tls_certificates, "/etc/offhook/certificates",
	     conf_check_filled, "a directory"),
	TEXT(name_servers, "", check_servers,
	     "literal addresses, each with :PORT or not, with commas"),
	U16(rtp_min, 1024, 65534, "20000"),
	U16(rtp_max, 1025, 65535, "29999"),
	TEXT(media_scheduling, "auto", check_scheduling,
	     "auto, realtime or normal"),
	TEXT(srtp_library, "builtin", check_srtp_library,
	     "builtin or libsrtp2"),
	U32(saturation_send_lateness, 0, 10000, "20"),
	U32(saturation_loop_lateness, 0, 10000, "100"),
	U32(saturation_share, 1, 100, "1"),
	U32(saturation_steal, 0, 100, "0"),
	U32(saturation_throttled, 0, 1000000, "0"),
	U32(saturation_clock_step, 0, 1000000, "0"),
	TEXT(calibrate, "no", check_calibrate,
	     "no, yes, or an age such as 12h or 30d, of up to 4 digits"),
	TEXT(sandbox, "on", check_sandbox, "on or off"),
	TEXT(prompt_dir, "/usr/share/offhook/prompts", conf_check_filled,
	     "a directory"),
	TEXT(default_prompt, "", NULL, NULL),
	TEXT(codec_values, "", NULL, NULL),
	TEXT(engine_program, "", NULL, NULL),
	U32(stop_s, 0, 86400, "60"),
	U32(cancel_s, 1, 600, "30"),
	{.name = "log_level",
	 .type = CONF_LEVEL,
	 .offset = offsetof(struct agent_conf, log_level),
	 .fallback = "info"},
};

static const char *check_controller(const struct agent_conf *c,
				    const char **ret_key)
{
	if (loopback_url_exposed(c->controller) && !c->plain_http) {
		*ret_key = "controller";
		return "the join token and the credentials would be sent over "
		       "plain HTTP to another host; allowed is https://, or "
		       "plain_http = true";
	}
	if (c->controller_fingerprint[0] && c->controller_fingerprint_file[0]) {
		*ret_key = "controller_fingerprint_file";
		return "controller_fingerprint is there too; allowed is one of "
		       "them";
	}
	if (c->key_file[0] && !c->certificate_file[0]) {
		*ret_key = "key_file";
		return "is of use with certificate_file only";
	}
	if (c->certificate_file[0] &&
	    strncasecmp(c->controller, "https://", 8) != 0) {
		*ret_key = "certificate_file";
		return "is shown over TLS only; allowed is a controller with "
		       "https://";
	}
	return NULL;
}

static const char *check(const void *settings, const char **ret_key)
{
	const struct agent_conf *c = settings;
	const char *wrong = check_controller(c, ret_key);

	if (wrong)
		return wrong;
	if (c->rtp_max <= c->rtp_min) {
		*ret_key = "rtp_max";
		return "the range is empty: a call takes a port for RTP and "
		       "the next one for RTCP; allowed is more than rtp_min";
	}
	if (c->sip_port && c->capacity > 1) {
		*ret_key = "sip_port";
		return "several jobs cannot share one SIP port; allowed is 0, "
		       "or capacity = 1";
	}
	if (c->sip_tls_key[0] && !c->sip_tls_certificate[0]) {
		*ret_key = "sip_tls_key";
		return "is of use with sip_tls_certificate only";
	}
	if (c->join_token[0] && c->join_token_file[0]) {
		*ret_key = "join_token_file";
		return "join_token is there too; allowed is one of them";
	}
	return NULL;
}

const struct conf_schema agent_conf_schema = {
	.keys = keys,
	.key_count = sizeof(keys) / sizeof(*keys),
	.check = check,
};

int agent_conf_load(struct agent_conf *ret, const char *path,
		    struct conf_error *error)
{
	return conf_load(ret, path, &agent_conf_schema, error);
}
