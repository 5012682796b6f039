#include "control/wire/call_options.h"

#include <string.h>

#define SESSION_TIMER_S_MAX 86400
#define RING_TIMEOUT_S_MAX  3600
#define REDIRECTS_MAX       20

/* One of three words whose places are those of an enum. */
static int word_decode(struct decoder *d, json_t *object, const char *name,
		       const char *const words[4], size_t *ret)
{
	const char *text = NULL;
	int err = decode_text(d, object, name, TEXT_WORD, 16, &text);

	if (err || !text)
		return err;
	if (!decode_word(words, text, ret))
		return decoder_refuse_member(d, name, "must be %s, %s or %s",
					     words[0], words[1], words[2]);
	return 0;
}

int wire_call_options_decode(struct decoder *d, json_t *object,
			     struct wire_call_options *ret)
{
	static const char *const pracks[] = {"none", "supported", "required",
					     NULL};
	static const char *const refreshers[] = {"any", "uac", "uas", NULL};
	struct wire_call_options o = {
		.redirects_max = WIRE_REDIRECTS_DEFAULT,
	};
	size_t prack = WIRE_PRACK_NONE;
	size_t refresher = WIRE_REFRESHER_ANY;
	int err;

	err = word_decode(d, object, "prack", pracks, &prack);
	if (!err)
		err = decode_u32(d, object, "session_timer", 0,
				 SESSION_TIMER_S_MAX, &o.session_timer_s);
	/* Half of it must be left to refresh in. */
	if (!err && o.session_timer_s == 1)
		err = decoder_refuse_member(d, "session_timer",
					    "must be 0 or at least 2");
	if (!err)
		err = word_decode(d, object, "session_refresher", refreshers,
				  &refresher);
	if (!err)
		err = decode_bool(d, object, "late_offer", &o.late_offer);
	if (!err)
		err = decode_u32(d, object, "ring_timeout", 1,
				 RING_TIMEOUT_S_MAX, &o.ring_timeout_s);
	if (!err)
		err = decode_u32(d, object, "max_redirects", 0, REDIRECTS_MAX,
				 &o.redirects_max);
	if (err)
		return err;
	o.prack = (enum wire_prack)prack;
	o.refresher = (enum wire_refresher)refresher;
	*ret = o;
	return 0;
}
