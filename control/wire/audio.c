#include "control/wire/action_members.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

#define WAIT_MS_MAX     600000u
#define WAIT_MS_DEFAULT 32000 /* as of assert_dtmf */
#define TONE_HZ_MIN     100   /* docs/reference/audio.md */
#define TONE_HZ_MAX     3600

static int dtmf_mode_decode(struct decoder *d, json_t *object,
			    struct wire_action *a)
{
	static const char *const words[] = {"rtpevent", "info", "info-dtmf",
					    "inband", NULL};
	static const enum wire_dtmf_mode values[] = {
		WIRE_DTMF_RTPEVENT, WIRE_DTMF_INFO, WIRE_DTMF_INFO_PLAIN,
		WIRE_DTMF_INBAND};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "dtmf_mode", TEXT_LINE, 16, &text);

	if (err || !text || !text[0])
		return err;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(
			d, "dtmf_mode",
			"must be rtpevent, info, info-dtmf or inband");
	a->dtmf_mode = values[i];
	return 0;
}

bool wire_prompt_name_valid(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') &&
	       strlen(name) <= WIRE_NAME_BYTES_MAX &&
	       decode_text_allowed(TEXT_LINE, name);
}

static bool hash_valid(const char *text)
{
	return strspn(text, "0123456789abcdef") == 64 && !text[64];
}

/* A prompt is a file of the agent, or an upload identified by its hash. */
static int prompt_decode(struct decoder *d, json_t *object, const char *member,
			 const char **ret_name, const char **ret_sha256)
{
	char hash_member[32];
	int err = decode_text(d, object, member, TEXT_LINE, WIRE_NAME_BYTES_MAX,
			      ret_name);

	if (!err && *ret_name && !wire_prompt_name_valid(*ret_name))
		err = decoder_refuse_member(d, member,
					    "must be a plain file name");
	(void)str_print(hash_member, sizeof(hash_member), "%s_sha256", member);
	if (!err)
		err = decode_text(d, object, hash_member, TEXT_WORD, 64,
				  ret_sha256);
	if (!err && *ret_sha256 && !hash_valid(*ret_sha256))
		err = decoder_refuse_member(d, hash_member,
					    "must be 64 lower-case hex digits");
	return err;
}

/* Decode the uploads that `play` script actions name: {"name": hash}. */
static int plays_decode(struct decoder *d, json_t *object,
			struct wire_action *a)
{
	json_t *map = json_object_get(object, "play_sha256");
	struct wire_prompt *list;
	const char *name;
	json_t *value;

	if (!map || json_is_null(map))
		return 0;
	if (!json_is_object(map) ||
	    json_object_size(map) > WIRE_CLIENT_ACTIONS_MAX)
		return decoder_refuse_member(d, "play_sha256",
					     "must be an object of hashes");
	list = arena_alloc(d->arena, json_object_size(map) + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	a->plays = list;
	json_object_foreach(map, name, value)
	{
		const char *hash = json_string_value(value);

		if (!wire_prompt_name_valid(name) || !hash || !hash_valid(hash))
			return decoder_refuse_member(
				d, "play_sha256",
				"must hold 64 lower-case hex digits a name");
		list->name = arena_text(d->arena, name);
		list->sha256 = arena_text(d->arena, hash);
		if (!list->name || !list->sha256)
			return -ENOMEM;
		list++;
		a->play_count++;
	}
	return 0;
}

/* Check the parameters of an offer (RFC 7587 section 6.1). Unknown ones are
 * refused: a misspelt name would silently change the test. */
static int opus_fmtp_check(const char *text)
{
	static const char *const names[] = {
		"maxplaybackrate",   "sprop-maxcapturerate",
		"maxaveragebitrate", "stereo",
		"sprop-stereo",      "cbr",
		"useinbandfec",      "usedtx",
		"maxptime",          "ptime",
		"minptime",          NULL};

	while (*text) {
		size_t len = strcspn(text, ";");
		char word[64] = "";
		char *equals;
		uint64_t value;
		size_t i;

		if (len >= sizeof(word))
			return -EINVAL;
		text += *text == ' ';
		len = strcspn(text, ";");
		memcpy(word, text, len);
		equals = strchr(word, '=');
		if (!equals)
			return -EINVAL;
		*equals = '\0';
		if (!decode_word(names, word, &i) ||
		    str_to_u64(equals + 1, 1000000, &value))
			return -EINVAL;
		text += len;
		text += *text == ';';
	}
	return 0;
}

static int sending_decode(struct decoder *d, json_t *object,
			  struct wire_action *a)
{
	int err = decode_bool(d, object, "silence_suppression",
			      &a->silence_suppression);

	if (!err)
		err = decode_text(d, object, "opus_fmtp", TEXT_LINE,
				  WIRE_FMTP_BYTES_MAX, &a->opus_fmtp);
	if (!err && a->opus_fmtp && opus_fmtp_check(a->opus_fmtp))
		err = decoder_refuse_member(
			d, "opus_fmtp",
			"must be parameters of RFC 7587: "
			"maxplaybackrate=16000;useinbandfec=1;...");
	return err;
}

static int record_decode(struct decoder *d, json_t *object,
			 struct wire_action *a)
{
	static const char *const words[] = {"none", "media", NULL};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "record", TEXT_LINE, 16, &text);

	if (err || !text || !text[0])
		return err;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(d, "record",
					     "must be none or media");
	a->record_media = i == 1;
	return 0;
}

int wire_audio_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	int err = dtmf_mode_decode(d, object, a);

	if (!err)
		err = prompt_decode(d, object, "prompt", &a->prompt,
				    &a->prompt_sha256);
	if (!err)
		err = prompt_decode(d, object, "expect_prompt",
				    &a->expect_prompt,
				    &a->expect_prompt_sha256);
	if (!err)
		err = decode_bool(d, object, "audio_checks", &a->audio_checks);
	if (!err)
		err = decode_bool(d, object, "audio_marker", &a->audio_marker);
	if (!err)
		err = decode_bool(d, object, "store_artifacts",
				  &a->store_artifacts);
	if (!err)
		err = decode_bool(d, object, "rtp_capture", &a->rtp_capture);
	if (!err)
		err = plays_decode(d, object, a);
	if (!err)
		err = sending_decode(d, object, a);
	if (!err)
		err = record_decode(d, object, a);
	return err;
}

/* A marker begins whenever the clock is a multiple of this period
 * (docs/reference/audio.md). */
#define MARKER_PERIOD_MS 2400

int wire_audio_check(struct decoder *d, const struct wire_action *a)
{
	if (a->audio_marker && MARKER_PERIOD_MS % a->ptime_ms != 0)
		return decoder_refuse_member(
			d, "ptime",
			"must divide %d ms: audio_marker plays a marker "
			"whenever so many are over",
			MARKER_PERIOD_MS);
	for (size_t i = 0; i < a->client_action_count; i++) {
		const struct wire_client_action *c = &a->client_actions[i];
		struct wire_audio_expect expect;

		if (c->type == WIRE_SCRIPT_ASSERT_AUDIO && !a->expect_prompt &&
		    wire_audio_expect_parse(c->argument, &expect) == 0 &&
		    expect.kind == WIRE_AUDIO_PROMPT)
			return decoder_refuse_member(
				d, "expect_prompt",
				"is missing, and assert_audio prompt needs it");
	}
	return 0;
}

/* Parse the numbers that follow the first word: "tone 440 5000". @return their
 * count; -EINVAL */
static int numbers_parse(const char *text, uint64_t numbers[static 2])
{
	int count = 0;

	while (*text) {
		size_t len;
		char word[16] = "";

		text++; /* the blank */
		len = strcspn(text, " ");
		if (count == 2 || len == 0 || len >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, len);
		if (str_to_u64(word, WAIT_MS_MAX, &numbers[count++]))
			return -EINVAL;
		text += len;
	}
	return count;
}

int wire_audio_expect_parse(const char *text, struct wire_audio_expect *ret)
{
	static const struct {
		const char *name;
		enum wire_audio_kind kind;
		int least; /* count of numbers */
		int most;
	} kinds[] = {
		{"sound", WIRE_AUDIO_SOUND, 0, 1},
		{"silence", WIRE_AUDIO_SILENCE, 1, 1},
		{"tone", WIRE_AUDIO_TONE, 1, 2},
		{"prompt", WIRE_AUDIO_PROMPT, 0, 1},
	};
	struct wire_audio_expect e = {.wait_ms = WAIT_MS_DEFAULT};
	size_t len = strcspn(text, " ");
	uint64_t numbers[2] = {0, 0};
	int count = numbers_parse(text + len, numbers);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strlen(kinds[i].name) != len ||
		    strncmp(text, kinds[i].name, len) != 0)
			continue;
		if (count < kinds[i].least || count > kinds[i].most)
			return -EINVAL;
		e.kind = kinds[i].kind;
		if (e.kind == WIRE_AUDIO_TONE)
			e.hz = (uint16_t)numbers[0];
		if (count == kinds[i].most)
			e.wait_ms = (uint32_t)numbers[count - 1];
		if (e.kind == WIRE_AUDIO_TONE &&
		    (numbers[0] < TONE_HZ_MIN || numbers[0] > TONE_HZ_MAX))
			return -EINVAL;
		*ret = e;
		return 0;
	}
	return -EINVAL;
}
