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
 * Called per row: an object with the cells as texts, named by the first line;
 * empty cells are left out.
 * @param line  number of its first line, from 1
 * @param row   borrowed
 * @return 0; another value ends the reading and is returned
 */
typedef int(csv_row_h)(unsigned line, json_t *row, void *arg);

/**
 * Read a table.
 * Source: RFC 4180. The separator is the comma, semicolon or tab that comes
 * first in the line of names. A line may end without CR. Case and surrounding
 * blanks of names are ignored, empty lines are skipped.
 * @param text    UTF-8, a byte order mark may precede it
 * @param reason  what is wrong, with the number of the line
 * @return 0; -EBADMSG (reason); -ENOMEM; what row_h returned
 */
int csv_read(const char *text, csv_row_h *row_h, void *arg,
	     char reason[static CSV_REASON_BYTES]);

#endif
