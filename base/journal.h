/**
 * Lines for the systemd journal, with fields of their own
 * (systemd: "Native Journal Protocol"; sd_journal_send(3) opens its socket with the
 * first line, which an engine's sandbox would refuse).
 */
#ifndef OFFHOOK_BASE_JOURNAL_H
#define OFFHOOK_BASE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/** True if standard error is connected to the journal: $JOURNAL_STREAM names its
 * device and inode (systemd.exec(5)). A program that was started with another
 * standard error may have inherited the variable. */
bool journal_is_stderr(void);

/** Open a socket for journal_send(). @return descriptor, closed at exec; -errno */
int journal_open(void);

/**
 * Write the entry of one line. Words NAME=VALUE at its beginning become fields, too:
 * "run=7 role=caller: started" has OFFHOOK_RUN=7 and OFFHOOK_ROLE=caller.
 * @param priority    of syslog(3), 0 to 7
 * @param identifier  the program's name
 * @param line        without control characters
 * @return length in bytes; 0: it does not fit
 */
size_t journal_entry(char *dst, size_t size, int priority,
		     const char *identifier, const char *line);

/** Send an entry to the journal.
 * @param path  JOURNAL_SOCKET, or that of a test
 * @return 0; -errno. Thread: any */
int journal_send(int fd, const char *path, const char *entry, size_t bytes);

#endif
