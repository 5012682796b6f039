/* The member `client` of an action, and members that the second client
 * (baresip) does not support. */
#include "control/wire/action_members.h"

#include <string.h>

#define BARESIP_CREDENTIALS_MAX 64 /* each account is a process */

/* Whether baresip can carry out a script action. */
static bool is_offered(const struct wire_client_action *a)
{
	switch (a->type) {
	case WIRE_SCRIPT_ASSERT_ESTABLISHED:
	case WIRE_SCRIPT_ASSERT_STATE:
	case WIRE_SCRIPT_ASSERT_DTMF:
	case WIRE_SCRIPT_ASSERT_AUDIO:
	case WIRE_SCRIPT_RECORD_START:
	case WIRE_SCRIPT_RECORD_STOP:
	case WIRE_SCRIPT_HOLD:
	case WIRE_SCRIPT_RESUME:
	case WIRE_SCRIPT_WAIT:
	case WIRE_SCRIPT_DTMF:
	case WIRE_SCRIPT_MUTE:
	case WIRE_SCRIPT_UNMUTE:
	case WIRE_SCRIPT_PLAY:
	case WIRE_SCRIPT_HANGUP:
	case WIRE_SCRIPT_REINVITE:
		return true;
	case WIRE_SCRIPT_TRANSFER:
		return !strchr(a->argument, ' '); /* no norefersub */
	case WIRE_SCRIPT_REJECT:
		return strcmp(a->argument, "486") == 0;
	case WIRE_SCRIPT_UPDATE:
	case WIRE_SCRIPT_TRANSFER_ATTENDED:
	case WIRE_SCRIPT_SNDCODE:
	case WIRE_SCRIPT_REDIRECT:
	case WIRE_SCRIPT_MESSAGE:
	case WIRE_SCRIPT_OPTIONS:
		break;
	}
	return false;
}

/* baresip plays its tone at 48000 Hz and resamples by whole factors only. */
static bool any_44100(const struct wire_action *a)
{
	for (size_t i = 0; i < a->codec_count; i++) {
		if (strcmp(a->codecs[i], "L16/44100") == 0)
			return true;
	}
	return false;
}

/* The tap sees encrypted RTP and has no keys to decode it. */
static bool is_heard(const struct wire_client_action *a)
{
	return a->type == WIRE_SCRIPT_ASSERT_AUDIO ||
	       a->type == WIRE_SCRIPT_RECORD_START;
}

static const char alone_has_keys[] =
	"client baresip alone has the keys: what it sends and receives can be "
	"heard with media_encryption none only";

static int audio_check(struct decoder *d, const struct wire_action *a)
{
	const struct {
		bool wanted;
		const char *name;
	} heard[] = {
		{a->audio_checks, "audio_checks"},
		{a->expect_prompt != NULL, "expect_prompt"},
		{a->record_media, "record"},
	};

	for (size_t i = 0; i < sizeof(heard) / sizeof(heard[0]); i++) {
		if (heard[i].wanted && a->encryption != WIRE_ENCRYPTION_NONE)
			return decoder_refuse_member(d, heard[i].name, "%s",
						     alone_has_keys);
	}
	return 0;
}

static int actions_check(struct decoder *d, const struct wire_action *a)
{
	for (size_t i = 0; i < a->client_action_count; i++) {
		const struct wire_client_action *c = &a->client_actions[i];
		bool offered = is_offered(c);

		if (offered &&
		    (a->encryption == WIRE_ENCRYPTION_NONE || !is_heard(c)))
			continue;
		decoder_enter(d, "/sipclient_actions/%zu", i);
		if (offered)
			return decoder_refuse(d, "%s", alone_has_keys);
		return decoder_refuse(d,
				      "client baresip cannot do \"%s%s%.40s\"",
				      wire_script_action_name(c->type),
				      c->argument[0] ? " " : "", c->argument);
	}
	return 0;
}

static bool any_tls(const struct wire_action *a)
{
	for (size_t i = 0; i < a->host_count; i++) {
		if (a->hosts[i].transport == WIRE_TLS)
			return true;
	}
	return false;
}

/* Members that baresip 1.0.0 cannot carry out
 * (docs/reference/second-client.md). */
static int baresip_check(struct decoder *d, const struct wire_action *a)
{
	const struct wire_call_options *o = &a->call_options;
	const struct {
		bool wanted;
		const char *name;
		const char *why;
	} limits[] = {
		{a->dtmf_mode != WIRE_DTMF_RTPEVENT, "dtmf_mode",
		 "client baresip sends digits as rtpevent only"},
		{o->prack != WIRE_PRACK_NONE, "prack",
		 "client baresip does not know it"},
		{o->session_timer_s != 0, "session_timer",
		 "client baresip does not know it"},
		{o->late_offer, "late_offer",
		 "client baresip always sends an offer"},
		{o->ring_timeout_s != 0, "ring_timeout",
		 "client baresip takes none"},
		{o->redirects_max != WIRE_REDIRECTS_DEFAULT, "max_redirects",
		 "client baresip takes none"},
		{a->ice_lite, "ice_lite", "client baresip is a full agent"},
		{a->turn_server && a->turn_transport != WIRE_UDP,
		 "turn_transport",
		 "client baresip speaks to TURN servers by UDP only"},
		{a->srtp_suite_count > 0, "srtp_suites",
		 "client baresip chooses by itself"},
		{a->challenge.code != 0, "challenge",
		 "client baresip challenges nobody"},
		{a->presence.given, "presence",
		 "client baresip tells nobody its presence"},
		{a->mwi.given, "mwi",
		 "client baresip tells nobody of messages"},
		{a->accept_refer, "accept_refer",
		 "client baresip places no call for it"},
		{a->early_media, "early_media",
		 "client baresip answers only, it sends no 183"},
		{a->answer_code != 200 && a->answer_code != 486, "answer_code",
		 "client baresip refuses with 486 only"},
		{a->audio_marker, "audio_marker",
		 "client baresip plays a tone of 440 Hz"},
		{a->opus_fmtp != NULL, "opus_fmtp",
		 "client baresip announces its own"},
		{a->media_shared, "media_path",
		 "client baresip has a socket a call"},
		{a->silence_suppression, "silence_suppression",
		 "client baresip sends all the time"},
		{any_44100(a), "audio_codecs",
		 "client baresip has no tone for L16/44100"},
		{a->prompt != NULL, "prompt",
		 "client baresip plays a tone of 440 Hz"},
		{a->header_count > 0, "custom_headers",
		 "client baresip sends none"},
		{any_tls(a), "target",
		 "client baresip verifies no certificate: transport tls is for "
		 "the native client"},
		{a->host_count > 1, "target",
		 "client baresip knows one host of a target only"},
		{a->credential_count > BARESIP_CREDENTIALS_MAX, "credentials",
		 "client baresip takes 64 accounts at most"},
	};
	int err;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].wanted)
			return decoder_refuse_member(d, limits[i].name, "%s",
						     limits[i].why);
	}
	err = audio_check(d, a);
	return err ? err : actions_check(d, a);
}

int wire_client_decode(struct decoder *d, json_t *object,
		       const struct wire_action *registered,
		       struct wire_action *a)
{
	static const char *const words[] = {"native", "baresip", "sipp", NULL};
	static const enum wire_client values[] = {
		WIRE_CLIENT_NATIVE, WIRE_CLIENT_BARESIP, WIRE_CLIENT_SIPP};
	bool calls =
		a->type == WIRE_ACTION_ANSWER || a->type == WIRE_ACTION_CALL;
	const char *text = NULL;
	size_t i;
	int err = 0;

	if (a->type == WIRE_ACTION_UNREGISTER && a->header_count &&
	    registered && registered->client == WIRE_CLIENT_BARESIP)
		return decoder_refuse_member(d, "custom_headers",
					     "client baresip sends none");
	if (!calls && a->type != WIRE_ACTION_REGISTER)
		return 0;
	err = decode_text(d, object, "client", TEXT_WORD, 16, &text);
	if (err)
		return err;
	if (!text || !text[0])
		a->client = calls && registered ? registered->client
						: WIRE_CLIENT_NATIVE;
	else if (decode_word(words, text, &i))
		a->client = values[i];
	else
		return decoder_refuse_member(d, "client",
					     "must be native, baresip or sipp");
	if (a->client == WIRE_CLIENT_SIPP && !calls)
		return decoder_refuse_member(
			d, "client",
			"sipp registers by a scenario of a call action");
	/* a registered account takes the calls: its client must be the same */
	if (a->type == WIRE_ACTION_ANSWER && registered &&
	    registered->client != a->client)
		return decoder_refuse_member(
			d, "client",
			"must be that of the role's register action");
	if (a->client == WIRE_CLIENT_SIPP)
		return wire_sipp_decode(d, object, a);
	err = wire_sipp_absent(d, object);
	return !err && a->client == WIRE_CLIENT_BARESIP ? baresip_check(d, a)
							: err;
}
