/**
 * The control connection of a baresip, from the tries until it listens:
 * commands, their answers, its events.
 * Thread: loop.
 */
#ifndef OFFHOOK_SIP_BARESIP_CONTROL_H
#define OFFHOOK_SIP_BARESIP_CONTROL_H

#include <netinet/in.h>
#include <re.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sip/baresip/event.h"
#include "sip/mono_timer.h"

struct baresip_control_handlers {
	/* it takes commands from now on */
	void (*up_h)(void *arg);
	/* something came, which is read next: what it printed goes first */
	void (*before_h)(void *arg);
	void (*message_h)(const struct baresip_message *m, void *arg);
	/* The other side closed it. */
	void (*closed_h)(void *arg);
	/* It cannot go on; baresip_control_end() follows.
	 * @param reason  a sentence */
	void (*broken_h)(const char *reason, void *arg);
	void *arg;
};

struct baresip_control {
	struct baresip_control_handlers handlers;
	struct sockaddr_in addr;
	int fd; /* -1: not connected */
	bool connecting;
	bool up;
	bool ended;
	struct buf in;
	struct buf out;
	int64_t asked_ns; /* oldest command without an answer; 0: none */
	unsigned asked;   /* commands without an answer */
	struct mono_timer tmr_connect;
};

void baresip_control_init(struct baresip_control *c,
			  const struct baresip_control_handlers *handlers);
/** Begin to try. */
void baresip_control_start(struct baresip_control *c,
			   const struct sockaddr_in *addr);
/** Send a command, or keep it until it can be sent. @return 0; -EINVAL;
 *  -ENOMEM; -EMSGSIZE */
int baresip_control_command(struct baresip_control *c, const char *command,
			    const char *params, const char *token);
/** Close it: no handler comes any more. */
void baresip_control_end(struct baresip_control *c);
/** And release what it has. */
void baresip_control_release(struct baresip_control *c);

#endif
