/* What the loop asks of a session's audio: tones to send, sound to hear. */
#include "media/audio.h"
#include "media/engine.h"

#include <errno.h>
#include <string.h>

int media_session_tones(struct media_session *s, const struct dtmf_order *order)
{
	struct dtmf_order checked = *order;
	struct command *c;
	int err;

	if (s->stop_given || dtmf_order_check(&checked))
		return -EINVAL;
	if (!s->codec)
		return -ENOTCONN;
	if (s->dtmf_busy)
		return -EBUSY;
	err = command_new(&c, s, COMMAND_TONES);
	if (err)
		return err;
	c->codec = s->codec;
	err = dtmf_clip_make(&c->tones, &checked, s->codec, s->ptime_ms,
			     &s->codec_settings);
	if (err) {
		command_drop(c);
		return err;
	}
	s->dtmf_busy = true;
	command_push(c, TO_TX);
	return 0;
}

int media_session_listen(struct media_session *s,
			 const struct media_listen *what)
{
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	if (!s->audio || !(s->audio->wanted & MEDIA_AUDIO_MEASURE))
		return -ENOTSUP;
	err = command_new(&c, s, COMMAND_LISTEN);
	if (err)
		return err;
	c->listen = *what;
	command_push(c, TO_AUDIO);
	return 0;
}

int media_session_record(struct media_session *s, const char *path_in,
			 const char *path_out)
{
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	if (!s->audio || !(s->audio->wanted & MEDIA_AUDIO_RECORD))
		return -ENOTSUP;
	if (s->recording)
		return -EBUSY;
	err = command_new(&c, s, COMMAND_RECORD);
	if (err)
		return err;
	c->paths[0] = strdup(path_in);
	c->paths[1] = strdup(path_out);
	if (!c->paths[0] || !c->paths[1]) {
		command_drop(c);
		return -ENOMEM;
	}
	s->recording = true;
	command_push(c, TO_AUDIO);
	return 0;
}

int media_session_record_stop(struct media_session *s)
{
	struct command *c;
	int err;

	if (s->stop_given || !s->recording)
		return -EINVAL;
	err = command_new(&c, s, COMMAND_RECORD);
	if (err)
		return err;
	s->recording = false;
	command_push(c, TO_AUDIO);
	return 0;
}
