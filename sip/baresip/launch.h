/**
 * Starting a baresip: ports that are free, its folder, a terminal of its own
 * for its output (so that each line comes when it is written), the process.
 * Thread: loop.
 */
#ifndef OFFHOOK_SIP_BARESIP_LAUNCH_H
#define OFFHOOK_SIP_BARESIP_LAUNCH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sip/baresip/folder.h"

#define BARESIP_PROGRAM "/usr/bin/baresip"
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

/** The program and its modules are there. @return 0; -ENOENT with a reason */
int baresip_installed(char *reason);

/** @param ret  what there is of it is the caller's, also on failure, where the
 *              rest is said to be missing
 *  @return 0; -errno */
int baresip_launch(struct baresip_launched *ret,
		   const struct baresip_launch_params *params);

#endif
