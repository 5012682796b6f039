#include "base/log.h"

#include "base/clock.h"
#include "base/journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer lines are cut. */
#define LOG_LINE_BYTES 2048
/* Of a line's entry in the journal: the line may be there twice, as fields. */
#define ENTRY_BYTES (2 * LOG_LINE_BYTES + 512)

/* Written by log_level_set(), read by each thread that logs. Relaxed: it publishes
 * nothing else. */
static _Atomic(enum log_level) shown_level = LOG_LEVEL_INFO;
static const char *program_name = "offhook";
static bool to_journal;
static int journal_fd = -1;

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* syslog(3) priorities, read by the journal as "<N>" */
static const int journal_priority[] = {
	[LOG_LEVEL_ERROR] = 3,
	[LOG_LEVEL_WARNING] = 4,
	[LOG_LEVEL_INFO] = 6,
	[LOG_LEVEL_DEBUG] = 7,
};

void log_setup(enum log_level level, const char *name)
{
	log_level_set(level);
	program_name = name;
	to_journal = journal_is_stderr();
	if (to_journal && journal_fd < 0)
		journal_fd = journal_open();
}

void log_level_set(enum log_level level)
{
	atomic_store_explicit(&shown_level, level, memory_order_relaxed);
}

int log_level_parse(const char *text, enum log_level *ret)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(*level_names);
	     i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int format_prefix(char *line, size_t size, enum log_level level)
{
	char when[CLOCK_TEXT_BYTES];

	if (to_journal)
		return snprintf(line, size, "<%d>", journal_priority[level]);
	clock_format(when, clock_wall_ns());
	return snprintf(line, size, "%s %s[%d] %s: ", when, program_name,
			(int)getpid(), level_names[level]);
}

/* A line must remain one line, whatever a peer sent us. */
static void mask_control(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = ' ';
	}
}

/* @return false: it is not in the journal */
static bool journal_line(enum log_level level, const char *text)
{
	char entry[ENTRY_BYTES];
	size_t bytes;

	if (journal_fd < 0)
		return false;
	bytes = journal_entry(entry, sizeof(entry), journal_priority[level],
			      program_invocation_short_name, text);
	return bytes > 0 &&
	       journal_send(journal_fd, JOURNAL_SOCKET, entry, bytes) == 0;
}

__attribute__((format(printf, 2, 0))) static void log_line(enum log_level level,
							   const char *fmt,
							   va_list args)
{
	char line[LOG_LINE_BYTES];
	size_t used;

	if (level > atomic_load_explicit(&shown_level, memory_order_relaxed))
		return;
	used = (size_t)format_prefix(line, sizeof(line), level);
	vsnprintf(line + used, sizeof(line) - used - 1, fmt, args);
	mask_control(line + used);
	if (journal_line(level, line + used))
		return;
	used = strlen(line);
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* nowhere to report the error */
}

#define DEFINE_LOG(name, level)             \
	void name(const char *fmt, ...)     \
	{                                   \
		va_list args;               \
                                            \
		va_start(args, fmt);        \
		log_line(level, fmt, args); \
		va_end(args);               \
	}

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warning, LOG_LEVEL_WARNING)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
