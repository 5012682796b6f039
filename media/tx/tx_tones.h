/**
 * Inside of the TX thread: an order of digits as tones, in the place of the
 * prompt. Thread: TX; never blocks or allocates.
 */
#ifndef OFFHOOK_MEDIA_TX_TX_TONES_H
#define OFFHOOK_MEDIA_TX_TX_TONES_H

#include "media/audio/dtmf_tones.h"

struct command;

struct tx_tones {
	struct command *command; /* COMMAND_TONES, held; NULL: none */
	size_t at;               /* in its clip: byte, or frame */
	size_t packet;
	size_t digit;
};

/** Begin. @param c  kept until it is over */
void tx_tones_begin(struct tx_tones *t, struct command *c);

/** Give the command back. */
void tx_tones_end(struct tx_tones *t);

/** Whether they were made for these packets. */
bool tx_tones_fit(const struct tx_tones *t, const struct codec *codec,
		  uint16_t ptime_ms);

#endif
