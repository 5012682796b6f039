#include "media/tx/tx_play.h"

#include "media/engine/media_session.h"

#include <string.h>

void tx_play_begin(struct tx_play *p, struct command *c)
{
	*p = (struct tx_play){.command = c};
}

void tx_play_end(struct tx_play *p)
{
	struct command *c = p->command;

	memset(p, 0, sizeof(*p));
	if (c)
		command_done(c);
}

bool tx_play_fits(const struct tx_play *p, const struct codec *codec,
		  uint16_t ptime_ms)
{
	return p->command->codec == codec && p->command->ptime_ms == ptime_ms;
}

bool tx_play_step(struct tx_play *p, size_t bytes)
{
	const struct clip *clip = p->command->clip;
	size_t packets = clip->frames ? clip->count : clip->count / bytes;

	return ++p->packet >= packets;
}
