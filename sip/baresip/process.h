/**
 * One running baresip: what it prints, its control connection, and the watch
 * over both and it.
 * Thread: loop; every handler comes from its own turn of the loop.
 */
#ifndef OFFHOOK_SIP_BARESIP_PROCESS_H
#define OFFHOOK_SIP_BARESIP_PROCESS_H

#include "sip/baresip/event.h"
#include "sip/baresip/launch.h"
#include "sip/baresip/trace.h"

#define BARESIP_START_MS  15000 /* until it takes commands */
#define BARESIP_ANSWER_MS 10000 /* to a command; then it hangs */

struct baresip_process;

struct baresip_process_params {
	const char *account; /* the line of its account; wiped by the caller */
	const char *bind_addr;
	uint16_t rtp_min;
	uint16_t rtp_max;
	bool rtcp_mux;
	/* up: it takes commands from now on */
	void (*up_h)(void *arg);
	void (*message_h)(const struct baresip_message *m, void *arg);
	baresip_traced_h *traced_h;
	/* It ended or was ended, not by baresip_process_free(); nothing of it
	 * comes any more. @param reason  a sentence */
	void (*lost_h)(const char *reason, void *arg);
	void *arg;
};

/**
 * @param reason  SIP_REASON_BYTES; why it cannot be
 * @return 0; -ENOENT the program or a module is missing; -ENOMEM; -errno
 */
int baresip_process_new(struct baresip_process **ret,
			const struct baresip_process_params *params,
			char *reason);
/** Ends it, whatever it does. @return NULL */
struct baresip_process *baresip_process_free(struct baresip_process *p);

/** UDP and TCP port of its SIP. */
uint16_t baresip_process_port(const struct baresip_process *p);

/** Send a command, or keep it until it can be sent. @return 0; -EINVAL;
 *  -ENOMEM; -EMSGSIZE */
int baresip_process_command(struct baresip_process *p, const char *command,
			    const char *params, const char *token);

#endif
