#include "control/wire/action.h"

static int dtmf_mode_decode(struct decoder *d, json_t *object,
			    struct wire_action *a)
{
	static const char *const words[] = {"rtpevent", "info", "info-dtmf",
					    NULL};
	static const enum wire_dtmf_mode values[] = {
		WIRE_DTMF_RTPEVENT, WIRE_DTMF_INFO, WIRE_DTMF_INFO_PLAIN};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "dtmf_mode", TEXT_LINE, 16, &text);

	if (err || !text || !text[0])
		return err;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(
			d, "dtmf_mode", "must be rtpevent, info or info-dtmf");
	a->dtmf_mode = values[i];
	return 0;
}

int wire_audio_decode(struct decoder *d, json_t *object, struct wire_action *a)
{
	int err = dtmf_mode_decode(d, object, a);

	if (!err)
		err = decode_bool(d, object, "audio_checks", &a->audio_checks);
	return err;
}
