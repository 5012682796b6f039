#include "agent/engine/call/call_media.h"
#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

/* What was heard is known this long after it came (media/audio/audio_session.c). */
#define KNOWN_NS (150 * NS_PER_MS)

unsigned call_audio_wanted(const struct engine *e,
			   const struct wire_action *action)
{
	unsigned wanted = 0;

	/* the tap sees what it sends and receives, and has no keys */
	if (action->client == WIRE_CLIENT_BARESIP &&
	    action->encryption != WIRE_ENCRYPTION_NONE)
		return 0;
	if (action->audio_checks || action->expect_prompt)
		wanted |= MEDIA_AUDIO_MEASURE;
	for (size_t i = 0; i < action->client_action_count; i++) {
		enum wire_script_action type = action->client_actions[i].type;

		if (type == WIRE_SCRIPT_ASSERT_AUDIO)
			wanted |= MEDIA_AUDIO_MEASURE;
		if (type == WIRE_SCRIPT_RECORD_START)
			wanted |= MEDIA_AUDIO_RECORD;
	}
	if (call_record_wanted(e, action))
		wanted |= MEDIA_AUDIO_RECORD;
	if (action->audio_marker)
		wanted |= MEDIA_AUDIO_MEASURE | MEDIA_AUDIO_MARKER;
	if (action->dtmf_mode == WIRE_DTMF_INBAND)
		wanted |= MEDIA_AUDIO_DTMF;
	return wanted;
}

/* ---- assert_audio ---- */

static void listening_end(struct call *c, const char *refusal)
{
	const struct media_listen nothing = {0};

	c->listening.id = 0;
	mono_timer_cancel(&c->listening.tmr);
	/* fails only where nothing can be heard any more */
	(void)media_session_listen(c->media, &nothing);
	script_acted(&c->script, WIRE_SCRIPT_ASSERT_AUDIO, refusal);
}

/* What there was instead. */
static void last_second_text(const struct call *c, char *text, size_t size)
{
	const struct audio_second *s = &c->heard;
	int used;

	if (!s->has_level) {
		snprintf(text, size, "no audio came in the last second");
		return;
	}
	used = snprintf(text, size, "the last second had %.1f dBov",
			s->level_dbov);
	if (s->tone.ms > 0 && used > 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used,
			 " and a tone of %.1f Hz", s->tone.hz);
}

static void listening_over(void *arg)
{
	struct call *c = arg;
	const struct wire_audio_expect *e = &c->listening.expect;
	char last[96];
	char text[192];

	last_second_text(c, last, sizeof(last));
	if (e->kind == WIRE_AUDIO_PROMPT)
		snprintf(text, sizeof(text),
			 "the prompt was not heard in %u ms: %s", e->wait_ms,
			 last);
	else if (e->kind == WIRE_AUDIO_TONE)
		snprintf(text, sizeof(text),
			 "no tone of %u Hz was heard in %u ms: %s", e->hz,
			 e->wait_ms, last);
	else
		snprintf(text, sizeof(text), "no sound was heard in %u ms: %s",
			 e->wait_ms, last);
	listening_end(c, e->kind == WIRE_AUDIO_SILENCE ? NULL : text);
	call_go_on(c);
}

static void heard(struct call *c, const struct media_record *record)
{
	struct call_listening *l = &c->listening;
	char text[96];

	if (!l->id || record->u.heard.id != l->id ||
	    record->mono_ns > l->end_ns)
		return;
	snprintf(text, sizeof(text), "sound was heard after %.0f ms",
		 (double)(record->mono_ns - l->begin_ns) / (double)NS_PER_MS);
	listening_end(c, l->expect.kind == WIRE_AUDIO_SILENCE ? text : NULL);
}

int call_audio_assert(struct call *c, const char *argument)
{
	struct call_listening *l = &c->listening;
	struct media_listen what = {.id = ++l->ids};
	int err;

	/* Checked when the job was decoded. */
	if (wire_audio_expect_parse(argument, &l->expect))
		return -EINVAL;
	if (l->expect.kind == WIRE_AUDIO_TONE)
		what.hz = l->expect.hz;
	what.prompt = l->expect.kind == WIRE_AUDIO_PROMPT;
	if (what.prompt && !c->action->expect_prompt) {
		script_acted(&c->script, WIRE_SCRIPT_ASSERT_AUDIO,
			     "the action has no expect_prompt to listen for");
		return 1;
	}
	err = c->media ? media_session_listen(c->media, &what) : -ENOTCONN;
	if (err)
		return err;
	l->id = what.id;
	l->begin_ns = clock_mono_ns();
	l->end_ns = l->begin_ns + l->expect.wait_ms * NS_PER_MS;
	mono_timer_start(&l->tmr,
			 call_ms_until(l->end_ns + KNOWN_NS, l->begin_ns),
			 listening_over, c);
	return 1;
}

/* ---- figures ---- */

static void second_take(struct call *c, const struct media_record *record)
{
	report_audio_second(c->engine->report, record->outgoing,
			    &record->u.audio_second);
	if (!record->outgoing)
		c->heard = record->u.audio_second;
}

void call_audio_record(struct call *c, const struct media_record *record)
{
	bool out = record->outgoing;

	if (record->kind == MEDIA_RECORD_AUDIO_SECOND) {
		second_take(c, record);
		return;
	}
	if (record->kind == MEDIA_RECORD_HEARD) {
		heard(c, record);
		return;
	}
	json_decref(c->audio[out]);
	c->audio[out] = wire_audio_encode(&record->u.audio_total, out);
	if (!c->audio[out])
		log_error("call=%s out of memory: audio totals are lost",
			  c->name);
}
