/**
 * Inside of the TX thread: a file that is played once, in the place of the
 * prompt. Thread: TX; never blocks or allocates.
 */
#ifndef OFFHOOK_MEDIA_TX_TX_PLAY_H
#define OFFHOOK_MEDIA_TX_TX_PLAY_H

#include "media/audio/codec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;

struct tx_play {
	struct command *command; /* COMMAND_PLAY, held; NULL: none */
	size_t at;               /* in its clip: byte, or frame */
	size_t packet;
};

/** Begin. @param c  kept until it is over */
void tx_play_begin(struct tx_play *p, struct command *c);

/** Give the command back. */
void tx_play_end(struct tx_play *p);

/** Whether it was made for these packets. */
bool tx_play_fits(const struct tx_play *p, const struct codec *codec,
		  uint16_t ptime_ms);

/** A packet was sent. @param bytes  of a packet of a byte stream
 * @return true: it was the last one */
bool tx_play_step(struct tx_play *p, size_t bytes);

#endif
