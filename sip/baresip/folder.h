/**
 * The private folder with the configuration that baresip reads at its start: mode
 * 0700, removed as soon as it was read.
 */
#ifndef OFFHOOK_SIP_BARESIP_FOLDER_H
#define OFFHOOK_SIP_BARESIP_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#define BARESIP_FOLDER_BYTES 128

struct baresip_setup {
	const char *account;
	const char *bind_addr;
	uint16_t sip_port;
	uint16_t rtp_min;
	uint16_t rtp_max;
	const char *control; /* "127.1.2.3:4444" */
	bool rtcp_mux;
};

/** Its audio source: a tone. */
#define BARESIP_SOURCE "ausine,440"

/** Modules that it loads, ended by NULL. */
extern const char *const baresip_modules[];

/** Make the folder and its files. @param ret  its path, BARESIP_FOLDER_BYTES
 * @return 0; -errno (nothing is left) */
int baresip_folder_new(char *ret, const struct baresip_setup *setup);
/** Remove the folder and its files. */
void baresip_folder_remove(const char *path);

#endif
