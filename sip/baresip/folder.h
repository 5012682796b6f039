/**
 * The private folder a baresip reads at its start: readable by us alone, gone
 * as soon as it was read.
 */
#ifndef OFFHOOK_SIP_BARESIP_FOLDER_H
#define OFFHOOK_SIP_BARESIP_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#define BARESIP_FOLDER_BYTES 64

struct baresip_setup {
	const char *account;
	const char *bind_addr;
	uint16_t sip_port;
	uint16_t rtp_min;
	uint16_t rtp_max;
	const char *control; /* "127.1.2.3:4444" */
	bool rtcp_mux;
};

/** What it sends: a tone. */
#define BARESIP_SOURCE "ausine,440"

/** Modules it loads, NULL behind the last one. */
extern const char *const baresip_modules[];

/** @param ret  BARESIP_FOLDER_BYTES. @return 0; -errno (nothing is left) */
int baresip_folder_new(char *ret, const struct baresip_setup *setup);
void baresip_folder_remove(const char *path);

#endif
