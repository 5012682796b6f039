#include "agent/engine/call/call_media.h"
#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include <errno.h>
#include <string.h>

/* The hash of an upload of this name. @return NULL: it is a file of ours */
static const char *upload_of(const struct wire_action *action, const char *name)
{
	for (size_t i = 0; i < action->play_count; i++) {
		if (strcmp(action->plays[i].name, name) == 0)
			return action->plays[i].sha256;
	}
	return NULL;
}

int engine_play(const struct engine *e, const struct wire_action *action,
		const char *name, char *dst, size_t size)
{
	return engine_prompt_path(e, name, upload_of(action, name), dst, size);
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

/* Its media are not ours: its client plays a file of its own kind. */
static int play_by_client(struct call *c, const char *path)
{
	char wav[CLIENT_SOUND_PATH_BYTES];
	int64_t ns = 0;
	int err = client_sounds_get(&c->engine->sounds, path, wav, &ns);

	return err ? err : sip_call_play(c->sip, wav, ns);
}

int call_play(struct call *c, const char *name)
{
	char path[ENGINE_PATH_BYTES * 2];
	int err = c->media ? engine_play(c->engine, c->action, name, path,
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

int call_mute(struct call *c, bool mute)
{
	int err;

	if (!c->media)
		return -ENOTCONN;
	if (c->action->client == WIRE_CLIENT_NATIVE)
		return media_session_mute(c->media, mute);
	err = sip_call_mute(c->sip, mute);
	return err ? err : 1;
}

void call_played(struct call *c, const struct media_record *record)
{
	script_acted(&c->script, WIRE_SCRIPT_PLAY,
		     record->u.played
			     ? NULL
			     : "a change of codec or packet time cut it off");
	call_go_on(c);
}
