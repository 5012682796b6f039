/**
 * `offhook analyze`: every RTP stream of a capture file.
 */
#ifndef OFFHOOK_CONTROL_CLI_ANALYZE_H
#define OFFHOOK_CONTROL_CLI_ANALYZE_H

#include <stdbool.h>
#include <stdio.h>

#include "capture/capture.h"

#define ANALYZE_NOTES_MAX 12

/** What was read, and how; for the two printers. */
struct analyze_report {
	const char *path;
	struct capture_options options;
	struct capture *capture;
	const struct reader *reader;
	bool intervals;     /* the table shows them, too */
	const char *damage; /* why reading ended early; NULL: it did not */
	size_t note_count;  /* what a reader of the figures must know */
	char *note[ANALYZE_NOTES_MAX];
};

/** argv[0] is "analyze". @return exit status: 0 streams were found, 1 none
 * or the input is damaged, 2 usage */
int analyze_main(int argc, char **argv);

/** Add to the notes; one too many is left out. */
void analyze_note(struct analyze_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** The notes on what was seen, whatever it was read from. */
void analyze_note_capture(struct analyze_report *r);
void analyze_notes_release(struct analyze_report *r);

/** @return 0; -ENOMEM, -EIO */
int analyze_print_json(const struct analyze_report *r, FILE *out);
int analyze_print_table(const struct analyze_report *r, FILE *out);

#endif
