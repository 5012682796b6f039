/**
 * The control connection to a baresip process: connects until it listens, sends
 * commands, receives answers and events.
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
	/* It accepts commands from now on. */
	void (*up_h)(void *arg);
	/* Something was received and is read next: read its output before. */
	void (*before_h)(void *arg);
	void (*message_h)(const struct baresip_message *m, void *arg);
	/* The other side closed it. */
	void (*closed_h)(void *arg);
	/* The connection has failed; call baresip_control_end().
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

/** Set up a connection that is not started. @param handlers  copied */
void baresip_control_init(struct baresip_control *c,
			  const struct baresip_control_handlers *handlers);
/** Begin to connect; repeated until baresip listens. */
void baresip_control_start(struct baresip_control *c,
			   const struct sockaddr_in *addr);
/** Send a command, or queue it until it can be sent. @return 0; -EINVAL;
 *  -ENOMEM; -EMSGSIZE */
int baresip_control_command(struct baresip_control *c, const char *command,
			    const char *params, const char *token);
/** Close it: no handler is called any more. */
void baresip_control_end(struct baresip_control *c);
/** Close it and free its buffers. */
void baresip_control_release(struct baresip_control *c);

#endif
