/* Refuse members that have no effect beside the others: the test that would run
 * is not the one that its author meant. */
#include "control/wire/action_members.h"

#include <strings.h>

struct effect {
	bool given; /* to a value other than its default */
	bool works;
	const char *name;
	const char *remedy;
};

static int first_without(struct decoder *d, const struct effect *effects,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (effects[i].given && !effects[i].works)
			return decoder_refuse_member(d, effects[i].name,
						     "does nothing %s",
						     effects[i].remedy);
	}
	return 0;
}

/* True if Opus is offered. Without audio_codecs the offer is PCMU and PCMA. */
static bool has_opus(const struct wire_action *a)
{
	for (size_t i = 0; i < a->codec_count; i++) {
		if (strcasecmp(a->codecs[i], "opus") == 0)
			return true;
	}
	return false;
}

static int media_check(struct decoder *d, const struct wire_action *a)
{
	static const char server[] =
		"without turn_server: name that, or leave it out";
	bool ice = a->nat == WIRE_NAT_ICE;
	/* a server is accepted with every kind of NAT traversal, even if that
	 * kind does not use it */
	bool nat = a->nat != WIRE_NAT_NONE;
	const struct effect effects[] = {
		{a->srtp_suite_count > 0, a->encryption != WIRE_ENCRYPTION_NONE,
		 "srtp_suites",
		 "without media_encryption: set that to sdes, sdes-mandatory "
		 "or dtls"},
		{a->ice_lite, ice, "ice_lite",
		 "without ICE: set media_nat to ice"},
		{a->stun_server != NULL, nat, "stun_server",
		 "without media_nat: set that to stun or ice"},
		{a->turn_server != NULL, nat, "turn_server",
		 "without media_nat: set that to turn or ice"},
		{a->stun_server != NULL, !a->ice_lite, "stun_server",
		 "with ice_lite: a lite agent has host candidates only"},
		{a->turn_server != NULL, !a->ice_lite, "turn_server",
		 "with ice_lite: a lite agent has host candidates only"},
		{a->turn_transport != WIRE_UDP, a->turn_server != NULL,
		 "turn_transport", server},
		{a->turn_username || a->turn_password, a->turn_server != NULL,
		 "turn_credentials", server},
		{!a->turn_verify, a->turn_transport == WIRE_TLS, "turn_verify",
		 "unless turn_transport is tls"},
		{a->opus_fmtp != NULL, has_opus(a), "opus_fmtp",
		 "without Opus: name opus in audio_codecs"},
		{a->prompt != NULL, !a->audio_marker, "prompt",
		 "with audio_marker, which plays its tones instead: leave one "
		 "of them out"},
	};

	return first_without(d, effects, sizeof(effects) / sizeof(effects[0]));
}

static int call_check(struct decoder *d, const struct wire_action *a)
{
	static const char rings[] =
		"with ring_only: such a call is never answered";
	static const char asks[] = "without challenge: set that to 401 or 407";
	const struct wire_challenge *c = &a->challenge;
	bool answers = !a->ring_only;
	bool challenges = c->code != 0;
	const struct effect effects[] = {
		{a->call_options.refresher != WIRE_REFRESHER_ANY,
		 a->call_options.session_timer_s > 0, "session_refresher",
		 "without session_timer: name its seconds"},
		{a->answer_code != 200, answers, "answer_code", rings},
		{a->answer_delay_ms > 0, answers, "answer_delay", rings},
		{a->allow_reduced, a->agents.most > 1, "allow_reduced",
		 "without agents: the loss of the only agent ends the run"},
		{c->credential_count > 0, challenges, "challenge_credentials",
		 asks},
		{c->algorithm != WIRE_DIGEST_MD5, challenges,
		 "challenge_algorithm", asks},
		{c->all, challenges, "challenge_requests", asks},
		{c->nonce_uses > 0, challenges, "challenge_nonce_uses", asks},
		{c->stale > 0, challenges, "challenge_stale", asks},
	};

	return first_without(d, effects, sizeof(effects) / sizeof(effects[0]));
}

int wire_effect_check(struct decoder *d, const struct wire_action *a)
{
	int err = media_check(d, a);

	return err ? err : call_check(d, a);
}
