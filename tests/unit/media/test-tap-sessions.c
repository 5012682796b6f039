/* Packets that come before it is known which session has their port. */
#include "capture/tap.h"
#include "media/tap/tap_sessions.h"
#include "media_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LINK_RAW   101 /* LINKTYPE_RAW: the frame begins with the IP header */
#define IP_BYTES   20
#define UDP_BYTES  8
#define DATA_BYTES 12
#define NUMBER_AT  4 /* in place of the RTP timestamp */
#define PORT       30000
#define SENT_MS    1

/* Stands for the packet socket: its next read gives `frames` datagrams, SENT_MS apart. */
static struct {
	unsigned frames; /* of the next tap_read() */
	uint32_t number; /* of the next datagram, its content */
	int64_t ns;
} wire;

int __wrap_tap_open(struct tap **ret, const struct tap_params *params,
		    char *reason);
struct tap *__wrap_tap_close(struct tap *t);
int __wrap_tap_read(struct tap *t, tap_h *handler, void *arg);

int __wrap_tap_open(struct tap **ret, const struct tap_params *params,
		    char *reason)
{
	(void)params;
	(void)reason;
	*ret = (struct tap *)&wire;
	return 0;
}

struct tap *__wrap_tap_close(struct tap *t)
{
	(void)t;
	return NULL;
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* From another host to PORT of 127.0.0.1. */
int __wrap_tap_read(struct tap *t, tap_h *handler, void *arg)
{
	static const uint8_t peer[4] = {192, 0, 2, 9};
	static const uint8_t own[4] = {127, 0, 0, 1};

	(void)t;
	for (; wire.frames; wire.frames--) {
		uint8_t data[IP_BYTES + UDP_BYTES + DATA_BYTES] = {0x45};
		const struct frame f = {
			.ns = wire.ns,
			.timed = true,
			.link = LINK_RAW,
			.data = data,
			.captured = sizeof(data),
			.bytes = sizeof(data),
		};

		put16(data + 2, sizeof(data));
		data[8] = 64;
		data[9] = 17; /* UDP */
		memcpy(data + 12, peer, sizeof(peer));
		memcpy(data + 16, own, sizeof(own));
		put16(data + IP_BYTES, 4000);
		put16(data + IP_BYTES + 2, PORT);
		put16(data + IP_BYTES + 4, UDP_BYTES + DATA_BYTES);
		data[IP_BYTES + UDP_BYTES] = 0x80; /* RTP */
		memcpy(data + IP_BYTES + UDP_BYTES + NUMBER_AT, &wire.number,
		       sizeof(wire.number));
		wire.number++;
		wire.ns += SENT_MS * INT64_C(1000000);
		handler(&f, arg);
	}
	return 0;
}

/* What the session was given. */
struct given {
	size_t count;
	uint32_t first;
	uint32_t last;
};

static void take(const struct tap_session *d, void *arg)
{
	struct given *g = arg;
	uint32_t number;

	assert_int_equal(d->session, 7);
	assert_false(d->sent);
	assert_int_equal(d->bytes, DATA_BYTES);
	memcpy(&number, d->data + NUMBER_AT, sizeof(number));
	if (g->count++ == 0)
		g->first = number;
	else
		assert_int_equal(number, g->last + 1);
	g->last = number;
}

static struct tap_sessions *tapped(void)
{
	const struct media_addr at = rig_addr("127.0.0.1", 0);
	struct tap_sessions *t = NULL;
	char reason[TAP_REASON_BYTES];

	assert_int_equal(tap_sessions_new(&t, &at, PORT, PORT + 10, reason), 0);
	wire.number = 0;
	wire.ns = INT64_C(1000000000);
	return t;
}

/* `before` packets arrive before the session is known that has their port, one arrives
 * afterwards. */
static struct given after(unsigned before, int64_t pause_ns)
{
	const struct media_addr at = rig_addr("127.0.0.1", PORT);
	struct tap_sessions *t = tapped();
	struct given g = {0};

	wire.frames = before;
	tap_sessions_read(t, take, &g);
	assert_int_equal(g.count, 0);
	wire.ns += pause_ns;
	if (pause_ns) { /* the time is that of the last packet of any port */
		wire.frames = 1;
		tap_sessions_read(t, take, &g);
		assert_int_equal(g.count, 0);
	}
	tap_sessions_assign(t, &at, false, 7, take, &g);
	wire.frames = 1;
	tap_sessions_read(t, take, &g);
	tap_sessions_free(t);
	return g;
}

static void test_kept_until_assigned(void **state)
{
	struct given g = after(100, 0);

	(void)state;
	assert_int_equal(g.count, 101);
	assert_int_equal(g.first, 0);
}

static void test_of_too_many_the_oldest_are_not_measured(void **state)
{
	struct given g = after(TAP_SESSIONS_KEPT_MAX + 30, 0);

	(void)state;
	assert_int_equal(g.count, TAP_SESSIONS_KEPT_MAX + 1);
	assert_int_equal(g.first, 30);
}

static void test_not_kept_for_longer_than_they_may(void **state)
{
	struct given g = after(100, TAP_SESSIONS_KEPT_NS);

	(void)state;
	assert_int_equal(g.count, 2);
	assert_int_equal(g.first, 100);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_until_assigned),
		cmocka_unit_test(test_of_too_many_the_oldest_are_not_measured),
		cmocka_unit_test(test_not_kept_for_longer_than_they_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
