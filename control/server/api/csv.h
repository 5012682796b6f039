/**
 * CSV tables as spreadsheets export them.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_API_CSV_H
#define OFFHOOK_SERVER_API_CSV_H

#include <jansson.h>

#define CSV_COLUMNS_MAX  32
#define CSV_REASON_BYTES 120

/**
 * A row: member by member what stands below the names of the first line, as
 * text; empty cells are left out.
 * @param line  where it begins, the first line of the text is 1
 * @param row   borrowed
 * @return 0; another value ends the reading and is returned
 */
typedef int(csv_row_h)(unsigned line, json_t *row, void *arg);

/**
 * Read a table.
 * Source: RFC 4180; the separator is the comma, semicolon or tab that comes
 * first in the line of names, and a line may end without CR. Names are read
 * without regard to case and surrounding blanks, empty lines are skipped.
 * @param text    UTF-8, a byte order mark may precede it
 * @param reason  what is wrong, with the number of the line
 * @return 0; -EBADMSG (reason); -ENOMEM; what row_h returned
 */
int csv_read(const char *text, csv_row_h *row_h, void *arg,
	     char reason[static CSV_REASON_BYTES]);

#endif
