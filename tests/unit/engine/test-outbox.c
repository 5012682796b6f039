#include "agent/engine/report/outbox.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

struct fixture {
	struct outbox *outbox;
	struct wire_channel *ours;
	struct wire_channel *theirs;
};

static void set_up(struct fixture *f)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(wire_channel_new(&f->ours, fds[0]), 0);
	assert_int_equal(wire_channel_new(&f->theirs, fds[1]), 0);
	assert_int_equal(outbox_new(&f->outbox), 0);
}

static void tear_down(struct fixture *f)
{
	outbox_free(f->outbox);
	wire_channel_free(f->ours);
	wire_channel_free(f->theirs);
}

/** @return items in the next message, 0 if there is none */
static size_t receive(struct fixture *f, const char *type, const char *list)
{
	json_t *message = NULL;
	size_t count;
	int r;

	do {
		r = wire_channel_receive(f->theirs, &message);
	} while (r == 0 && wire_channel_flush(f->ours) > 0);
	if (r == 0)
		r = wire_channel_receive(f->theirs, &message);
	if (r == 0)
		return 0;
	assert_int_equal(r, 1);
	assert_string_equal(json_string_value(json_object_get(message, "type")),
			    type);
	count = json_array_size(json_object_get(message, list));
	json_decref(message);
	return count;
}

static void add(struct fixture *f, enum outbox_kind kind, const char *item)
{
	outbox_add(f->outbox, kind, item, strlen(item));
}

/** @return a JSON string of len bytes, to free() */
static char *string_of(size_t len)
{
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, 'x', len);
	text[0] = text[len - 1] = '"';
	text[len] = '\0';
	return text;
}

static void test_kinds_and_batches(void **state)
{
	char *half = string_of(OUTBOX_BATCH_BYTES / 2 - 100);
	struct fixture f;

	(void)state;
	set_up(&f);
	for (int i = 0; i < 1500; i++)
		add(&f, OUTBOX_EVENTS, i % 2 ? "7" : "{\"a\":[1,2]}");
	for (int i = 0; i < 3; i++)
		add(&f, OUTBOX_SIP, half);
	add(&f, OUTBOX_SERIES, "1");
	assert_int_equal(outbox_flush(f.outbox, f.ours), 0);
	assert_int_equal(receive(&f, "stats", "series"), 1);
	assert_int_equal(receive(&f, "events", "events"), 1000);
	assert_int_equal(receive(&f, "events", "events"), 500);
	assert_int_equal(receive(&f, "sip", "messages"), 2);
	assert_int_equal(receive(&f, "sip", "messages"), 1);
	assert_int_equal(receive(&f, "", ""), 0);
	assert_int_equal(outbox_flush(f.outbox, f.ours), 0);
	assert_int_equal(receive(&f, "", ""), 0);
	tear_down(&f);
	free(half);
}

/* A single item of any size is sent alone, unless it is larger than a frame. */
static void test_large_items(void **state)
{
	char *large = string_of(OUTBOX_ITEM_BYTES + 1);
	struct fixture f;

	(void)state;
	set_up(&f);
	outbox_add(f.outbox, OUTBOX_SIP, large, OUTBOX_ITEM_BYTES + 1);
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_SIP), 1);
	add(&f, OUTBOX_SIP, "1");
	large[OUTBOX_ITEM_BYTES - 1] = '"';
	outbox_add(f.outbox, OUTBOX_SIP, large, OUTBOX_ITEM_BYTES);
	add(&f, OUTBOX_SIP, "2");
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_SIP), 1);
	assert_int_equal(outbox_flush(f.outbox, f.ours), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(receive(&f, "sip", "messages"), 1);
	tear_down(&f);
	free(large);
}

/*
 * Nobody reads: what the channel does not accept waits, and is sent once,
 * whole.
 */
static void test_flush_again(void **state)
{
	char *item = string_of(OUTBOX_ITEM_BYTES);
	size_t count = 0;
	struct fixture f;
	size_t sent = 0;

	(void)state;
	set_up(&f);
	while (outbox_flush(f.outbox, f.ours) == 0) {
		assert_true(++count < 100);
		outbox_add(f.outbox, OUTBOX_EVENTS, item, OUTBOX_ITEM_BYTES);
	}
	assert_int_equal(outbox_flush(f.outbox, f.ours), -ENOBUFS);
	while (sent < count) {
		size_t got = receive(&f, "events", "events");
		int err = outbox_flush(f.outbox, f.ours);

		assert_int_not_equal(got, 0);
		sent += got;
		assert_true(err == 0 || err == -ENOBUFS);
	}
	assert_int_equal(receive(&f, "", ""), 0);
	tear_down(&f);
	free(item);
}

static void test_ceilings(void **state)
{
	char *item = string_of(1 << 20);
	struct fixture f;

	(void)state;
	set_up(&f);
	for (size_t i = 0; i < OUTBOX_BYTES_MAX >> 20; i++)
		add(&f, OUTBOX_SIP, item);
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_SIP), 0);
	add(&f, OUTBOX_SIP, "1");
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_SIP), 1);
	outbox_add(f.outbox, OUTBOX_EVENTS, NULL, 0);
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_EVENTS), 1);
	for (unsigned i = 0; i <= OUTBOX_ITEMS_MAX; i++)
		add(&f, OUTBOX_SERIES, "1");
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_SERIES), 1);
	tear_down(&f);
	free(item);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_and_batches),
		cmocka_unit_test(test_large_items),
		cmocka_unit_test(test_flush_again),
		cmocka_unit_test(test_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
