/**
 * Writing to files.
 */
#ifndef OFFHOOK_BASE_FILE_H
#define OFFHOOK_BASE_FILE_H

#include <stddef.h>

/**
 * Write all of it: goes on after a short write and after a signal. It may not
 * be on the disk yet. Thread: any.
 * @return 0; or -errno, some of it may be written then
 */
int file_write(int fd, const void *data, size_t len);

/** The same, and wait until it is on the disk (fsync). */
int file_write_synced(int fd, const void *data, size_t len);

#endif
