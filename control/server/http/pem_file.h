/**
 * Files of certificates and keys in PEM.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SERVER_HTTP_PEM_FILE_H
#define OFFHOOK_SERVER_HTTP_PEM_FILE_H

#include <stdbool.h>

/**
 * Read a file of at most 256 KiB.
 * @param secret  refuse a file that everybody can read
 * @param what    part of a line that must be in it, as "BEGIN CERTIFICATE"
 * @return 0 and the text, to be released by free(); -EINVAL no such line; -EPERM everybody
 *         can read it; -EFBIG; -ENOMEM; -errno; the reason is in the log
 */
int pem_file_read(char **ret, const char *path, bool secret, const char *what);

#endif
