#include "agent/engine/outbox.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
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

static void test_kinds_and_batches(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	for (int i = 0; i < 1500; i++)
		outbox_add(f.outbox, OUTBOX_EVENTS, json_integer(i), 10);
	for (int i = 0; i < 3; i++)
		outbox_add(f.outbox, OUTBOX_SIP, json_integer(i),
			   OUTBOX_BATCH_BYTES / 2);
	outbox_add(f.outbox, OUTBOX_SERIES, json_integer(1), 10);
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
}

static void test_ceilings(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	outbox_add(f.outbox, OUTBOX_SIP, json_null(), OUTBOX_BYTES_MAX - 10);
	outbox_add(f.outbox, OUTBOX_SIP, json_null(), 11);
	outbox_add(f.outbox, OUTBOX_SIP, json_null(), 10);
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_SIP), 1);
	outbox_add(f.outbox, OUTBOX_EVENTS, NULL, 1);
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_EVENTS), 1);
	for (unsigned i = 0; i <= OUTBOX_ITEMS_MAX; i++)
		outbox_add(f.outbox, OUTBOX_SERIES, json_null(), 1);
	assert_int_equal(outbox_dropped(f.outbox, OUTBOX_SERIES), 1);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_and_batches),
		cmocka_unit_test(test_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
