#include "media/tx/tx_tones.h"

#include "media/engine/media_session.h"

#include <string.h>

void tx_tones_begin(struct tx_tones *t, struct command *c)
{
	*t = (struct tx_tones){.command = c};
}

void tx_tones_end(struct tx_tones *t)
{
	struct command *c = t->command;

	memset(t, 0, sizeof(*t));
	if (c)
		command_done(c);
}

bool tx_tones_fit(const struct tx_tones *t, const struct codec *codec,
		  uint16_t ptime_ms)
{
	return t->command->codec == codec &&
	       t->command->tones.ptime_ms == ptime_ms;
}
