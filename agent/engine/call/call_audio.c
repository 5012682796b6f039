/* Audio of a call: assert_audio, play, mute, recordings. */
#include "agent/engine/account/client_sounds.h"
#include "agent/engine/call/call_internal.h"
#include "base/log.h"
#include "control/wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES (CALL_NAME_BYTES + 32)

/* Received audio is decoded and reported with this delay
 * (media/audio/audio_session.c). */
#define KNOWN_NS (150 * NS_PER_MS)

unsigned call_audio_wanted(const struct calls *calls,
			   const struct wire_action *action)
{
	unsigned wanted = 0;

	/* the tap has no keys, and cannot decode encrypted audio */
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
	if (call_record_wanted(calls, action))
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
	/* it fails only after the end of the session */
	(void)media_session_listen(c->media, &nothing);
	script_acted(&c->script, WIRE_SCRIPT_ASSERT_AUDIO, refusal);
}

/* Write what was heard in the last second, for the reason of a failure. */
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
	const struct wire_audio_expect *expect = &c->listening.expect;
	char last[96];
	char text[192];

	last_second_text(c, last, sizeof(last));
	if (expect->kind == WIRE_AUDIO_PROMPT)
		snprintf(text, sizeof(text),
			 "the prompt was not heard in %u ms: %s",
			 expect->wait_ms, last);
	else if (expect->kind == WIRE_AUDIO_TONE)
		snprintf(text, sizeof(text),
			 "no tone of %u Hz was heard in %u ms: %s", expect->hz,
			 expect->wait_ms, last);
	else
		snprintf(text, sizeof(text), "no sound was heard in %u ms: %s",
			 expect->wait_ms, last);
	listening_end(c, expect->kind == WIRE_AUDIO_SILENCE ? NULL : text);
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
			 clock_ms_until(l->end_ns + KNOWN_NS, l->begin_ns),
			 listening_over, c);
	return 1;
}

/* ---- figures ---- */

static void second_take(struct call *c, const struct media_record *record)
{
	report_audio_second(c->calls->report, record->outgoing,
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

/* ---- play, mute ---- */

/* The hash of an upload of this name. @return NULL: it is a file of the agent */
static const char *upload_of(const struct wire_action *action, const char *name)
{
	for (size_t i = 0; i < action->play_count; i++) {
		if (strcmp(action->plays[i].name, name) == 0)
			return action->plays[i].sha256;
	}
	return NULL;
}

int calls_play_path(const struct calls *calls, const struct wire_action *action,
		    const char *name, char *dst, size_t size)
{
	return engine_prompt_path(calls->settings, name,
				  upload_of(action, name), dst, size);
}

static const char *refusal_of(int err)
{
	switch (err) {
	case -ENOENT:
		return "the prompt is not on this agent: neither in its "
		       "prompt_dir nor an uploaded audio file";
	case -EILSEQ:
		return "the prompt is no audio file";
	case -ENODATA:
		return "the prompt has no audio in it";
	case -ERANGE:
		return "the prompt has a rate, or channels, that are not read";
	case -EFBIG:
		return "the prompt is too long";
	case -EBUSY:
		return "client baresip plays to all calls of an account, and "
		       "there is another one";
	default:
		return NULL;
	}
}

/* A client with media of its own plays a WAV made for it. */
static int play_by_client(struct call *c, const char *path)
{
	char wav[CLIENT_SOUND_PATH_BYTES];
	int64_t ns = 0;
	int err = client_sounds_get(user_agents_sounds(c->calls->accounts),
				    path, wav, &ns);

	return err ? err : sip_call_play(c->sip, wav, ns);
}

int call_audio_play(struct call *c, const char *name)
{
	char path[ENGINE_PATH_BYTES * 2];
	int err = c->media ? calls_play_path(c->calls, c->action, name, path,
					     sizeof(path))
			   : -ENOTCONN;

	if (!err)
		err = c->action->client == WIRE_CLIENT_NATIVE
			      ? media_session_play(c->media, path)
			      : play_by_client(c, path);
	if (refusal_of(err)) {
		script_acted(&c->script, WIRE_SCRIPT_PLAY, refusal_of(err));
		return 1;
	}
	return err ? err : 1;
}

int call_audio_mute(struct call *c, bool mute)
{
	int err;

	if (!c->media)
		return -ENOTCONN;
	if (c->action->client == WIRE_CLIENT_NATIVE)
		return media_session_mute(c->media, mute);
	err = sip_call_mute(c->sip, mute);
	return err ? err : 1;
}

void call_audio_played(struct call *c, const struct media_record *record)
{
	script_acted(&c->script, WIRE_SCRIPT_PLAY,
		     record->u.played
			     ? NULL
			     : "a change of codec or packet time cut it off");
	call_go_on(c);
}

/* ---- recordings ---- */

/* "caller-1-in.wav", later ones "caller-1-in-2.wav". @param n  from 1 */
static void name_of(const struct call *c, bool out, unsigned n,
		    char dst[static NAME_BYTES])
{
	const char *way = out ? "out" : "in";

	if (n == 1)
		snprintf(dst, NAME_BYTES, "%s-%s.wav", c->name, way);
	else
		snprintf(dst, NAME_BYTES, "%s-%s-%u.wav", c->name, way, n);
}

static void lost(struct call *c, const char *name, const char *text)
{
	report_event(c->calls->report,
		     wire_event_artifact_lost(
			     report_time(c->calls->report, clock_mono_ns()),
			     name, text));
}

bool call_record_wanted(const struct calls *calls,
			const struct wire_action *action)
{
	return action->record_media || action->store_artifacts ||
	       calls->job->record_media;
}

int call_record_begin(struct call *c)
{
	char paths[2][ENGINE_PATH_BYTES * 2];
	char name[NAME_BYTES];
	int err = c->media ? 0 : -ENOTCONN;

	for (int out = 0; !err && out < 2; out++) {
		name_of(c, out == 1, c->recordings + 1, name);
		err = report_artifact_path(c->calls->report, name, paths[out],
					   sizeof(paths[out]));
	}
	if (!err)
		err = media_session_record(c->media, paths[0], paths[1]);
	if (!err)
		c->recordings++;
	return err;
}

int call_record_end(struct call *c)
{
	return c->media ? media_session_record_stop(c->media) : -ENOTCONN;
}

void call_record_begin_all(struct call *c)
{
	int err = call_record_wanted(c->calls, c->action) ? call_record_begin(c)
							  : 0;
	char name[NAME_BYTES];

	if (!err)
		return;
	name_of(c, false, 1, name);
	if (err != -ENOTSUP)
		lost(c, name, strerror(-err));
	else if (call_audio_wanted(c->calls, c->action))
		lost(c, name, "artifacts are not wanted");
	else
		lost(c, name, "client baresip alone has the keys");
}

void call_recorded(struct call *c, const struct media_record *record)
{
	const struct media_recorded *r = &record->u.recorded;
	bool out = record->outgoing;
	char name[NAME_BYTES];
	int err;

	name_of(c, out, ++c->recorded[out], name);
	if (!r->written) {
		if (r->err)
			lost(c, name, strerror(-r->err));
		return;
	}
	if (r->cut)
		log_info("call=%s %s was cut after %.0f ms", c->name, name,
			 r->ms);
	err = report_artifact(c->calls->report, name);
	if (err)
		lost(c, name, strerror(-err));
}

/* @return 0; -errno, and no file is left */
static int figures_write(const char *path, const char *text, size_t len)
{
	json_t *figures = json_loadb(text, len, 0, NULL);
	FILE *out;
	int err;

	if (!figures)
		return -ENOMEM;
	out = fopen(path, "we");
	if (!out) {
		err = -errno;
		json_decref(figures);
		return err;
	}
	err = json_dumpf(figures, out,
			 JSON_INDENT(2) | JSON_SORT_KEYS | JSON_DECIMAL)
		      ? -EIO
		      : 0;
	json_decref(figures);
	if (fclose(out) && !err)
		err = -EIO;
	if (err)
		remove(path);
	return err;
}

void call_record_figures(struct call *c, const char *text, size_t len)
{
	char path[ENGINE_PATH_BYTES * 2];
	char name[NAME_BYTES];
	int err;

	if (!c->action->store_artifacts)
		return;
	snprintf(name, sizeof(name), "%s.json", c->name);
	err = report_artifact_path(c->calls->report, name, path, sizeof(path));
	if (!err)
		err = figures_write(path, text, len);
	if (!err)
		err = report_artifact(c->calls->report, name);
	if (err)
		lost(c, name,
		     err == -ENOTSUP ? "nobody takes artifacts"
				     : strerror(-err));
}
