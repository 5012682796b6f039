#include "lab.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "simulated.h"
#include "sip/transaction/transaction_layer_internal.h"
#include "sip/ua/ua_internal.h"

/* Timers are set one by one, each rounded to a millisecond. */
#define TOLERANCE_MS 12

static const struct world_options udp = {.password = "secret",
					 .domain = "example.net"};

struct lab lab;

static bool any(struct le *le, void *arg)
{
	(void)le;
	(void)arg;
	return true;
}

static void datagrams_take(void)
{
	struct peer *peer = &lab.world.peer;
	struct sockaddr_in from;
	char text[sizeof(peer->in)];

	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t n =
			recvfrom(peer->fd, text, sizeof(text) - 1, MSG_DONTWAIT,
				 (struct sockaddr *)&from, &len);

		if (n <= 0)
			return;
		text[n] = '\0';
		assert_true(lab.count < SEEN_MAX);
		lab.seen[lab.count].ms = simulated_ms();
		snprintf(lab.seen[lab.count].start,
			 sizeof(lab.seen[lab.count].start), "%.*s",
			 (int)strcspn(text, "\r"), text);
		lab.count++;
		memcpy(peer->in, text, (size_t)n + 1);
		if (lab.listen_fd < 0)
			peer->from = from;
	}
}

static void idle(void *arg)
{
	const struct transaction_layer *layer = lab.world.ua->sip;
	int fd = lab.listen_fd < 0 ? -1 : accept(lab.listen_fd, NULL, NULL);
	(void)arg;

	if (fd >= 0) {
		close(lab.world.peer.fd);
		lab.world.peer.fd = fd;
	}
	datagrams_take();
	if (hash_apply(layer->clients, any, NULL) ||
	    hash_apply(layer->servers, any, NULL)) {
		lab.none_ms = -1;
		lab.had_one = true;
	} else if (lab.none_ms < 0 && lab.had_one) {
		lab.none_ms = simulated_ms();
	}
	if (lab.world.closed_count && lab.closed_ms < 0)
		lab.closed_ms = simulated_ms();
}

static uint16_t peer_tcp_listen(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lab.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(
		bind(lab.listen_fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(lab.listen_fd, 4), 0);
	assert_int_equal(
		getsockname(lab.listen_fd, (struct sockaddr *)&sin, &len), 0);
	return ntohs(sin.sin_port);
}

void lab_open(bool tcp)
{
	struct world_options options = udp;

	memset(&lab, 0, sizeof(lab));
	lab.listen_fd = -1;
	lab.none_ms = lab.closed_ms = -1;
	if (tcp) {
		options.transport = SIP_TRANSPORT_TCP;
		options.target_port = peer_tcp_listen();
	}
	simulated_begin();
	world_open(&lab.world, &options);
	lab.world.linger = true;
	lab.open = true;
}

void lab_run(const struct simulated_step *steps, size_t count, int64_t until_ms)
{
	const struct simulated_params params = {
		.steps = steps,
		.count = count,
		.idle_h = idle,
		.until_ms = until_ms,
	};

	simulated_run(&params);
	assert_string_equal(lab.world.peer.fail, "");
}

void lab_close(void)
{
	world_close(&lab.world);
	if (lab.listen_fd >= 0)
		close(lab.listen_fd);
	simulated_end();
	lab.open = false;
}

int lab_teardown(void **state)
{
	(void)state;
	if (lab.open)
		lab_close();
	return 0;
}

void lab_assert_ms(int64_t ms, int64_t wanted)
{
	if (ms < wanted || ms > wanted + TOLERANCE_MS)
		print_error("at %lld ms, not %lld\n", (long long)ms,
			    (long long)wanted);
	assert_in_range(ms, wanted, wanted + TOLERANCE_MS);
}

void lab_assert_times(const char *start, int64_t after_ms, const char *wanted)
{
	char got[512] = "";
	unsigned count = 0;
	char *end;

	for (unsigned i = 0; i < lab.count; i++) {
		if (strncmp(lab.seen[i].start, start, strlen(start)) == 0)
			snprintf(got + strlen(got), sizeof(got) - strlen(got),
				 " %lld",
				 (long long)(lab.seen[i].ms - after_ms));
	}
	for (unsigned i = 0; i < lab.count; i++) {
		long ms = strtol(wanted, &end, 10);

		if (strncmp(lab.seen[i].start, start, strlen(start)) != 0)
			continue;
		count++;
		if (end == wanted || lab.seen[i].ms - after_ms < ms ||
		    lab.seen[i].ms - after_ms > ms + TOLERANCE_MS)
			fail_msg("%s came at%s, wanted: %s", start, got,
				 wanted);
		wanted = end;
	}
	(void)strtol(wanted, &end, 10);
	if (end != wanted)
		fail_msg("%s came %u times, wanted also:%s", start, count,
			 wanted);
}
