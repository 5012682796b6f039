/**
 * The head of a command from the loop to one media thread. Each thread defines
 * the rest of its command (rx_session.h, tx_session.h, measure_session.h,
 * audio_session.h). The loop owns the memory. From the push until the thread
 * has called command_done() the loop does not change it.
 */
#ifndef OFFHOOK_MEDIA_COMMAND_H
#define OFFHOOK_MEDIA_COMMAND_H

#include <stdatomic.h>
#include <stdint.h>

enum command_kind {
	COMMAND_ADD,    /* the session exists */
	COMMAND_APPLY,  /* offer and answer are settled (again) */
	COMMAND_UNTIL,  /* TX: do not send at or after until_ns */
	COMMAND_DTMF,   /* TX: send digits as telephone-event */
	COMMAND_TONES,  /* TX: send digits as tones */
	COMMAND_PLAY,   /* TX: play a file once */
	COMMAND_MUTE,   /* TX: send silence, or stop doing so */
	COMMAND_LISTEN, /* audio: report when something is heard */
	COMMAND_RECORD, /* audio: start or stop recording */
	COMMAND_REKEY,  /* RX: one side offers new keys. The peer may use its
			 * new key before it is in force here */
	COMMAND_TAP,    /* RX: ports of a tapped session */
	COMMAND_RELAY,  /* RX: the channels of the TURN server */
	COMMAND_STOP,   /* the session ends */
};

struct command_head {
	enum command_kind kind;
	int64_t mono_ns;           /* when the loop issued the command,
				    * monotonic */
	_Atomic unsigned *holders; /* number of threads that have not finished
				    * with it */
};

/** The thread has finished with the command and does not read it again. Thread:
 * the thread that received the command. */
static inline void command_done(const struct command_head *head)
{
	/* release: pairs with the acquire in commands_sweep(); the thread has
	 * read the command before the loop reuses it */
	atomic_fetch_sub_explicit(head->holders, 1, memory_order_release);
}

#endif
