#include "control/wire/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct pair {
	struct wire_channel *a;
	int b; /* the other end, without the frame layer */
};

static struct pair pair_new(void)
{
	struct pair p;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(wire_channel_new(&p.a, fds[0]), 0);
	p.b = fds[1];
	return p;
}

static void pair_close(struct pair *p)
{
	wire_channel_free(p->a);
	if (p->b >= 0)
		close(p->b);
}

static void put(struct pair *p, const char *text)
{
	assert_int_equal(write(p->b, text, strlen(text)),
			 (ssize_t)strlen(text));
}

static void test_receive_pieces(void **state)
{
	struct pair p = pair_new();
	json_t *message = NULL;

	(void)state;
	assert_int_equal(wire_channel_receive(p.a, &message), 0);
	put(&p, "{\"type\":");
	assert_int_equal(wire_channel_receive(p.a, &message), 0);
	put(&p, "\"a\"}\n{\"type\":\"b\"}\n{");
	assert_int_equal(wire_channel_receive(p.a, &message), 1);
	assert_string_equal(json_string_value(json_object_get(message, "type")),
			    "a");
	json_decref(message);
	assert_int_equal(wire_channel_receive(p.a, &message), 1);
	assert_string_equal(json_string_value(json_object_get(message, "type")),
			    "b");
	json_decref(message);
	assert_int_equal(wire_channel_receive(p.a, &message), 0);
	close(p.b);
	p.b = -1;
	assert_int_equal(wire_channel_receive(p.a, &message), -EPIPE);
	assert_int_equal(wire_channel_receive(p.a, &message), -EPIPE);
	pair_close(&p);
}

static void test_receive_last_before_close(void **state)
{
	struct pair p = pair_new();
	json_t *message = NULL;

	(void)state;
	put(&p, "{\"n\":1}\n{\"n\":2}\n");
	close(p.b);
	p.b = -1;
	assert_int_equal(wire_channel_receive(p.a, &message), 1);
	json_decref(message);
	assert_int_equal(wire_channel_receive(p.a, &message), 1);
	json_decref(message);
	assert_int_equal(wire_channel_receive(p.a, &message), -EPIPE);
	pair_close(&p);
}

static void test_receive_garbage(void **state)
{
	struct pair p = pair_new();
	json_t *message = NULL;

	(void)state;
	put(&p, "hello\n");
	assert_int_equal(wire_channel_receive(p.a, &message), -EBADMSG);
	put(&p, "[1]\n");
	assert_int_equal(wire_channel_receive(p.a, &message), -EBADMSG);
	pair_close(&p);
}

/* A megabyte does not fit into the socket buffer: the rest is sent by flush. */
static void test_send_more_than_the_socket_takes(void **state)
{
	struct pair p = pair_new();
	struct wire_channel *b;
	size_t size = 1 << 20;
	char *text = malloc(size + 1);
	json_t *message;
	json_t *got = NULL;
	int r;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	text[size] = '\0';
	assert_int_equal(wire_channel_new(&b, p.b), 0);
	message = json_pack("{s:s}", "data", text);
	assert_int_equal(wire_channel_send(p.a, message), 0);
	assert_int_equal(wire_channel_send(p.a, message), 0);
	json_decref(message);
	for (int i = 0; i < 2; i++) {
		while ((r = wire_channel_receive(b, &got)) == 0)
			assert_true(wire_channel_flush(p.a) >= 0);
		assert_int_equal(r, 1);
		assert_string_equal(
			json_string_value(json_object_get(got, "data")), text);
		json_decref(got);
	}
	assert_int_equal(wire_channel_flush(p.a), 0);
	free(text);
	wire_channel_free(b);
	wire_channel_free(p.a);
}

static void test_send_ceilings(void **state)
{
	struct pair p = pair_new();
	size_t size = WIRE_FRAME_BYTES;
	char *text = malloc(size + 1);
	json_t *big;
	json_t *message;
	int err = 0;
	int sent = 0;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	text[size] = '\0';
	big = json_pack("{s:s}", "data", text);
	assert_int_equal(wire_channel_send(p.a, big), -EMSGSIZE);
	json_decref(big);
	text[size - 4096] = '\0';
	message = json_pack("{s:s}", "data", text);
	while (err == 0 && sent < 100) {
		err = wire_channel_send(p.a, message);
		sent++;
	}
	assert_int_equal(err, -ENOBUFS);
	assert_in_range(sent, 15, 20);
	json_decref(message);
	free(text);
	pair_close(&p);
}

/* Text is refused while there is still room for a message, which must not be lost. */
static void test_send_text_leaves_room(void **state)
{
	struct pair p = pair_new();
	size_t size = WIRE_FRAME_BYTES;
	char *text = malloc(size);
	json_t *message = json_pack("{s:s}", "type", "ready");
	json_t *got = NULL;
	struct wire_channel *b;
	int err, r, sent = 0, messages = 0;

	(void)state;
	assert_non_null(text);
	assert_int_equal(wire_channel_new(&b, p.b), 0);
	memset(text, 'x', size);
	memcpy(text, "{\"d\":\"", 6);
	memcpy(text + size - 3, "\"}", 2);
	assert_int_equal(wire_channel_send_text(p.a, text, size), -EMSGSIZE);
	while ((err = wire_channel_send_text(p.a, text, size - 1)) == 0)
		assert_true(++sent < 100);
	assert_int_equal(err, -ENOBUFS);
	assert_in_range(sent, 14, 16);
	assert_int_equal(wire_channel_send_text(p.a, text, size), -EMSGSIZE);
	assert_int_equal(wire_channel_send(p.a, message), 0);
	assert_int_equal(wire_channel_send_text(p.a, text, size - 1), -ENOBUFS);
	/* no byte of the refused message was sent */
	while (messages <= sent) {
		while ((r = wire_channel_receive(b, &got)) == 0)
			assert_true(wire_channel_flush(p.a) >= 0);
		assert_int_equal(r, 1);
		assert_int_equal(json_object_get(got, "type") != NULL,
				 messages == sent);
		json_decref(got);
		messages++;
	}
	assert_int_equal(wire_channel_flush(p.a), 0);
	assert_int_equal(wire_channel_receive(b, &got), 0);
	assert_int_equal(wire_channel_send_text(p.a, text, size - 1), 0);
	json_decref(message);
	free(text);
	wire_channel_free(b);
	wire_channel_free(p.a);
}

static void test_send_to_nobody(void **state)
{
	struct pair p = pair_new();
	json_t *message = json_pack("{s:i}", "n", 1);

	(void)state;
	close(p.b);
	p.b = -1;
	assert_int_equal(wire_channel_send(p.a, message), -EPIPE);
	json_decref(message);
	pair_close(&p);
}

static void test_receive_endless_line(void **state)
{
	struct pair p = pair_new();
	char data[4096];
	json_t *message = NULL;
	int r = 0;

	(void)state;
	memset(data, ' ', sizeof(data));
	for (size_t i = 0; r == 0 && i <= WIRE_FRAME_BYTES / sizeof(data);
	     i++) {
		assert_int_equal(write(p.b, data, sizeof(data)), sizeof(data));
		r = wire_channel_receive(p.a, &message);
	}
	assert_int_equal(r, -EMSGSIZE);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receive_pieces),
		cmocka_unit_test(test_receive_last_before_close),
		cmocka_unit_test(test_receive_garbage),
		cmocka_unit_test(test_send_more_than_the_socket_takes),
		cmocka_unit_test(test_send_ceilings),
		cmocka_unit_test(test_send_text_leaves_room),
		cmocka_unit_test(test_send_to_nobody),
		cmocka_unit_test(test_receive_endless_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
