/**
 * Starts a baresip process: free ports, its folder, a pseudo terminal for its output
 * (so that each line is available when it is written).
 * Thread: loop.
 */
#ifndef OFFHOOK_SIP_BARESIP_LAUNCH_H
#define OFFHOOK_SIP_BARESIP_LAUNCH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sip/baresip/folder.h"

#define BARESIP_MODULES "/usr/lib/baresip/modules"

struct baresip_launch_params {
	const char *account; /* the line of its account */
	const char *bind_addr;
	uint16_t rtp_min;
	uint16_t rtp_max;
	bool rtcp_mux;
};

struct baresip_launched {
	uint16_t sip_port; /* UDP and TCP */
	struct sockaddr_in control_addr;
	char folder[BARESIP_FOLDER_BYTES]; /* "": there is none */
	pid_t pid;                         /* leader of its group; 0: none */
	int pid_fd;                        /* -1: none */
	int terminal;                      /* does not block; -1: none */
};

/** Check that the program and its modules are installed.
 * @param reason  SIP_REASON_BYTES @return 0; -ENOENT with a reason */
int baresip_installed(char *reason);

/** Start a process.
 * @param ret  the caller's to release, also on failure, where missing parts are
 *             marked as such
 * @return 0; -errno */
int baresip_launch(struct baresip_launched *ret,
		   const struct baresip_launch_params *params);

#endif
