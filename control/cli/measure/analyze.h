/**
 * `offhook analyze`: every RTP stream of a capture file.
 */
#ifndef OFFHOOK_CONTROL_CLI_MEASURE_ANALYZE_H
#define OFFHOOK_CONTROL_CLI_MEASURE_ANALYZE_H

#include <stdbool.h>
#include <stdio.h>

#include "capture/capture.h"

#define ANALYZE_NOTES_MAX 12

/** What was read, and with which options: input of the table and JSON printers.
 */
struct analyze_report {
	const char *path;
	struct capture_options options;
	struct capture *capture;
	const struct reader *reader;
	bool intervals;     /* the table has the intervals too */
	const char *damage; /* why reading ended early; NULL: read to the end */
	size_t note_count;  /* remarks printed with the figures */
	char *note[ANALYZE_NOTES_MAX];
};

/** Run `offhook analyze`; argv[0] is "analyze". @return exit status: 0 streams
 * were found; 1 no stream, or the input is damaged; 2 wrong usage */
int analyze_main(int argc, char **argv);

/** Add a note. Above ANALYZE_NOTES_MAX it is left out. */
void analyze_note(struct analyze_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Add the notes that apply to files and live capture alike. */
void analyze_note_capture(struct analyze_report *r);
void analyze_notes_release(struct analyze_report *r);

/** Print the report as JSON. @return 0; -ENOMEM; -EIO */
int analyze_print_json(const struct analyze_report *r, FILE *out);
int analyze_print_table(const struct analyze_report *r, FILE *out);

#endif
