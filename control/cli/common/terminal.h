/**
 * The terminal that output goes to, and text that is safe to print on it.
 */
#ifndef OFFHOOK_CONTROL_CLI_COMMON_TERMINAL_H
#define OFFHOOK_CONTROL_CLI_COMMON_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#define TERMINAL_COLUMNS 80 /* of a terminal that does not say its width */

/** Print text of the controller: control characters, with which it could drive
 * the terminal, become '?'. A broken UTF-8 sequence is one, too.
 * @param columns  at most so many, then the last one is "…"; 0: all
 * @return columns printed; a character counts as one */
size_t terminal_print(FILE *out, const char *text, size_t columns);

/** The same of a text of several lines: line ends and tabs stay. A CR before a line
 * end is left out. */
void terminal_print_lines(FILE *out, const char *text);

/** Print a line on standard error: "offhook: " and the text, as terminal_print(). */
void terminal_tell(const char *text);

/** Columns that terminal_print() takes for a text. */
size_t terminal_columns(const char *text);

/** True if this goes to a terminal that takes ANSI sequences. */
bool terminal_is(FILE *out);

/** Columns of the terminal, at least 1. */
size_t terminal_width(FILE *out);

/** True if text may be coloured: a terminal, and NO_COLOR is not set
 * (no-color.org). */
bool terminal_colour(FILE *out);

/** Ask on the terminal, standard error and standard input, for yes or no.
 * @return true: yes; false also if there is no terminal */
bool terminal_confirm(const char *question);

#endif
