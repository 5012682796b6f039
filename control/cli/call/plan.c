#include "control/cli/call/plan.h"

#include "base/str.h"
#include "control/wire/job_decode.h"
#include "control/wire/job_limits.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_PORT   "5060"
#define ANYWHERE       "192.0.2.1" /* RFC 5737; by the default route */
#define MAX_DURATION_S 86400
#define ANSWER_FOREVER (7 * 86400)

/** Find the source address that the kernel selects for a destination. */
static int source_address(const struct addrinfo *to, char *dst, size_t size)
{
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	/* No packet is sent: this only looks up the route. */
	if (connect(fd, to->ai_addr, to->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)&local, &len))
		err = -errno;
	close(fd);
	if (err)
		return err;
	return getnameinfo((struct sockaddr *)&local, len, dst, (socklen_t)size,
			   NULL, 0, NI_NUMERICHOST)
		       ? -EINVAL
		       : 0;
}

static int bind_find(const struct cli_options *o, char *dst, size_t size,
		     char *reason)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct addrinfo *list = NULL;
	int err;

	if (o->bind)
		return str_copy(dst, size, o->bind);
	/* A domain may have SRV records only. The engine queries those, and
	 * reports if there are none. */
	if (getaddrinfo(o->host, DEFAULT_PORT, &hints, &list) &&
	    getaddrinfo(ANYWHERE, DEFAULT_PORT, &hints, &list)) {
		snprintf(reason, CLI_REASON_BYTES, "%s has no address",
			 o->host);
		return -EHOSTUNREACH;
	}
	err = source_address(list, dst, size);
	freeaddrinfo(list);
	if (err) {
		snprintf(reason, CLI_REASON_BYTES,
			 "no way to %s: %s (--bind ADDRESS chooses ours)",
			 o->host, strerror(-err));
		return -EHOSTUNREACH;
	}
	return 0;
}

/* The builders below pass NULL on. json_pack() and the last json_object_set()
 * report that an allocation failed. */

static void put_text(json_t *object, const char *name, const char *text)
{
	if (text && text[0])
		json_object_set_new(object, name, json_string(text));
}

static json_t *credentials(const struct cli_options *o)
{
	json_t *c = json_object();

	put_text(c, "username", o->user);
	put_text(c, "auth_username", o->auth_user);
	put_text(c, "password", o->password);
	put_text(c, "domain", o->domain);
	put_text(c, "display_name", o->caller_id);
	return json_pack("[o]", c);
}

static json_t *tls(const struct cli_options *o)
{
	json_t *t = json_pack("{s:b}", "verify", !o->tls_unverified);

	put_text(t, "server_name", o->tls_name);
	return t;
}

static json_t *target(const struct cli_options *o)
{
	json_t *t = json_pack("{s:[{s:s, s:i, s:s}]}", "hosts", "host", o->host,
			      "port", (int)o->port, "transport", o->transport);

	put_text(t, "domain", o->domain);
	if (strcmp(o->transport, "tls") == 0)
		json_object_set_new(t, "tls", tls(o));
	return t;
}

static json_t *action(const struct cli_options *o, const char *type)
{
	json_t *a = json_pack("{s:s}", "type", type);

	if (o->user[0])
		json_object_set_new(a, "credentials", credentials(o));
	if (o->host[0])
		json_object_set_new(a, "target", target(o));
	return a;
}

static void put_list(json_t *object, const char *name, const char *const *texts,
		     size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(texts[i]));
	if (count)
		json_object_set(object, name, list);
	json_decref(list);
}

/* The last component of a path. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static json_t *media_action(const struct cli_options *o)
{
	json_t *a = action(o, o->command == CLI_CALL ? "call" : "answer");

	put_list(a, "audio_codecs", o->codecs, o->codec_count);
	put_list(a, "srtp_suites", o->srtp_suites, o->srtp_suite_count);
	put_text(a, "media_encryption", o->encryption);
	put_text(a, "media_nat", o->nat);
	put_text(a, "media_path", o->media_path);
	put_text(a, "stun_server", o->stun_server);
	put_text(a, "turn_server", o->turn_server);
	put_text(a, "turn_transport", o->turn_transport);
	if (o->turn_insecure)
		json_object_set_new(a, "turn_verify", json_false());
	if (o->turn_user)
		json_object_set_new(a, "turn_credentials",
				    json_pack("[{s:s, s:s}]", "username",
					      o->turn_user, "password",
					      o->turn_password));
	if (o->ice_lite)
		json_object_set_new(a, "ice_lite", json_true());
	if (o->rtcp_mux)
		json_object_set_new(a, "rtcp_mux", json_true());
	else if (o->no_rtcp_mux)
		json_object_set_new(a, "rtcp_mux", json_false());
	put_text(a, "dial_destination", o->uri);
	put_text(a, "call_duration", o->duration);
	put_text(a, "prack", o->reliable);
	if (o->session_timer_s)
		json_object_set_new(a, "session_timer",
				    json_integer(o->session_timer_s));
	put_text(a, "session_refresher", o->session_refresher);
	put_text(a, "sipclient_actions", o->actions);
	put_text(a, "ptime", o->ptime);
	put_text(a, "dtmf_mode", o->dtmf_mode);
	if (o->expect_prompt)
		put_text(a, "expect_prompt", file_name(o->expect_prompt));
	if (o->record)
		put_text(a, "record", "media");
	if (o->rtp_capture)
		json_object_set_new(a, "rtp_capture", json_true());
	if (o->audio_checks)
		json_object_set_new(a, "audio_checks", json_true());
	if (o->audio_marker)
		json_object_set_new(a, "audio_marker", json_true());
	if (o->silence_suppression)
		json_object_set_new(a, "silence_suppression", json_true());
	put_text(a, "opus_fmtp", o->opus_fmtp);
	return a;
}

static json_t *register_action(const struct cli_options *o)
{
	json_t *a = action(o, "register");

	if (o->expires_s)
		json_object_set_new(a, "regexpire", json_integer(o->expires_s));
	return a;
}

static json_t *steps(const struct cli_options *o, unsigned *ret_steps)
{
	json_t *media;

	if (o->command == CLI_REGISTER) {
		*ret_steps = 2;
		return json_pack("[[o], [{s:s}]]", register_action(o), "type",
				 "unregister");
	}
	media = media_action(o);
	*ret_steps = 1;
	if (!o->registers)
		return json_pack("[[o]]", media);
	if (o->command == CLI_ANSWER)
		return json_pack("[[o, o]]", register_action(o), media);
	*ret_steps = 2;
	return json_pack("[[o], [o]]", register_action(o), media);
}

static json_t *spec(const struct cli_options *o, unsigned *ret_steps)
{
	char id[UUID_TEXT_BYTES];
	bool calls = o->command != CLI_ANSWER;

	uuid_make(id);
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:o}", "session_id",
			 id, "role", calls ? "caller" : "callee", "attempt", 1,
			 "interval_s", 10, "max_duration_s",
			 calls ? MAX_DURATION_S : ANSWER_FOREVER, "record",
			 o->trace ? "sip" : "none", "steps",
			 steps(o, ret_steps));
}

static json_t *engine(const struct cli_options *o, const char *bind)
{
	json_t *e = json_pack("{s:s, s:i, s:i, s:i}", "bind", bind, "sip_port",
			      (int)o->sip_port, "rtp_min", (int)o->rtp_min,
			      "rtp_max", (int)o->rtp_max);

	put_text(e, "srtp_library", o->srtp_library);
	put_text(e, "default_prompt", o->prompt);
	put_text(e, "artifact_dir", o->record ? o->record : o->rtp_capture);
	if (o->expect_prompt) {
		const char *name = file_name(o->expect_prompt);

		json_object_set_new(
			e, "prompt_dir",
			name == o->expect_prompt
				? json_string(".")
				: json_stringn(
					  o->expect_prompt,
					  (size_t)(name - o->expect_prompt)));
	}
	put_text(e, "tls_certificate", o->tls_cert);
	put_text(e, "tls_key", o->tls_key);
	return e;
}

/* Put the CA certificates of a file into every target. @return 0; -EINVAL,
 * reason written */
static int ca_add(json_t *job, const char *file, char *reason)
{
	char pem[WIRE_PEM_BYTES_MAX + 1];
	FILE *in = fopen(file, "re");
	size_t len = in ? fread(pem, 1, sizeof(pem), in) : 0;
	json_t *list, *one;
	size_t i, k;

	if (!in || ferror(in) || len == sizeof(pem)) {
		snprintf(reason, CLI_REASON_BYTES, "%s: %s", file,
			 len == sizeof(pem) ? "more than 64 KiB"
					    : strerror(errno));
		if (in)
			fclose(in);
		return -EINVAL;
	}
	fclose(in);
	json_array_foreach(json_object_get(job, "steps"), i, list)
	{
		json_array_foreach(list, k, one)
		{
			json_t *t = json_object_get(
				json_object_get(one, "target"), "tls");

			json_object_set_new(t, "ca", json_stringn(pem, len));
		}
	}
	return 0;
}

/* @return 0 no path was given, or it is accessible; -EINVAL, reason written */
static int access_check(const char *option, const char *path, int mode,
			char *reason)
{
	if (!path || access(path, mode) == 0)
		return 0;
	snprintf(reason, CLI_REASON_BYTES, "%s %s: %s", option, path,
		 strerror(errno));
	return -EINVAL;
}

static int files_check(const struct cli_options *o, char *reason)
{
	const struct {
		const char *option;
		const char *path;
		int mode;
	} files[] = {
		{"--prompt", o->prompt, R_OK},
		{"--expect-prompt", o->expect_prompt, R_OK},
		{"--record", o->record, W_OK | X_OK},
		{"--rtp-capture", o->rtp_capture, W_OK | X_OK},
		{"--tls-cert", o->tls_cert, R_OK},
		{"--tls-key", o->tls_key, R_OK},
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(files) / sizeof(files[0]); i++)
		err = access_check(files[i].option, files[i].path,
				   files[i].mode, reason);
	return err;
}

/* Replace the JSON pointer in a reason by the option: "/steps/0/0/ptime: must"
 * becomes "--ptime: must". */
static void option_name(char *reason)
{
	static const struct {
		const char *parameter;
		const char *option;
	} names[] = {
		{"audio_codecs", "--codec"},
		{"call_duration", "--duration"},
		{"credentials", "--user, --password"},
		{"dial_destination", "URI"},
		{"dtmf_mode", "--dtmf-mode"},
		{"media_encryption", "--encryption"},
		{"media_nat", "--nat"},
		{"media_path", "--media-path"},
		{"opus_fmtp", "--opus-fmtp"},
		{"prack", "--100rel"},
		{"ptime", "--ptime"},
		{"session_refresher", "--session-refresher"},
		{"session_timer", "--session-timer"},
		{"silence_suppression", "--silence-suppression"},
		{"sipclient_actions", "--actions"},
		{"srtp_suites", "--srtp-suite"},
		{"stun_server", "--stun-server"},
		{"target", "--target"},
		{"turn_credentials", "--turn-user, --turn-password"},
		{"turn_server", "--turn-server"},
		{"turn_transport", "--turn-transport"},
	};
	char copy[CLI_REASON_BYTES];
	int start = 0;
	size_t len;

	(void)str_copy(copy, sizeof(copy), reason);
	if (sscanf(copy, "/steps/%*u/%*u/%n", &start) < 0 || start == 0)
		return;
	len = strcspn(copy + start, "/:");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(copy + start, names[i].parameter, len) == 0 &&
		    !names[i].parameter[len])
			snprintf(reason, CLI_REASON_BYTES, "%s%s",
				 names[i].option, copy + start + len);
	}
}

int plan_build(json_t **ret, unsigned *ret_steps, const struct cli_options *o,
	       char reason[static CLI_REASON_BYTES])
{
	char bind[NI_MAXHOST];
	struct wire_job *job = NULL;
	json_t *s;
	json_t *message;
	int err;

	snprintf(reason, CLI_REASON_BYTES, "out of memory");
	if (files_check(o, reason))
		return -EINVAL;
	s = spec(o, ret_steps);
	if (!s)
		return -ENOMEM;
	err = o->tls_ca ? ca_add(s, o->tls_ca, reason) : 0;
	if (err) {
		json_decref(s);
		return err;
	}
	err = wire_job_decode(&job, s, reason);
	wire_job_free(job);
	if (err)
		option_name(reason);
	else
		err = bind_find(o, bind, sizeof(bind), reason);
	if (err) {
		json_decref(s);
		return err;
	}
	message = json_pack("{s:s, s:o, s:o}", "type", "job", "spec", s,
			    "engine", engine(o, bind));
	if (!message)
		return -ENOMEM;
	*ret = message;
	return 0;
}
