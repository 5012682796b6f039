#include "control/cli/call/view.h"

#include "base/clock.h"
#include "control/cli/common/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STREAM(dir, codec, figures)                                         \
	"{\"dir\":\"" dir "\",\"codec\":\"" codec "\",\"packets\":1234567," \
	"\"expected\":1234567,\"lost\":12345,\"loss_pct\":12.34," figures "}"
#define JITTER "\"jitter_ms\":{\"avg\":123.456,\"max\":123.456}"
#define DIRECTION(packets)                                                  \
	"{\"packets\":" packets ",\"lost\":0,\"loss_pct\":0,\"jitter_ms\":" \
	"0.13,\"rtt_ms\":0.2,\"mos\":4.41}"

/* A view of a terminal, which has 80 columns as it does not say its width. */
struct screen {
	struct view view;
	char *text;
	size_t size;
};

static void begin(struct screen *s, bool terminal)
{
	FILE *out = open_memstream(&s->text, &s->size);

	assert_non_null(out);
	view_init(&s->view, out);
	s->view.terminal = terminal;
}

/* @return what was printed; free() */
static char *end(struct screen *s)
{
	fclose(s->view.out);
	return s->text;
}

static void assert_fits(const char *text, size_t width)
{
	char line[1024];

	while (*text) {
		size_t len = strcspn(text, "\n");

		assert_true(len < sizeof(line));
		memcpy(line, text, len);
		line[len] = '\0';
		if (terminal_columns(line) > width)
			fail_msg("too wide: %s", line);
		text += len + (text[len] == '\n');
	}
}

static json_t *parsed(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);

	if (!value)
		fail_msg("no JSON: %s", text);
	return value;
}

static char *live(const char *message, bool terminal)
{
	json_t *value = parsed(message);
	struct screen s;

	begin(&s, terminal);
	view_live(&s.view, value, NS_PER_S);
	json_decref(value);
	return end(&s);
}

static void test_live_line(void **state)
{
	static const struct {
		const char *message, *printed;
		bool terminal;
	} cases[] = {
		{"{\"out\":" DIRECTION("150") ",\"in\":" DIRECTION("149") "}",
		 "00:00  out 150 pkt, lost 0 (0.00 %), jitter 0.13 ms, rtt 0.2 "
		 "ms, MOS 4.41 | in 149 pkt, lost 0 (0.00 %), jitter 0.13 ms, "
		 "rtt 0.2 ms, MOS 4.41\n",
		 false},
		{"{\"out\":" DIRECTION("150") ",\"in\":" DIRECTION("149") "}",
		 "\r\033[K00:00  out 150 pkt, lost 0.00 %, MOS 4.41 | in 149 "
		 "pkt, lost 0.00 %, MOS 4.41",
		 true},
		{"{\"out\":" DIRECTION("123456") ",\"in\":" DIRECTION(
			 "123456") "}",
		 "\r\033[K00:00  out 0.00 %, MOS 4.41 | in 0.00 %, MOS 4.41",
		 true},
		{"{}", "\r\033[K00:00  no audio yet", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = live(cases[i].message, cases[i].terminal);

		assert_string_equal(text, cases[i].printed);
		free(text);
	}
}

/* What a peer sends drives no terminal: C0 and C1 controls, DEL and marks that
 * reorder text. */
static void test_sip_message_of_a_peer(void **state)
{
	json_t *message = parsed(
		"{\"dir\":\"received\",\"peer\":\"192.0.2.1:5060\","
		"\"transport\":\"udp\",\"encoding\":\"text\",\"data\":"
		"\"SIP/2.0 200 OK\\r\\nServer:\\tä\\u009b31m\\u001b[31m\\u007f"
		"\\u202ex\\r\\n\"}");
	struct screen s;
	char *text;

	(void)state;
	begin(&s, false);
	view_sip(&s.view, message);
	text = end(&s);
	assert_string_equal(text, "--- received from 192.0.2.1:5060 udp text\n"
				  "SIP/2.0 200 OK\n"
				  "Server:\tä?31m?[31m??x\n");
	free(text);
	json_decref(message);
}

static void test_table_fits_80_columns(void **state)
{
	json_t *call = parsed(
		"{\"call\":\"caller-1\",\"direction\":\"out\",\"peer\":"
		"\"sip:a-very-long-name-of-a-user@a-very-long-name-of-a-domain."
		"example.org\",\"established\":true,\"end\":\"local\","
		"\"pdd_ms\":12345.6,\"streams\":[" STREAM(
			"out", "L16/44100",
			JITTER
			",\"rtt_ms\":{\"avg\":1234.56},\"mos_total\":"
			"4.41,\"mos_scale\":\"fb\",\"r_factor\":148.0,"
			"\"lost_note\":\"the peer counts duplicates as "
			"received, so that it reports less than was "
			"lost\"") "," STREAM("in", "PCMU",
					     JITTER
					     ",\"mos_total\":4.41,"
					     "\"mos_scale\":\"nb"
					     "\",\"r_factor\":"
					     "93.2,\"audio\":{"
					     "\"level_dbov\":"
					     "-20,\"peak_dbov\":"
					     "-3,\"clipped_pct\":"
					     "0,\"silence_max_"
					     "ms\":120}") "," STREAM("in",
								     "opus",
								     "\"no_score\":\"no values\"") "]}");
	struct screen s;
	char *text;

	(void)state;
	begin(&s, true);
	view_call(&s.view, call);
	text = end(&s);
	assert_fits(text, 80);
	assert_null(strstr(text, "expected"));
	assert_non_null(strstr(text, " 148.0/148\n"));
	assert_non_null(strstr(text, "93.2/100\n"));
	assert_non_null(strstr(text, "     -        -\n"));
	free(text);
	/* whole in a pipe */
	begin(&s, false);
	view_call(&s.view, call);
	text = end(&s);
	assert_non_null(strstr(text, "so that it reports less than was "
				     "lost\n"));
	free(text);
	json_decref(call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_line),
		cmocka_unit_test(test_table_fits_80_columns),
		cmocka_unit_test(test_sip_message_of_a_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
