#include "agent/engine/internal.h"

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

int call_play(struct call *c, const char *name)
{
	char path[ENGINE_PATH_BYTES * 2];
	int err = c->media ? engine_play(c->engine, c->action, name, path,
					 sizeof(path))
			   : -ENOTCONN;

	if (!err)
		err = media_session_play(c->media, path);
	if (err == -ENOENT || err == -EILSEQ) {
		script_acted(&c->script, "play",
			     err == -ENOENT ? "the prompt is not on this agent"
					    : "the prompt is no audio file");
		return 1;
	}
	return err ? err : 1;
}

void call_played(struct call *c, const struct media_record *record)
{
	script_acted(&c->script, "play",
		     record->u.played
			     ? NULL
			     : "a change of codec or packet time cut it off");
	call_go_on(c);
}
