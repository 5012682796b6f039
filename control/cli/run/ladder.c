#include "control/cli/run/ladder.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/cli/common/terminal.h"
#include "control/wire/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LABEL_BYTES     100
#define CALL_ID_BYTES   256
#define ADDRESSES_MAX   12 /* columns; a dialog with more becomes a list */
#define ROW_BYTES       1024
#define TIME_COLUMNS    11
#define COLUMN_MIN      12 /* narrower ladders become lists */
#define SIGNATURE_BYTES (8u << 20)

/* ---- what a message is ---- */

/* Find the value of a header by its long or compact name (RFC 3261 7.3.3).
 * @return length; 0: there is none */
static size_t header_of(const char *message, const char *name, char compact,
			const char **ret)
{
	size_t len = strlen(name);

	for (const char *line = strchr(message, '\n'); line;
	     line = strchr(line, '\n')) {
		const char *at = ++line;

		if (*at == '\r' || *at == '\n')
			break; /* the body */
		if (strncasecmp(at, name, len) == 0)
			at += len;
		else if (compact && (*at | 0x20) == compact)
			at++;
		else
			continue;
		at += strspn(at, " \t");
		if (*at++ != ':')
			continue;
		at += strspn(at, " \t");
		*ret = at;
		return strcspn(at, "\r\n");
	}
	return 0;
}

static void call_id_of(const json_t *m, char dst[static CALL_ID_BYTES])
{
	const char *value = "";
	size_t len = header_of(text_of(m, "text"), "Call-ID", 'i', &value);

	str_print(dst, CALL_ID_BYTES, "%.*s", (int)len, value);
}

/* "INVITE (SDP)", "200 OK (INVITE, SDP)", or the first line where it is no SIP. */
static void label_of(const json_t *m, char dst[static LABEL_BYTES])
{
	const char *line = text_of(m, "line"), *text = text_of(m, "text");
	const char *method = "", *type = "";
	size_t method_len = header_of(text, "CSeq", 0, &method);
	size_t type_len = header_of(text, "Content-Type", 'c', &type);
	bool sdp =
		type_len >= 15 && strncasecmp(type, "application/sdp", 15) == 0;
	size_t digits = strspn(method, "0123456789 \t");

	if (strncmp(line, "SIP/2.0 ", 8) == 0 && digits < method_len)
		str_print(dst, LABEL_BYTES, "%.60s (%.*s%s)", line + 8,
			  (int)(method_len - digits), method + digits,
			  sdp ? ", SDP" : "");
	else if (strncmp(line, "SIP/2.0 ", 8) == 0)
		str_print(dst, LABEL_BYTES, "%.60s", line + 8);
	else if (strstr(line, " SIP/2.0"))
		str_print(dst, LABEL_BYTES, "%.*s%s", (int)strcspn(line, " "),
			  line, sdp ? " (SDP)" : "");
	else
		str_print(dst, LABEL_BYTES, "%.60s", line);
}

static json_t *entry_of(const json_t *m)
{
	bool sent = strcmp(text_of(m, "dir"), "sent") == 0;
	const char *role = text_of(m, "role"), *peer = text_of(m, "peer");
	char label[LABEL_BYTES];

	label_of(m, label);
	return json_pack("{s:f, s:s, s:s, s:o}", "t_ms",
			 json_number_value(json_object_get(m, "t_ms")), "from",
			 sent ? role : peer, "to", sent ? peer : role, "label",
			 wire_text(label));
}

/* ---- dialogs ---- */

/* Add a message to the dialog of its Call-ID, at its place in order of time.
 * @return false: out of memory */
static bool add_message(json_t *dialogs, json_t *index, const json_t *m)
{
	char call_id[CALL_ID_BYTES];
	json_t *dialog, *entry = entry_of(m);
	bool sent = strcmp(text_of(m, "dir"), "sent") == 0;

	call_id_of(m, call_id);
	dialog = json_object_get(index, call_id);
	if (!dialog) {
		dialog = json_pack("{s:o, s:i, s:[], s:[]}", "call_id",
				   wire_text(call_id), "dialogs", 1, "messages",
				   "lines");
		/* a Call-ID that is no UTF-8 is not found again: no key */
		if (!dialog || json_array_append_new(dialogs, dialog)) {
			json_decref(entry);
			return false;
		}
		(void)json_object_set(index, call_id, dialog);
	}
	if (!entry)
		return false;
	return !json_array_append_new(json_object_get(dialog, "lines"),
				      json_sprintf("%s %s %s",
						   text_of(m, "role"),
						   sent ? "->" : "<-",
						   text_of(entry, "label"))) &&
	       !json_array_append_new(json_object_get(dialog, "messages"),
				      entry);
}

/* What makes dialogs alike: who sent what in which order. @return NULL: out of
 * memory, or too long */
static json_t *signature_of(const json_t *dialog)
{
	const json_t *line;
	json_t *signature = NULL;
	struct buf text;
	size_t i;
	int err = 0;

	buf_init(&text, SIGNATURE_BYTES);
	json_array_foreach(json_object_get(dialog, "lines"), i, line)
	{
		if (!err)
			err = buf_print(&text, "%s\n", json_string_value(line));
	}
	if (!err)
		signature = json_stringn(text.used ? text.data : "", text.used);
	buf_release(&text);
	return signature;
}

/* Keep the first of the dialogs that are alike. @return false: out of memory */
static bool fold(json_t *dialogs, json_t *folded)
{
	json_t *seen = json_object(), *dialog;
	bool fine = seen != NULL;
	size_t i;

	json_array_foreach(dialogs, i, dialog)
	{
		json_t *signature = signature_of(dialog), *first;

		if (!fine || !signature) {
			json_decref(signature);
			fine = false;
			break;
		}
		first = json_object_get(seen, json_string_value(signature));
		if (first)
			json_integer_set(json_object_get(first, "dialogs"),
					 json_integer_value(json_object_get(
						 first, "dialogs")) +
						 1);
		else
			fine = !json_object_set(seen,
						json_string_value(signature),
						dialog) &&
			       !json_array_append(folded, dialog);
		json_object_del(dialog, "lines");
		if (fine && !first)
			fine = !json_object_set(dialog, "signature", signature);
		json_decref(signature);
	}
	json_decref(seen);
	return fine;
}

json_t *ladder_fold(const json_t *messages)
{
	json_t *dialogs = json_array(), *index = json_object();
	json_t *folded = json_array();
	bool fine = dialogs && index && folded;
	const json_t *m;
	size_t i;

	json_array_foreach(messages, i, m)
	{
		fine = fine && add_message(dialogs, index, m);
	}
	fine = fine && fold(dialogs, folded);
	json_decref(dialogs);
	json_decref(index);
	if (!fine) {
		json_decref(folded);
		return NULL;
	}
	return folded;
}

/* ---- as text ---- */

struct columns {
	const char *names[ADDRESSES_MAX];
	size_t count;
	size_t gap; /* between lifelines */
};

/* @return index; ADDRESSES_MAX: there is no place */
static size_t column_of(struct columns *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->names[i], name) == 0)
			return i;
	if (c->count == ADDRESSES_MAX)
		return ADDRESSES_MAX;
	c->names[c->count] = name;
	return c->count++;
}

/* Find the columns of a dialog. @return false: it does not fit */
static bool lay_out(struct columns *c, const json_t *messages, size_t width)
{
	const json_t *m;
	size_t i, widest = COLUMN_MIN;

	*c = (struct columns){.count = 0};
	json_array_foreach(messages, i, m)
	{
		size_t label = strlen(text_of(m, "label")) + 8;

		if (column_of(c, text_of(m, "from")) == ADDRESSES_MAX ||
		    column_of(c, text_of(m, "to")) == ADDRESSES_MAX)
			return false;
		if (label > widest)
			widest = label;
	}
	for (i = 0; i < c->count; i++)
		if (strlen(c->names[i]) + 2 > widest)
			widest = strlen(c->names[i]) + 2;
	c->gap = widest;
	if (width && c->count) {
		size_t most = width > TIME_COLUMNS
				      ? (width - TIME_COLUMNS) / c->count
				      : 0;

		if (most < c->gap)
			c->gap = most;
	}
	return c->gap >= COLUMN_MIN &&
	       TIME_COLUMNS + c->gap * c->count < ROW_BYTES;
}

/* Copy what may be printed into a row; it stays ASCII, a byte a column. */
static void put(char *row, const char *text, size_t most)
{
	for (size_t i = 0; text[i] && i < most; i++) {
		unsigned char c = (unsigned char)text[i];

		row[i] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
	}
}

static void print_row(FILE *out, char *row, size_t len)
{
	while (len && row[len - 1] == ' ')
		len--;
	fprintf(out, "%.*s\n", (int)len, row);
}

static void print_names(FILE *out, const struct columns *c)
{
	char row[ROW_BYTES];

	memset(row, ' ', sizeof(row));
	put(row + 7, "ms", 2);
	for (size_t i = 0; i < c->count; i++)
		put(row + TIME_COLUMNS + i * c->gap, c->names[i], c->gap - 1);
	print_row(out, row, TIME_COLUMNS + c->count * c->gap);
}

static void print_arrow(FILE *out, struct columns *c, const json_t *m)
{
	size_t from = column_of(c, text_of(m, "from"));
	size_t to = column_of(c, text_of(m, "to"));
	size_t left = from < to ? from : to,
	       span = from < to ? to - from : from - to;
	const char *label = text_of(m, "label");
	char row[ROW_BYTES], *start, time[32];
	size_t len, room;

	memset(row, ' ', sizeof(row));
	str_print(time, sizeof(time), "%9.1f",
		  json_number_value(json_object_get(m, "t_ms")));
	put(row, time, TIME_COLUMNS - 1);
	for (size_t i = 0; i < c->count; i++)
		row[TIME_COLUMNS + i * c->gap] = '|';
	start = row + TIME_COLUMNS + left * c->gap + 1;
	if (span) {
		room = span * c->gap - 1;
		memset(start, '-', room);
		start[from < to ? room - 1 : 0] = from < to ? '>' : '<';
		len = strlen(label);
		if (len > room - 4 && strstr(label, " ("))
			len = (size_t)(strstr(label, " (") - label);
		if (len > room - 4)
			len = room - 4;
		start += (room - len) / 2;
		start[-1] = start[len] = ' ';
		put(start, label, len);
	} else { /* to itself */
		put(start + 1, label, c->gap - 2);
	}
	print_row(out, row, TIME_COLUMNS + c->count * c->gap);
}

static void print_list(FILE *out, const json_t *messages)
{
	const json_t *m;
	size_t i;

	json_array_foreach(messages, i, m)
	{
		fprintf(out, "%9.1f  ",
			json_number_value(json_object_get(m, "t_ms")));
		terminal_print(out, text_of(m, "from"), 0);
		fputs(" -> ", out);
		terminal_print(out, text_of(m, "to"), 0);
		fputs(": ", out);
		terminal_print(out, text_of(m, "label"), 0);
		fputc('\n', out);
	}
}

void ladder_print(FILE *out, const json_t *folded, size_t width)
{
	const json_t *dialog, *m;
	struct columns columns;
	size_t i, k;

	json_array_foreach(folded, i, dialog)
	{
		const json_t *messages = json_object_get(dialog, "messages");
		long long alike = (long long)json_integer_value(
			json_object_get(dialog, "dialogs"));

		if (i)
			fputc('\n', out);
		fputs("Call-ID ", out);
		terminal_print(out, text_of(dialog, "call_id"),
			       width > 8 ? width - 8 : 0);
		if (alike > 1)
			fprintf(out,
				"\n%lld dialogs with these messages; the times "
				"are of this one",
				alike);
		fputc('\n', out);
		if (!lay_out(&columns, messages, width)) {
			print_list(out, messages);
			continue;
		}
		print_names(out, &columns);
		json_array_foreach(messages, k, m)
		{
			print_arrow(out, &columns, m);
		}
	}
}
