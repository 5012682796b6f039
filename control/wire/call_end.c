#include "control/wire/call_end.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <string.h>

bool wire_call_ended_as_asked(const json_t *event)
{
	const json_t *expected = json_object_get(event, "expected_end");

	if (json_is_boolean(expected))
		return json_is_true(expected);
	return strcmp(text_of(event, "end"), "failed") != 0;
}

/* The offer of an action without audio_codecs
 * (media/engine/media_session_prompt.c). */
#define UNRESTRICTED "PCMU, PCMA"

static void offer_text(char *text, size_t size, const json_t *event)
{
	const json_t *codecs = json_object_get(event, "audio_codecs");
	const char *encryption = text_of(event, "media_encryption");
	size_t used = 0;

	for (size_t i = 0; i < json_array_size(codecs) && used < size; i++) {
		const char *name = json_string_value(json_array_get(codecs, i));
		int n = str_print(text + used, size - used, "%s%s",
				  i ? ", " : "", name ? name : "?");

		used = n < 0 ? size : used + (size_t)n;
	}
	if (used < size)
		(void)str_print(text + used, size - used, "%s %s%s",
				used ? "" : UNRESTRICTED,
				encryption[0] ? "with " : "without encryption",
				encryption);
}

void wire_call_refusal_text(char *text, size_t size, const json_t *event)
{
	int code = (int)json_integer_value(json_object_get(event, "code"));
	const char *reason = text_of(event, "reason");
	const char *warning = text_of(event, "warning");
	const char *end = text_of(event, "end");
	char offer[128];
	bool offered = (code == 415 || code == 488 || code == 606) &&
		       text_of(event, "direction")[0] == 'o';

	text[0] = '\0';
	/* 487 responds to our own CANCEL: it is not the reason of a failure. */
	if (code < 300 || (end[0] && strcmp(end, "rejected") != 0))
		return;
	offer[0] = '\0';
	if (offered)
		offer_text(offer, sizeof(offer), event);
	(void)str_print(text, size, "%d %.60s%s%s%s%.90s", code, reason,
			offered ? " to an offer of " : "", offer,
			warning[0] ? ", the peer warns: " : "", warning);
	str_utf8_repair(text); /* a phrase may have been cut in a character */
}
