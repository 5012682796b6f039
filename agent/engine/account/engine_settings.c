/* The settings in the supervisor's job message, and paths made of them. */
#include "agent/engine/account/engine_settings.h"
#include "base/sockaddr.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

int engine_address(struct media_addr *ret, const char *text, uint16_t port)
{
	*ret = (struct media_addr){.len = 0};
	return sockaddr_parse(&ret->ss, &ret->len, text, port);
}

static int port_read(json_t *object, const char *name, uint16_t *ret)
{
	json_t *value = json_object_get(object, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > 65535)
		return -EINVAL;
	*ret = (uint16_t)json_integer_value(value);
	return 0;
}

static int text_read(json_t *object, const char *name, char *dst, size_t size)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? str_copy(dst, size, text) : 0;
}

static int srtp_library_read(json_t *object, enum media_srtp_library *ret)
{
	const char *name =
		json_string_value(json_object_get(object, "srtp_library"));

	if (!name || strcmp(name, "builtin") == 0)
		*ret = MEDIA_SRTP_LIBRARY_BUILTIN;
	else if (strcmp(name, "libsrtp2") == 0)
		*ret = MEDIA_SRTP_LIBRARY_LIBSRTP2;
	else
		return -EINVAL;
	return 0;
}

static int sandbox_read(json_t *object, bool *ret)
{
	const char *text =
		json_string_value(json_object_get(object, "sandbox"));

	*ret = !text || strcmp(text, "off") != 0;
	return *ret && text && strcmp(text, "on") != 0 ? -EINVAL : 0;
}

static int saturation_read(json_t *object, struct saturation_limits *ret)
{
	const struct {
		const char *name;
		uint32_t *value;
	} limits[] = {
		{"send_lateness_ms", &ret->send_lateness_ms},
		{"loop_lateness_ms", &ret->loop_lateness_ms},
		{"share_pct", &ret->share_pct},
		{"steal_pct", &ret->steal_pct},
		{"throttled", &ret->throttled},
		{"clock_step_ms", &ret->clock_step_ms},
	};
	json_t *all = json_object_get(object, "saturation");

	for (size_t i = 0; all && i < sizeof(limits) / sizeof(*limits); i++) {
		json_t *value = json_object_get(all, limits[i].name);

		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		    json_integer_value(value) > UINT32_MAX)
			return -EINVAL;
		*limits[i].value = (uint32_t)json_integer_value(value);
	}
	return 0;
}

static int calibration_read(json_t *object, struct engine_settings *ret)
{
	json_t *value = json_object_get(object, "calibration");

	ret->has_calibration = value != NULL;
	return value ? wire_calibration_decode(&ret->calibration, value, NULL)
		     : 0;
}

int engine_settings_read(struct engine_settings *s, json_t *object)
{
	const char *values =
		json_string_value(json_object_get(object, "codec_values"));
	const char *reason;

	if (values && emodel_declare(&s->declarations, values, &reason))
		return -EINVAL;
	if (text_read(object, "bind", s->bind, sizeof(s->bind)) ||
	    engine_address(&s->addr, s->bind, 0) ||
	    port_read(object, "sip_port", &s->sip_port) ||
	    port_read(object, "rtp_min", &s->rtp_min) ||
	    port_read(object, "rtp_max", &s->rtp_max) ||
	    s->rtp_max <= s->rtp_min ||
	    text_read(object, "prompt_dir", s->prompt_dir,
		      sizeof(s->prompt_dir)) ||
	    text_read(object, "prompt_cache", s->prompt_cache,
		      sizeof(s->prompt_cache)) ||
	    text_read(object, "artifact_dir", s->artifact_dir,
		      sizeof(s->artifact_dir)) ||
	    text_read(object, "default_prompt", s->default_prompt,
		      sizeof(s->default_prompt)) ||
	    text_read(object, "media_scheduling", s->media_scheduling,
		      sizeof(s->media_scheduling)) ||
	    srtp_library_read(object, &s->srtp_library) ||
	    sandbox_read(object, &s->sandbox) ||
	    text_read(object, "tls_certificate", s->tls_certificate,
		      sizeof(s->tls_certificate)) ||
	    text_read(object, "tls_key", s->tls_key, sizeof(s->tls_key)) ||
	    text_read(object, "tls_certificates", s->tls_certificates,
		      sizeof(s->tls_certificates)) ||
	    text_read(object, "name_servers", s->name_servers,
		      sizeof(s->name_servers)) ||
	    saturation_read(object, &s->saturation) ||
	    calibration_read(object, s))
		return -EINVAL;
	return 0;
}

int engine_prompt_path(const struct engine_settings *s, const char *name,
		       const char *sha256, char *dst, size_t size)
{
	const char *folder = sha256 ? s->prompt_cache : s->prompt_dir;

	if (!folder[0])
		return -ENOENT;
	return str_print(dst, size, "%s/%s", folder, sha256 ? sha256 : name) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

int engine_prompt(const struct engine_settings *s,
		  const struct wire_action *action, char *dst, size_t size)
{
	dst[0] = '\0';
	if (!action->prompt)
		return str_copy(dst, size, s->default_prompt);
	return engine_prompt_path(s, action->prompt, action->prompt_sha256, dst,
				  size);
}

int engine_expected(const struct engine_settings *s,
		    const struct wire_action *action, char *dst, size_t size)
{
	dst[0] = '\0';
	if (!action->expect_prompt)
		return 0;
	return engine_prompt_path(s, action->expect_prompt,
				  action->expect_prompt_sha256, dst, size);
}
