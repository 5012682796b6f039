#include "control/cli/call/option_use.h"

#include <string.h>
#include <strings.h>

struct use {
	const char *option;
	bool given;
	bool of_use;
	const char *needs; /* the option that makes it useful: "with --user" */
};

static const char *first_without(const struct use *uses, size_t count,
				 const char **ret_needs)
{
	for (size_t i = 0; i < count; i++) {
		if (!uses[i].given || uses[i].of_use)
			continue;
		*ret_needs = uses[i].needs;
		return uses[i].option;
	}
	return NULL;
}

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

/* True if Opus is offered. Without --codec the offer is PCMU and PCMA. */
static bool has_opus(const struct cli_options *o)
{
	for (size_t i = 0; i < o->codec_count; i++) {
		if (strcasecmp(o->codecs[i], "opus") == 0)
			return true;
	}
	return false;
}

/* True if a codec is offered for which SDP can signal silence suppression
 * (docs/internals/media.md, Silence). */
static bool has_silence(const struct cli_options *o)
{
	for (size_t i = 0; i < o->codec_count; i++) {
		if (strncasecmp(o->codecs[i], "L16", 3) != 0 ||
		    strcasecmp(o->codecs[i], "L16/8000") == 0)
			return true;
	}
	return o->codec_count == 0;
}

static const char *account(const struct cli_options *o, const char **ret_needs)
{
	bool user = o->user[0];
	bool tls = is(o->transport, "tls");
	const struct use uses[] = {
		{"--auth-user", o->auth_user, user, "with --user"},
		{"--password", o->password_given, user, "with --user"},
		{"--caller-id", o->caller_id, user, "with --user"},
		{"--domain", o->domain, user, "with --user"},
		{"--expires", o->expires_s, o->registers, "with --register"},
		{"--tls-verify", o->tls_unverified, tls,
		 "with --transport tls"},
		{"--tls-ca", o->tls_ca, tls, "with --transport tls"},
		{"--tls-name", o->tls_name, tls, "with --transport tls"},
		{"--tls-cert", o->tls_cert, tls, "with --transport tls"},
		{"--tls-key", o->tls_key, o->tls_cert, "with --tls-cert"},
		{"--calls", o->calls, o->command == CLI_ANSWER,
		 "with the command answer"},
	};

	return first_without(uses, sizeof(uses) / sizeof(uses[0]), ret_needs);
}

static const char *audio(const struct cli_options *o, const char **ret_needs)
{
	static const char needs[] = "with a call";
	bool call = o->command != CLI_REGISTER;
	const struct use uses[] = {
		{"--duration", o->duration, call, needs},
		{"--100rel", o->reliable, call, needs},
		{"--session-timer", o->session_timer_s, call, needs},
		{"--session-refresher", o->session_refresher, call, needs},
		{"--session-refresher", o->session_refresher,
		 o->session_timer_s, "with --session-timer"},
		{"--codec", o->codec_count, call, needs},
		{"--encryption", o->encryption, call, needs},
		{"--rtcp-mux", o->rtcp_mux, call, needs},
		{"--no-rtcp-mux", o->no_rtcp_mux, call, needs},
		{"--rtcp-mux", o->rtcp_mux, !o->no_rtcp_mux,
		 "without --no-rtcp-mux"},
		{"--nat", o->nat, call, needs},
		{"--media-path", o->media_path, call, needs},
		{"--prompt", o->prompt, call, needs},
		{"--actions", o->actions, call, needs},
		{"--dtmf-mode", o->dtmf_mode, call, needs},
		{"--ptime", o->ptime, call, needs},
		{"--audio-checks", o->audio_checks, call, needs},
		{"--audio-marker", o->audio_marker, call, needs},
		{"--opus-fmtp", o->opus_fmtp, call, needs},
		{"--silence-suppression", o->silence_suppression, call, needs},
		{"--expect-prompt", o->expect_prompt, call, needs},
		{"--record", o->record, call, needs},
		{"--rtp-capture", o->rtp_capture, call, needs},
		{"--rtp-capture", o->rtp_capture,
		 !o->record || !o->rtp_capture || is(o->record, o->rtp_capture),
		 "with the folder of --record"},
		{"--opus-fmtp", o->opus_fmtp, has_opus(o), "with --codec opus"},
		{"--silence-suppression", o->silence_suppression,
		 has_silence(o),
		 "with a --codec other than L16/16000 and L16/44100"},
		{"--prompt", o->prompt, !o->audio_marker,
		 "without --audio-marker"},
		{"--srtp-suite", o->srtp_suite_count,
		 o->encryption && !is(o->encryption, "none"),
		 "with --encryption"},
		{"--srtp-library", o->srtp_library,
		 o->encryption && !is(o->encryption, "none"),
		 "with --encryption"},
	};

	return first_without(uses, sizeof(uses) / sizeof(uses[0]), ret_needs);
}

static const char *nat(const struct cli_options *o, const char **ret_needs)
{
	static const char server[] = "with --turn-server";
	bool ice = is(o->nat, "ice");
	const struct use uses[] = {
		{"--ice-lite", o->ice_lite, ice, "with --nat ice"},
		{"--stun-server", o->stun_server, ice || is(o->nat, "stun"),
		 "with --nat stun or ice"},
		{"--turn-server", o->turn_server, ice || is(o->nat, "turn"),
		 "with --nat turn or ice"},
		{"--stun-server", o->stun_server, !o->ice_lite,
		 "without --ice-lite"},
		{"--turn-server", o->turn_server, !o->ice_lite,
		 "without --ice-lite"},
		{"--turn-transport", o->turn_transport, o->turn_server, server},
		{"--turn-user", o->turn_user, o->turn_server, server},
		{"--turn-password", o->turn_password_given, o->turn_user,
		 "with --turn-user"},
		{"--turn-insecure", o->turn_insecure,
		 is(o->turn_transport, "tls"), "with --turn-transport tls"},
	};

	return first_without(uses, sizeof(uses) / sizeof(uses[0]), ret_needs);
}

const char *option_without_effect(const struct cli_options *o,
				  const char **ret_needs)
{
	const char *option = account(o, ret_needs);

	if (!option)
		option = audio(o, ret_needs);
	return option ? option : nat(o, ret_needs);
}
