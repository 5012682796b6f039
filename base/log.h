/**
 * Logging of the daemons: one line per event, to standard error. If that is
 * connected to the journal, to the journal itself: with priority, and with words
 * NAME=VALUE at the beginning of a line as fields, such as OFFHOOK_RUN. If the
 * journal's socket is not there, the line is written with a priority prefix.
 * Lower layers return errors and do not log. Secrets are never passed to it.
 * Thread: any; a line is written with one write(2) or sendto(2).
 */
#ifndef OFFHOOK_BASE_LOG_H
#define OFFHOOK_BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/**
 * Set the log level and the program's name in each line. Detects whether the
 * lines go to the journal (JOURNAL_STREAM in the environment), and opens its socket,
 * which a sandbox would refuse later.
 * Thread: main, before another thread logs
 * @param level  less important lines are dropped
 * @param name   program name, borrowed for the process's life
 */
void log_setup(enum log_level level, const char *name);

/** Set another log level. Thread: any. */
void log_level_set(enum log_level level);

/** Parse "error", "warning", "info" or "debug".
 * @return 0; -EINVAL */
int log_level_parse(const char *text, enum log_level *ret);

/** Log one line, formatted as by printf(). One function per level. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
