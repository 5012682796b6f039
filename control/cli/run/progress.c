#include "control/cli/run/progress.h"

#include "base/str.h"
#include "control/cli/common/terminal.h"

#define BAR_MIN    10
#define BAR_MAX    30
#define TEXT_MIN   8
#define HOUR_S     3600
#define TAIL_BYTES 40

static size_t print_bar(FILE *out, double done, size_t width)
{
	size_t full = (size_t)(done * (double)width + 0.5);

	fputc('[', out);
	for (size_t i = 0; i < width; i++)
		fputc(i < full ? '#' : '-', out);
	fputs("] ", out);
	return width + 3;
}

/* "01:07", "1:00:07" */
static void print_time(char *dst, size_t size, int64_t s)
{
	if (s < HOUR_S)
		str_print(dst, size, "%02d:%02d", (int)(s / 60), (int)(s % 60));
	else
		str_print(dst, size, "%lld:%02d:%02d", (long long)(s / HOUR_S),
			  (int)(s / 60 % 60), (int)(s % 60));
}

size_t progress_print(FILE *out, const struct progress *p, size_t columns)
{
	double done = p->done < 0 ? 0 : p->done > 1 ? 1 : p->done;
	size_t left = columns - 1, used = 0, bar;
	char time[TAIL_BYTES], figures[TAIL_BYTES];
	int percent_len, len;

	print_time(time, sizeof(time), p->elapsed_s);
	percent_len =
		str_print(figures, sizeof(figures), "%3.0f %%", 100 * done);
	len = str_print(figures, sizeof(figures), "%3.0f %%  %s", 100 * done,
			time);
	if (left < (size_t)percent_len)
		return 0;
	if (left < (size_t)len) {
		fprintf(out, "%.*s", percent_len, figures);
		return (size_t)percent_len;
	}
	bar = left / 3 > BAR_MAX ? BAR_MAX : left / 3;
	if (bar >= BAR_MIN && left >= (size_t)len + bar + 3)
		used = print_bar(out, done, bar);
	fputs(figures, out);
	used += (size_t)len;
	if (left >= used + 2 + TEXT_MIN) {
		fputs("  ", out);
		used += 2;
		used += terminal_print(out, p->text, left - used);
	}
	return used;
}
