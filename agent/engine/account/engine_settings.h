/**
 * What the agent tells an engine with its job: addresses, ports, folders, and
 * the prompts that are found in them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_ACCOUNT_ENGINE_SETTINGS_H
#define OFFHOOK_AGENT_ENGINE_ACCOUNT_ENGINE_SETTINGS_H

#include "control/wire/calibration.h"
#include "control/wire/job.h"
#include "control/wire/share.h"
#include "media/media.h"

#include <jansson.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define ENGINE_PATH_BYTES 1024

/* Beyond these the load generator is saturated; 0: not judged. */
struct saturation_limits {
	uint32_t send_lateness_ms; /* of packets */
	uint32_t loop_lateness_ms; /* of the timers of the loop */
	uint32_t share_pct;        /* of packets and time that may be later */
	uint32_t steal_pct;
	uint32_t throttled; /* periods of control groups */
	uint32_t clock_step_ms;
};

struct engine_settings {
	char bind[INET6_ADDRSTRLEN];
	struct media_addr addr; /* of bind, port 0 */
	uint16_t sip_port;
	uint16_t rtp_min;
	uint16_t rtp_max;
	char prompt_dir[ENGINE_PATH_BYTES];
	char prompt_cache[ENGINE_PATH_BYTES];   /* by hash; "": none */
	char artifact_dir[ENGINE_PATH_BYTES];   /* "": none are wanted */
	char default_prompt[ENGINE_PATH_BYTES]; /* "": built-in tone */
	struct emodel_declarations declarations;
	char media_scheduling
		[16]; /* realtime, normal; else: if it is allowed */
	enum media_srtp_library srtp_library;
	/* PEM files of ours for TLS; "": none */
	char tls_certificate[ENGINE_PATH_BYTES];
	char tls_key[ENGINE_PATH_BYTES];
	char tls_certificates[ENGINE_PATH_BYTES]; /* a directory */
	char name_servers[ENGINE_PATH_BYTES];     /* "": those of the system */
	bool sandbox;                             /* agent/engine/sandbox.h */
	struct wire_share share;                  /* beside the settings */
	struct saturation_limits saturation;
	bool has_calibration;
	struct wire_calibration calibration; /* of this host */
};

/** Those of a job message. @return 0; -EINVAL */
int engine_settings_read(struct engine_settings *s, json_t *object);
/** An IPv4 or IPv6 address. @return 0; -EINVAL */
int engine_address(struct media_addr *ret, const char *text, uint16_t port);
/** A file of the agent's, or with a hash an upload. @return 0; -ENOENT;
 * -ENAMETOOLONG */
int engine_prompt_path(const struct engine_settings *s, const char *name,
		       const char *sha256, char *dst, size_t size);
/** Prompt of an action. @return 0 (dst "" for the built-in one); -errno */
int engine_prompt(const struct engine_settings *s,
		  const struct wire_action *action, char *dst, size_t size);
/** The prompt that should be heard. @return as engine_prompt(); "": none */
int engine_expected(const struct engine_settings *s,
		    const struct wire_action *action, char *dst, size_t size);

#endif
