/**
 * Writing to files, and folders that keep them.
 */
#ifndef OFFHOOK_BASE_FILE_H
#define OFFHOOK_BASE_FILE_H

#include <stddef.h>

/**
 * Write all of it: continues after a short write and after a signal. The data
 * may not be on the disk yet. Thread: any.
 * @return 0; -errno (a part may have been written)
 */
int file_write(int fd, const void *data, size_t len);

/** The same, but wait until the data is on the disk (fsync). */
int file_write_synced(int fd, const void *data, size_t len);

/** Put the entries of a folder on the disk (fsync): files made or renamed in it are
 * there after a power cut. Thread: any. @return 0; -errno */
int file_sync_folder(const char *folder);

/** The same for the folder of a file. */
int file_sync_folder_of(const char *file);

#endif
