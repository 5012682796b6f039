/*
 * How long connections, name servers and notifiers that say nothing are waited for,
 * on a simulated clock.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "simulated.h"
#include "sip/events.h"
#include "sip/lookup.h"
#include "world.h"

static const struct world_options udp = {.password = "secret",
					 .domain = "example.net"};
static struct world world;

static void begin(const struct world_options *options)
{
	simulated_begin();
	world_open(&world, options);
}

static void idle(void *arg)
{
	(void)arg;
}

static void run_until(int64_t ms)
{
	const struct simulated_params params = {.idle_h = idle, .until_ms = ms};

	simulated_run(&params);
}

static void end(void)
{
	world_close(&world);
	simulated_end();
}

/* ---- connections ---- */

static int ua_connect(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin.sin_port = htons(world.port);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return fd;
}

/* @return the user agent has closed the connection by this time */
static bool closed_at(int fd, int64_t ms)
{
	char data[16];
	ssize_t n;

	run_until(ms);
	do
		n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
	while (n > 0);
	return n == 0;
}

static void test_a_connection_that_says_nothing(void **state)
{
	int fd;
	(void)state;

	begin(&udp);
	fd = ua_connect();
	assert_false(closed_at(fd, 9900));
	assert_true(closed_at(fd, 10100));
	close(fd);
	end();
}

static void test_a_connection_that_falls_silent(void **state)
{
	int fd;
	(void)state;

	begin(&udp);
	fd = ua_connect();
	assert_int_equal(write(fd, "\r\n\r\n", 4), 4);
	assert_false(closed_at(fd, 899900));
	assert_true(closed_at(fd, 900100));
	close(fd);
	end();
}

/* ---- name servers ---- */

/* Open a world whose target is a host name, with a name server that receives
 * queries and never answers.
 * @return its socket */
static int open_silent_dns(bool any_port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	struct world_options options = udp;
	socklen_t len = sizeof(sin);
	char server[32];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	snprintf(server, sizeof(server), "127.0.0.1:%u", ntohs(sin.sin_port));
	options.target_host = "pbx.test";
	options.any_port = any_port;
	options.name_servers = server;
	begin(&options);
	return fd;
}

/* Types of the questions that came, without repetitions: "35 33 1" */
static const char *types_asked(int fd, char text[static 64])
{
	uint8_t data[512];
	unsigned last = 0;
	ssize_t n;

	text[0] = '\0';
	while ((n = recv(fd, data, sizeof(data), 0)) > 16) {
		unsigned type = data[n - 3];

		if (type != last)
			snprintf(text + strlen(text), 64 - strlen(text), "%s%u",
				 text[0] ? " " : "", type);
		last = type;
	}
	return text;
}

static void test_a_silent_name_server(void **state)
{
	char text[64];
	int fd = open_silent_dns(false);
	(void)state;

	assert_int_equal(sip_account_register(world.account), 0);
	run_until(7000);
	assert_string_equal(types_asked(fd, text), "1");
	assert_string_equal(world.log, "REGISTERING REGISTER_FAIL");
	assert_non_null(strstr(world.account_reason, "pbx.test"));
	assert_non_null(strstr(world.account_reason,
			       "the name servers did not answer"));
	close(fd);
	end();
}

/* Some networks drop questions for SRV: the address is asked for without it. */
static void test_a_question_that_is_dropped(void **state)
{
	char text[64];
	int fd = open_silent_dns(true);
	(void)state;

	assert_int_equal(sip_account_register(world.account), 0);
	run_until(13000);
	assert_string_equal(types_asked(fd, text), "33 1");
	assert_string_equal(world.log, "REGISTERING REGISTER_FAIL");
	close(fd);
	end();
}

static int looked_up;

static void lookup_h(int err, const struct media_addr *addr, void *arg)
{
	struct sip_lookup **l = arg;

	assert_null(addr);
	looked_up = err;
	*l = sip_lookup_free(*l);
}

static void test_the_name_of_a_server_without_an_answer(void **state)
{
	struct sip_lookup *l, *given_up;
	struct media_addr addr;
	char text[64];
	int fd = open_silent_dns(true);
	(void)state;

	looked_up = 0;
	assert_int_equal(sip_lookup_start(&l, &addr, world.ua, "stun.test",
					  3478, lookup_h, &l),
			 0);
	assert_non_null(l);
	assert_int_equal(sip_lookup_start(&given_up, &addr, world.ua,
					  "turn.test", 3478, lookup_h, NULL),
			 0);
	assert_null(sip_lookup_free(given_up));
	run_until(5900);
	assert_int_equal(looked_up, 0);
	run_until(6100);
	assert_int_equal(looked_up, -ETIMEDOUT);
	assert_null(l);
	assert_string_equal(types_asked(fd, text), "1");
	close(fd);
	end();
}

static void test_the_address_of_a_server(void **state)
{
	struct sip_lookup *l = NULL;
	struct media_addr addr;
	char host[INET6_ADDRSTRLEN];
	uint16_t port = 0;
	(void)state;

	begin(&udp);
	assert_int_equal(sip_lookup_start(&l, &addr, world.ua, "192.0.2.9",
					  3478, lookup_h, NULL),
			 0);
	assert_null(l);
	assert_int_equal(addr.len, sizeof(struct sockaddr_in));
	assert_int_equal(sockaddr_host(host, &port, &addr.ss), 0);
	assert_string_equal(host, "192.0.2.9");
	assert_int_equal(port, 3478);
	/* of the other family */
	assert_int_equal(sip_lookup_start(&l, &addr, world.ua, "[2001:db8::1]",
					  3478, lookup_h, NULL),
			 -ENODATA);
	end();
}

/* ---- notifiers ---- */

static struct sip_subscription *subscription;
static int64_t failed_ms;
static char reason[128];

static void subscription_h(struct sip_subscription *s,
			   enum sip_subscription_event event,
			   const struct sip_subscription_info *info, void *arg)
{
	(void)arg;
	if (event != SIP_SUBSCRIBE_FAIL)
		return;
	failed_ms = simulated_ms();
	snprintf(reason, sizeof(reason), "%s", info->reason);
	subscription = sip_subscription_free(s);
}

/* The peer accepts the subscription, and sends no NOTIFY. */
static void accept_subscription(void *arg)
{
	struct peer *peer = &world.peer;
	socklen_t len = sizeof(peer->from);
	ssize_t n =
		recvfrom(peer->fd, peer->in, sizeof(peer->in) - 1, MSG_DONTWAIT,
			 (struct sockaddr *)&peer->from, &len);

	(void)arg;
	if (n <= 0)
		return;
	peer->in[n] = '\0';
	if (strncmp(peer->in, "SUBSCRIBE ", 10) == 0)
		assert_true(
			peer_reply(peer, 200, "OK", "Expires: 600\r\n", NULL));
}

static void test_a_notifier_that_says_nothing(void **state)
{
	const struct sip_subscribe_params watch = {.expires_s = 600,
						   .handler = subscription_h};
	const struct simulated_params params = {.idle_h = accept_subscription,
						.until_ms = 40000};
	(void)state;

	failed_ms = 0;
	begin(&udp);
	assert_int_equal(sip_subscribe(&subscription, world.account, &watch),
			 0);
	simulated_run(&params);
	assert_null(subscription);
	/* answered at once, or the first repetition */
	assert_in_range(failed_ms, 32000, 32600);
	assert_string_equal(reason, "no NOTIFY within 32 s");
	end();
}

/* ---- a transfer ---- */

static void transfer_h(struct world *w, struct sip_call *call,
		       enum sip_call_event event,
		       const struct sip_call_info *info)
{
	(void)w;
	if (event == SIP_CALL_ESTABLISHED) {
		failed_ms = -simulated_ms();
		assert_int_equal(sip_call_transfer(call, "1003", false), 0);
	}
	if (event == SIP_CALL_TRANSFER_FAIL) {
		failed_ms += simulated_ms();
		snprintf(reason, sizeof(reason), "%s", info->reason);
		sip_call_hangup(call);
	}
}

/* A peer that accepts the call and the REFER, and sends no NOTIFY. */
static void accept_refer(void *arg)
{
	struct peer *peer = &world.peer;
	socklen_t len = sizeof(peer->from);
	ssize_t n;

	(void)arg;
	while ((n = recvfrom(peer->fd, peer->in, sizeof(peer->in) - 1,
			     MSG_DONTWAIT, (struct sockaddr *)&peer->from,
			     &len)) > 0) {
		peer->in[n] = '\0';
		if (strncmp(peer->in, "INVITE ", 7) == 0) {
			peer_dialog_from_request(peer);
			peer_reply(peer, 200, "OK", NULL, peer_sdp);
		} else if (strncmp(peer->in, "REFER ", 6) == 0) {
			peer_reply(peer, 202, "Accepted", NULL, NULL);
		} else if (strncmp(peer->in, "BYE ", 4) == 0) {
			peer_reply(peer, 200, "OK", NULL, NULL);
		}
	}
}

static void test_a_transfer_without_notify(void **state)
{
	const struct simulated_params params = {.idle_h = accept_refer,
						.until_ms = 45000};
	(void)state;

	failed_ms = 0;
	begin(&udp);
	world.call_h = transfer_h;
	world_dial(&world);
	simulated_run(&params);
	/* answered at once, or the first repetition */
	assert_in_range(failed_ms, 32000, 32600);
	assert_string_equal(reason,
			    "no NOTIFY said how the transfer ended, the last "
			    "one: Accepted");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_that_says_nothing),
		cmocka_unit_test(test_a_connection_that_falls_silent),
		cmocka_unit_test(test_a_silent_name_server),
		cmocka_unit_test(test_a_question_that_is_dropped),
		cmocka_unit_test(test_the_name_of_a_server_without_an_answer),
		cmocka_unit_test(test_the_address_of_a_server),
		cmocka_unit_test(test_a_notifier_that_says_nothing),
		cmocka_unit_test(test_a_transfer_without_notify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
