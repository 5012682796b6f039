#include "control/wire/action_members.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

#define EXPIRES_S_MAX  86400
#define NOTE_BYTES_MAX 127
#define MWI_BYTES_MAX  64

static bool blank(char c)
{
	return c == ' ';
}

/* Parse "2/8". @return the text that follows; NULL: not a pair */
static const char *pair_read(const char *text, uint32_t *a, uint32_t *b)
{
	uint32_t *const place[] = {a, b};

	for (int i = 0; i < 2; i++) {
		size_t digits = strspn(text, "0123456789");
		char word[12] = "";
		uint64_t value;

		if (digits == 0 || digits >= sizeof(word))
			return NULL;
		memcpy(word, text, digits);
		if (str_to_u64(word, UINT32_MAX, &value))
			return NULL;
		*place[i] = (uint32_t)value;
		text += digits;
		if (i == 0 && *text++ != '/')
			return NULL;
	}
	return text;
}

/* Parse "2/8" or "2/8 (0/2)". @return 0; -EINVAL */
static int mwi_parse(const char *text, struct wire_mwi *ret)
{
	struct wire_mwi mwi = {.given = true};
	const char *p = pair_read(text, &mwi.fresh, &mwi.old);

	while (p && blank(*p))
		p++;
	if (p && *p == '(') {
		mwi.has_urgent = true;
		p = pair_read(p + 1, &mwi.urgent_fresh, &mwi.urgent_old);
		if (p && *p++ != ')')
			p = NULL;
	}
	if (!p || *p)
		return -EINVAL;
	*ret = mwi;
	return 0;
}

static int mwi_decode(struct decoder *d, json_t *object, struct wire_mwi *ret)
{
	const char *text = NULL;
	int err =
		decode_text(d, object, "mwi", TEXT_LINE, MWI_BYTES_MAX, &text);

	if (err || !text)
		return err;
	if (mwi_parse(text, ret))
		return decoder_refuse_member(
			d, "mwi",
			"must be new/old voice messages, and perhaps the urgent ones: 2/8 (0/2)");
	return 0;
}

static int presence_decode(struct decoder *d, json_t *object,
			   struct wire_presence *ret)
{
	static const char *const words[] = {"open", "closed", NULL};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "presence", TEXT_WORD, 16, &text);

	if (!err)
		err = decode_text(d, object, "presence_note", TEXT_LINE,
				  NOTE_BYTES_MAX, &ret->note);
	if (err)
		return err;
	if (!text && ret->note)
		return decoder_refuse_member(d, "presence_note",
					     "goes with presence only");
	if (!text)
		return 0;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(d, "presence",
					     "must be open or closed");
	ret->given = true;
	ret->open = i == 0;
	return 0;
}

static int event_decode(struct decoder *d, json_t *object,
			enum wire_package *ret)
{
	static const char *const words[] = {"presence", "message-summary",
					    NULL};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "event", TEXT_WORD, 32, &text);

	if (err || !text)
		return err;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(
			d, "event", "must be presence or message-summary");
	*ret = (enum wire_package)i;
	return 0;
}

int wire_notification_decode(struct decoder *d, json_t *object,
			     struct wire_action *a)
{
	int err = event_decode(d, object, &a->package);

	if (!err)
		err = decode_u32(d, object, "expires", 0, EXPIRES_S_MAX,
				 &a->expires_s);
	if (!err)
		err = presence_decode(d, object, &a->presence);
	if (!err)
		err = mwi_decode(d, object, &a->mwi);
	if (err)
		return err;
	if (a->type == WIRE_ACTION_PUBLISH && a->expires_s > 0 &&
	    (a->package == WIRE_PRESENCE ? !a->presence.given || a->mwi.given
					 : !a->mwi.given || a->presence.given))
		return decoder_refuse_member(
			d, "event",
			"%s needs %s, and nothing else, unless expires is 0",
			a->package == WIRE_PRESENCE ? "presence"
						    : "message-summary",
			a->package == WIRE_PRESENCE ? "presence" : "mwi");
	if (a->type == WIRE_ACTION_NOTIFY && !a->presence.given &&
	    !a->mwi.given)
		return decoder_refuse_member(
			d, "presence",
			"is missing, and so is mwi: one is told");
	return 0;
}

/* ---- challenges ---- */

static int code_decode(struct decoder *d, json_t *object,
		       struct wire_challenge *c)
{
	int err = decode_u16(d, object, "challenge", 0, 407, &c->code);

	if (!err && c->code != 0 && c->code != 401 && c->code != 407)
		err = decoder_refuse_member(d, "challenge",
					    "must be 401, 407, or 0 for none");
	return err;
}

static int algorithm_decode(struct decoder *d, json_t *object,
			    enum wire_digest *ret)
{
	/* in the order of enum wire_digest */
	static const char *const words[] = {"MD5", "SHA-256", "SHA-512-256",
					    NULL};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "challenge_algorithm", TEXT_WORD, 16,
			      &text);

	if (err || !text)
		return err;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(
			d, "challenge_algorithm",
			"must be MD5, SHA-256 or SHA-512-256");
	*ret = (enum wire_digest)i;
	return 0;
}

static int requests_decode(struct decoder *d, json_t *object, bool *ret_all)
{
	static const char *const words[] = {"initial", "all", NULL};
	const char *text = NULL;
	size_t i;
	int err = decode_text(d, object, "challenge_requests", TEXT_WORD, 16,
			      &text);

	if (err || !text)
		return err;
	if (!decode_word(words, text, &i))
		return decoder_refuse_member(d, "challenge_requests",
					     "must be initial or all");
	*ret_all = i == 1;
	return 0;
}

int wire_challenge_decode(struct decoder *d, json_t *object,
			  struct wire_challenge *ret)
{
	struct wire_challenge c = {.code = 0};
	int err = code_decode(d, object, &c);

	if (!err)
		err = algorithm_decode(d, object, &c.algorithm);
	if (!err)
		err = requests_decode(d, object, &c.all);
	if (!err)
		err = decode_u32(d, object, "challenge_nonce_uses", 0, 1000000,
				 &c.nonce_uses);
	if (!err)
		err = decode_u32(d, object, "challenge_stale", 0, 1000000,
				 &c.stale);
	if (!err)
		err = wire_credentials_decode(
			d, object, "challenge_credentials", &c.credentials,
			&c.credential_count);
	if (err)
		return err;
	if (c.code && c.credential_count == 0)
		return decoder_refuse_member(
			d, "challenge_credentials",
			"is missing or empty: who may call?");
	*ret = c;
	return 0;
}
