#include "control/cli/common/terminal.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Length of the character at text in bytes. @param ret_plain  false: it must not
 * be printed */
static size_t character(const char *text, bool *ret_plain)
{
	unsigned char c = (unsigned char)text[0];
	size_t len = str_utf8_len(text, strnlen(text, 4));

	*ret_plain = false;
	if (c < 0x20 || c == 0x7f || !len)
		return 1;
	/* C1 controls, among them the 8-bit CSI */
	*ret_plain = !(c == 0xc2 && (unsigned char)text[1] < 0xa0);
	/* marks that reorder text on the screen: U+202A to U+202E, U+2066 to
	 * U+2069 */
	if (c == 0xe2 && ((memcmp(text + 1, "\x80\xaa", 2) >= 0 &&
			   memcmp(text + 1, "\x80\xae", 2) <= 0) ||
			  (memcmp(text + 1, "\x81\xa6", 2) >= 0 &&
			   memcmp(text + 1, "\x81\xa9", 2) <= 0)))
		*ret_plain = false;
	return len;
}

size_t terminal_columns(const char *text)
{
	size_t columns = 0;
	bool plain;

	for (; *text; columns++)
		text += character(text, &plain);
	return columns;
}

/* @return length of the character at text */
static size_t print_character(FILE *out, const char *text)
{
	bool plain;
	size_t len = character(text, &plain);

	if (plain)
		fwrite(text, 1, len, out);
	else
		fputc('?', out);
	return len;
}

size_t terminal_print(FILE *out, const char *text, size_t columns)
{
	bool cut = columns && terminal_columns(text) > columns;
	size_t printed = 0;

	while (*text && !(cut && printed + 1 == columns)) {
		text += print_character(out, text);
		printed++;
	}
	if (cut) {
		fputs("…", out);
		printed++;
	}
	return printed;
}

void terminal_print_lines(FILE *out, const char *text)
{
	while (*text) {
		if (text[0] == '\r' && text[1] == '\n')
			text++;
		if (text[0] == '\n' || text[0] == '\t')
			fputc(*text++, out);
		else
			text += print_character(out, text);
	}
}

void terminal_tell(const char *text)
{
	fputs("offhook: ", stderr);
	terminal_print(stderr, text, 0);
	fputc('\n', stderr);
}

bool terminal_confirm(const char *question)
{
	char line[16] = "";

	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
		return false;
	fprintf(stderr, "%s [y/N] ", question);
	fflush(stderr);
	return fgets(line, sizeof(line), stdin) &&
	       (line[0] == 'y' || line[0] == 'Y');
}

bool terminal_is(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) == 1 && !(term && strcmp(term, "dumb") == 0);
}

size_t terminal_width(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return TERMINAL_COLUMNS;
}

bool terminal_colour(FILE *out)
{
	const char *off = getenv("NO_COLOR");

	return !(off && off[0]) && terminal_is(out);
}
