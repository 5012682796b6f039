/* The control connection to a baresip; the test plays the baresip. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sip/baresip/control.h"
#include "sip/ua.h"

#define PATIENCE_MS 20000

struct rig {
	struct baresip_control control;
	int listener; /* -1: not open yet */
	int peer;     /* accepted; -1: none */
	struct sockaddr_in addr;
	unsigned ups;
	unsigned befores;
	unsigned messages;
	unsigned closes;
	char token[BARESIP_WORD_BYTES]; /* of the last message */
	char broken[256];
	bool end_with_message;
};

static void up(void *arg)
{
	((struct rig *)arg)->ups++;
	re_cancel();
}

static void before(void *arg)
{
	((struct rig *)arg)->befores++;
}

static void told(const struct baresip_message *m, void *arg)
{
	struct rig *r = arg;

	r->messages++;
	snprintf(r->token, sizeof(r->token), "%s", m->token);
	if (r->end_with_message)
		baresip_control_end(&r->control);
	re_cancel();
}

static void closed(void *arg)
{
	((struct rig *)arg)->closes++;
	re_cancel();
}

static void broken(const char *reason, void *arg)
{
	struct rig *r = arg;

	snprintf(r->broken, sizeof(r->broken), "%s", reason);
	baresip_control_end(&r->control);
	re_cancel();
}

static void too_late(void *arg)
{
	(void)arg;
	fail_msg("nothing happened");
}

/*
 * Not on the stack, which a failed assertion unwinds: teardown() cancels them.
 */
static struct tmr guard, delay;

/* Run until a handler is called. */
static void run(void)
{
	tmr_start(&guard, PATIENCE_MS, too_late, NULL);
	assert_int_equal(re_main(NULL), 0);
	tmr_cancel(&guard);
}

static void listen_now(struct rig *r)
{
	assert_int_equal(listen(r->listener, 1), 0);
}

static void accept_now(struct rig *r)
{
	r->peer = accept(r->listener, NULL, NULL);
	assert_true(r->peer >= 0);
}

static int setup(void **state)
{
	const struct baresip_control_handlers handlers = {up,     before, told,
							  closed, broken, NULL};
	struct rig *r = calloc(1, sizeof(*r));
	socklen_t len = sizeof(r->addr);

	assert_non_null(r);
	assert_int_equal(sip_loop_init(), 0);
	r->peer = -1;
	r->addr.sin_family = AF_INET;
	r->addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(r->listener, (struct sockaddr *)&r->addr, len),
			 0);
	assert_int_equal(
		getsockname(r->listener, (struct sockaddr *)&r->addr, &len), 0);
	baresip_control_init(&r->control, &handlers);
	r->control.handlers.arg = r;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	tmr_cancel(&guard);
	tmr_cancel(&delay);
	baresip_control_release(&r->control);
	close(r->listener);
	if (r->peer >= 0)
		close(r->peer);
	free(r);
	sip_loop_close();
	return 0;
}

static void say(struct rig *r, const char *text)
{
	ssize_t n = send(r->peer, text, strlen(text), MSG_NOSIGNAL);

	assert_int_equal(n, strlen(text));
}

static void connect_both(struct rig *r)
{
	listen_now(r);
	baresip_control_start(&r->control, &r->addr);
	run();
	accept_now(r);
}

#define ANSWER \
	"49:{\"response\":true,\"ok\":true,\"data\":\"\",\"token\":\"t\"},"

static void listens_later(void *arg)
{
	listen_now(arg);
}

/*
 * A baresip that starts slowly: commands given meanwhile are sent once it
 * listens.
 */
static void test_control_tries_until_it_listens(void **state)
{
	static const char want[] = "30:{\"command\":\"hold\",\"token\":\"t\"},";
	struct rig *r = *state;
	char data[128] = "";

	tmr_start(&delay, 200, listens_later, r);
	baresip_control_start(&r->control, &r->addr);
	assert_int_equal(
		baresip_control_command(&r->control, "hold", NULL, "t"), 0);
	assert_int_equal(r->control.asked, 1);
	assert_int_equal(r->control.asked_ns, 0); /* not connected yet: no
						   * response can be expected */
	run();
	assert_int_equal(r->ups, 1);
	assert_true(r->control.asked_ns > 0);
	accept_now(r);
	say(r, ANSWER);
	run();
	assert_int_equal(r->messages, 1);
	assert_string_equal(r->token, "t");
	assert_int_equal(r->control.asked, 0);
	assert_int_equal(r->control.asked_ns, 0);
	assert_int_equal(recv(r->peer, data, sizeof(data), 0),
			 sizeof(want) - 1);
	assert_string_equal(data, want);
}

/*
 * Events are not responses, and anything else is skipped. Output that was
 * printed is handled first.
 */
static void test_control_takes_what_is_whole(void **state)
{
	struct rig *r = *state;

	connect_both(r);
	assert_int_equal(
		baresip_control_command(&r->control, "hold", NULL, "t"), 0);
	say(r, "2:[],30:{\"event\":true,\"type\":\"VU_TX\"} ,49:{\"resp");
	run();
	assert_int_equal(r->messages, 1);
	assert_int_equal(r->befores, 1);
	assert_int_equal(r->control.asked, 1);
	say(r, "onse\":true,\"ok\":true,\"data\":\"\",\"token\":\"t\"},");
	run();
	assert_int_equal(r->messages, 2);
	assert_int_equal(r->control.asked, 0);
	/* a response without a command has no effect */
	say(r, ANSWER);
	run();
	assert_int_equal(r->control.asked, 0);
}

static void test_control_ends_within_a_message(void **state)
{
	struct rig *r = *state;

	connect_both(r);
	r->end_with_message = true;
	say(r, ANSWER ANSWER);
	run();
	assert_int_equal(r->messages, 1);
	assert_int_equal(
		baresip_control_command(&r->control, "hold", NULL, "t"), 0);
	assert_int_equal(r->control.asked, 0);
}

static void test_control_is_closed(void **state)
{
	struct rig *r = *state;

	connect_both(r);
	close(r->peer);
	r->peer = -1;
	run();
	assert_int_equal(r->closes, 1);
	assert_int_equal(r->control.fd, -1);
	assert_true(r->control.up);
	/*
	 * nobody receives the command or responds: the time-out in sip/baresip
	 * detects it
	 */
	assert_int_equal(
		baresip_control_command(&r->control, "hold", NULL, "t"), 0);
	assert_int_equal(r->control.asked, 1);
}

static void test_control_says_what_is_no_netstring(void **state)
{
	struct rig *r = *state;

	connect_both(r);
	say(r, "HTTP/1.1 200 OK\r\n");
	run();
	assert_string_equal(r->broken,
			    "baresip's control connection sent no netstring");
	assert_int_equal(r->messages, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_control_tries_until_it_listens, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_control_takes_what_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_control_ends_within_a_message, setup, teardown),
		cmocka_unit_test_setup_teardown(test_control_is_closed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_control_says_what_is_no_netstring, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
