/**
 * The file of a backup: a tar archive (POSIX.1-2017, pax, "ustar Interchange
 * Format") that can be listed and unpacked by tar(1). Its last member, SHA256SUMS,
 * has a line "HASH  NAME" for each other one, as sha256sum(1) checks it. The
 * reader accepts only what the writer writes, so that every changed byte is
 * found.
 * Thread: one owner for each object. The functions wait for the disk.
 */
#ifndef OFFHOOK_SERVER_BACKUP_ARCHIVE_H
#define OFFHOOK_SERVER_BACKUP_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest name of a member, and a terminator. */
#define ARCHIVE_NAME_BYTES 100
#define ARCHIVE_HASH_BYTES 65 /* hex of a SHA-256 and a terminator */

/** @return true: give up */
typedef bool archive_stop_h(void *arg);

/* ---- writing ---- */

struct archive_writer;

/** @param fd  written from its position on; borrowed @param stop_h  asked at
 * each block @return 0; -ENOMEM */
int archive_writer_new(struct archive_writer **ret, int fd, int64_t now_s,
		       archive_stop_h *stop_h, void *arg);
/** Accepts NULL. @return NULL */
struct archive_writer *archive_writer_free(struct archive_writer *w);

/**
 * Add a member.
 * @param source  a regular file, read from its beginning; borrowed
 * @param hash    of what was read
 * @return 0; -ECANCELED; -EAGAIN the file became shorter while it was read;
 *         -errno
 */
int archive_add(struct archive_writer *w, const char *name, int source,
		char hash[static ARCHIVE_HASH_BYTES]);

/** Add a member with this text. @return 0; -errno */
int archive_add_text(struct archive_writer *w, const char *name,
		     const char *text, size_t len);

/** Write the hashes and the end. @return 0; -errno */
int archive_end(struct archive_writer *w);

/* ---- reading ---- */

struct archive_member {
	char name[ARCHIVE_NAME_BYTES];
	int64_t size;
	char hash[ARCHIVE_HASH_BYTES]; /* set when its content was read */
};

struct archive_reader {
	/** A member begins. @param ret_fd  where its content is to be written;
	 * -1: nowhere @return 0; else stop */
	int (*begin)(const struct archive_member *m, int *ret_fd, void *arg);
	/** Its content was read. @param fd  that of begin() @return 0; else
	 * stop */
	int (*end)(const struct archive_member *m, int fd, void *arg);
	archive_stop_h *stop_h;
	void *arg;
};

/**
 * Read all members but SHA256SUMS. Only if 0 is returned the archive was whole.
 * @param why  on -EBADMSG: what is wrong with the archive
 * @return 0; -EBADMSG damaged or not of ours; -ECANCELED; -ENOMEM; -errno; the
 *         handler's value
 */
int archive_read(int fd, const struct archive_reader *r, char *why,
		 size_t why_size);

/** Hash a file. @return 0; -errno */
int archive_hash_file(int fd, char hash[static ARCHIVE_HASH_BYTES],
		      int64_t *ret_size);

#endif
