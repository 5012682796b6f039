#include "agent/supervisor/terminal.h"

#include "base/clock.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 1024

static const char *text_of(json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

#define FIGURE_BYTES 32

/* A number as text; an unknown one is a dash, never zero.
 * @param unit  behind it, such as " ms" */
static const char *figure(char dst[static FIGURE_BYTES], json_t *object,
			  const char *name, int decimals, const char *unit)
{
	json_t *number = json_object_get(object, name);

	if (json_is_number(number))
		str_print(dst, FIGURE_BYTES, "%.*f%s", decimals,
			  json_number_value(number), unit);
	else
		str_print(dst, FIGURE_BYTES, "-%s", unit);
	return dst;
}

/* Control characters, C1 too, could do anything to a terminal. */
static void make_harmless(char *line)
{
	for (unsigned char *c = (unsigned char *)line; *c; c++) {
		if (*c < ' ' || *c == 0x7f) {
			*c = '?';
		} else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) {
			c[0] = c[1] = '?';
			c++;
		}
	}
}

/* @param t_us  wall time, us; 0: now */
__attribute__((format(printf, 3, 4))) static void line(const char *role,
						       int64_t t_us,
						       const char *fmt, ...)
{
	char text[LINE_BYTES], when[CLOCK_TEXT_BYTES];
	int64_t t_ns = t_us > 0 && t_us < INT64_MAX / NS_PER_US
			       ? t_us * NS_PER_US
			       : clock_wall_ns();
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	make_harmless(text);
	clock_format(when, t_ns);
	printf("%s.%03d %s: %s\n", when, (int)(t_ns % NS_PER_S / NS_PER_MS),
	       role, text);
}

static int64_t time_of(json_t *item)
{
	return json_integer_value(json_object_get(item, "t"));
}

/* ---- events ---- */

static void show_state(const char *role, json_t *e)
{
	const char *call = text_of(e, "call"), *text = text_of(e, "text");

	line(role, time_of(e), "%s %s%s%s%s%s", text_of(e, "account"),
	     text_of(e, "state"), call[0] ? " " : "", call, text[0] ? ": " : "",
	     text);
}

static void show_register(const char *role, json_t *e)
{
	int code = (int)json_integer_value(json_object_get(e, "code"));
	char ms[FIGURE_BYTES];

	figure(ms, e, "ms", 0, " ms");
	if (code)
		line(role, time_of(e), "register %s: %d %s after %s",
		     text_of(e, "account"), code, text_of(e, "reason"), ms);
	else
		line(role, time_of(e), "register %s: no answer after %s",
		     text_of(e, "account"), ms);
}

static void show_stream(const char *role, json_t *e, json_t *stream)
{
	json_t *jitter = json_object_get(stream, "jitter_ms");
	char packets[FIGURE_BYTES], lost[FIGURE_BYTES], share[FIGURE_BYTES];
	char mean[FIGURE_BYTES], mos[FIGURE_BYTES];

	line(role, time_of(e),
	     "  %s %s: %s packets, %s lost (%s), jitter %s, MOS %s",
	     text_of(stream, "dir"), text_of(stream, "codec"),
	     figure(packets, stream, "packets", 0, ""),
	     figure(lost, stream, "lost", 0, ""),
	     figure(share, stream, "loss_pct", 2, " %"),
	     figure(mean, jitter, "avg", 1, " ms"),
	     figure(mos, stream, "mos_total", 2, ""));
}

static void show_call(const char *role, json_t *e)
{
	bool out = strcmp(text_of(e, "direction"), "out") == 0;
	int code = (int)json_integer_value(json_object_get(e, "code"));
	char answer[16] = "", setup[FIGURE_BYTES], duration[FIGURE_BYTES];
	json_t *stream;
	size_t i;

	if (code > 0)
		str_print(answer, sizeof(answer), "%d ", code);
	line(role, time_of(e),
	     "call %s %s %s %s ended (%s): %s%s, set up in %s, lasted %s",
	     text_of(e, "call"), text_of(e, "account"), out ? "to" : "from",
	     text_of(e, "peer"), text_of(e, "end"), answer,
	     text_of(e, "reason"), figure(setup, e, "setup_ms", 0, " ms"),
	     figure(duration, e, "duration_ms", 0, " ms"));
	json_array_foreach(json_object_get(e, "streams"), i, stream)
		show_stream(role, e, stream);
}

static void show_event(const char *role, json_t *e)
{
	const char *kind = text_of(e, "kind");

	if (strcmp(kind, "state") == 0)
		show_state(role, e);
	else if (strcmp(kind, "register") == 0)
		show_register(role, e);
	else if (strcmp(kind, "call") == 0)
		show_call(role, e);
	else if (strcmp(kind, "dtmf") == 0)
		line(role, time_of(e), "digit %s %s", text_of(e, "digit"),
		     strcmp(text_of(e, "direction"), "out") == 0 ? "sent"
								 : "received");
	else if (strcmp(kind, "assert") == 0 || strcmp(kind, "flaw") == 0)
		line(role, time_of(e), "%s: %s", kind, text_of(e, "text"));
}

/* ---- the rest ---- */

/* The first line alone: the others may have an answer to a challenge. */
static void show_sip(const char *role, json_t *m)
{
	const char *data = text_of(m, "data");
	bool readable = !json_object_get(m, "encoding");
	int len = (int)(readable ? strcspn(data, "\r\n") : 0);

	line(role, time_of(m), "%s %s %s: %.*s%s",
	     strcmp(text_of(m, "dir"), "sent") == 0 ? "->" : "<-",
	     text_of(m, "transport"), text_of(m, "peer"),
	     len < LINE_BYTES ? len : LINE_BYTES, data,
	     readable ? "" : "(not UTF-8)");
}

static void show_series(const char *role, json_t *s)
{
	int64_t t_s = time_of(s);
	char mean[FIGURE_BYTES], least[FIGURE_BYTES], most[FIGURE_BYTES];
	char count[FIGURE_BYTES];

	line(role, t_s < INT64_MAX / 1000000 ? t_s * 1000000 : 0,
	     "%s %s: %s (%s to %s, of %s)", text_of(s, "measure"),
	     text_of(s, "dir"), figure(mean, s, "avg", 3, ""),
	     figure(least, s, "min", 3, ""), figure(most, s, "max", 3, ""),
	     figure(count, s, "n", 0, ""));
}

void terminal_show(const char *role, json_t *message)
{
	const char *type = text_of(message, "type");
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(message, "events"), i, item)
		show_event(role, item);
	json_array_foreach(json_object_get(message, "messages"), i, item)
		show_sip(role, item);
	json_array_foreach(json_object_get(message, "series"), i, item)
		show_series(role, item);
	if (strcmp(type, "finish") == 0)
		line(role, 0, "finished: %s%s%s", text_of(message, "outcome"),
		     text_of(message, "reason")[0] ? ": " : "",
		     text_of(message, "reason"));
	fflush(stdout);
}
