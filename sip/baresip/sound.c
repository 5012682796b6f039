/* What baresip's calls send: a tone, silence, files. */
#include "sip/baresip/internal.h"

#include <stdlib.h>
#include <string.h>

#include "sip/baresip/folder.h"

#define TOKEN_MUTE   "mute "
#define TOKEN_PLAY   "play "
#define TOKEN_SOURCE "source "

static void answer_emit(struct baresip_call *c, const char *method,
			const char *refusal)
{
	struct sip_call_info info = {
		.mono_ns = clock_mono_ns(),
		.method = method,
		.code = refusal ? 0 : 200,
		.reason = refusal,
	};

	baresip_call_emit(c, SIP_CALL_ANSWER_TO, &info);
}

/* ---- mute ---- */

/* baresip's command "mute" only toggles. */
static int mute_change(struct baresip_call *c)
{
	return baresip_call_command(c, "mute", NULL, TOKEN_MUTE);
}

int baresip_call_mute(struct sip_call *call, bool mute)
{
	struct baresip_call *c = (struct baresip_call *)call;
	/* no change: any other command, for its answer */
	int err = c->muted == mute ? baresip_call_command(c, "callfind", c->id,
							  TOKEN_MUTE)
				   : mute_change(c);

	if (!err) {
		c->mute_wanted = mute;
		c->mute_asked = true;
	}
	return err;
}

/* The answer is "call muted" or "call un-muted", the new state. */
static void mute_answered(struct baresip_call *c,
			  const struct baresip_message *m)
{
	bool told = strstr(m->text, "muted") != NULL;
	const char *refusal = m->ok ? NULL : m->text;

	if (!c->mute_asked)
		return;
	if (told)
		c->muted = strstr(m->text, "un-muted") == NULL;
	if (told && c->muted != c->mute_wanted && mute_change(c) == 0)
		return;
	c->mute_asked = false;
	if (!refusal && c->muted != c->mute_wanted)
		refusal = "baresip did not say that it did";
	answer_emit(c, c->mute_wanted ? "MUTE" : "UNMUTE", refusal);
}

/* ---- files ---- */

static void source_restore(struct baresip_call *c)
{
	if (c->account && c->account->process)
		(void)baresip_process_command(c->account->process, "ausrc",
					      BARESIP_SOURCE, TOKEN_SOURCE);
}

static void play_over(void *arg)
{
	struct baresip_call *c = arg;

	c->playing = false;
	source_restore(c);
	answer_emit(c, "PLAY", NULL);
}

/* The answer is always ok; a text tells a failure. */
static void play_answered(struct baresip_call *c,
			  const struct baresip_message *m)
{
	bool bad = !m->ok || strstr(m->text, "failed") ||
		   strstr(m->text, "no such");

	if (!c->playing)
		return;
	if (!bad) {
		mono_timer_start(&c->tmr_play,
				 (uint64_t)(c->play_ns / NS_PER_MS) + 1,
				 play_over, c);
		return;
	}
	c->playing = false;
	source_restore(c);
	answer_emit(c, "PLAY", m->text);
}

int baresip_call_play(struct sip_call *call, const char *path, int64_t ns)
{
	struct baresip_call *c = (struct baresip_call *)call;
	char source[BARESIP_WORD_BYTES * 2];
	int err;

	if (!c->established || !c->account)
		return -ENOTCONN;
	if (list_count(&c->account->calls) > 1 || c->playing)
		return -EBUSY;
	if (str_print(source, sizeof(source), "aufile,%s", path) < 0)
		return -ENAMETOOLONG;
	err = baresip_call_command(c, "ausrc", source, TOKEN_PLAY);
	if (!err) {
		c->playing = true;
		c->play_ns = ns;
	}
	return err;
}

void baresip_sound_end(struct baresip_call *c)
{
	mono_timer_cancel(&c->tmr_play);
	if (c->playing)
		source_restore(c);
	c->playing = false;
}

bool baresip_sound_answered(struct baresip_account *a,
			    const struct baresip_message *m)
{
	struct baresip_call *c;

	if (baresip_token_is(m, TOKEN_MUTE)) {
		c = baresip_token_call(a, m, TOKEN_MUTE);
		if (c)
			mute_answered(c, m);
		return true;
	}
	if (!baresip_token_is(m, TOKEN_PLAY))
		return false;
	c = baresip_token_call(a, m, TOKEN_PLAY);
	if (c)
		play_answered(c, m);
	return true;
}
