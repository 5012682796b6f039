/**
 * One running baresip: its output, its control connection, and the detection of its
 * end and of hangs.
 * Thread: loop; handlers are called from the loop, never within these functions.
 */
#ifndef OFFHOOK_SIP_BARESIP_PROCESS_H
#define OFFHOOK_SIP_BARESIP_PROCESS_H

#include "sip/baresip/event.h"
#include "sip/baresip/launch.h"
#include "sip/baresip/trace.h"

#define BARESIP_START_MS  15000 /* until it accepts commands */
#define BARESIP_ANSWER_MS 10000 /* to a command; later it counts as hung */

struct baresip_process;

struct baresip_process_params {
	const char *account; /* the line of its account; wiped by the caller */
	const char *bind_addr;
	uint16_t rtp_min;
	uint16_t rtp_max;
	bool rtcp_mux;
	/* It accepts commands from now on. */
	void (*up_h)(void *arg);
	void (*message_h)(const struct baresip_message *m, void *arg);
	baresip_traced_h *traced_h;
	/* It ended or was killed, but not by baresip_process_free(). No handler
	 * is called afterwards. @param reason  a sentence */
	void (*lost_h)(const char *reason, void *arg);
	void *arg;
};

/**
 * Start a process.
 * @param reason  SIP_REASON_BYTES; set on failure
 * @return 0; -ENOENT the program or a module is missing; -ENOMEM; -errno
 */
int baresip_process_new(struct baresip_process **ret,
			const struct baresip_process_params *params,
			char *reason);
/** Kill the process and free it. @return NULL */
struct baresip_process *baresip_process_free(struct baresip_process *p);

/** UDP and TCP port of its SIP. */
uint16_t baresip_process_port(const struct baresip_process *p);

/** Send a command, or queue it until it can be sent. @return 0; -EINVAL;
 *  -ENOMEM; -EMSGSIZE */
int baresip_process_command(struct baresip_process *p, const char *command,
			    const char *params, const char *token);

#endif
