/* Hosts without a name server, and with one that answers too much; with others:
 * tests/e2e/test_sip_hosts.py. */
#include "sip/transport/resolve.h"
#include "sip/ua.h"

#include <arpa/inet.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void no_handler(int err, void *arg)
{
	(void)err;
	(void)arg;
	fail_msg("%s", "all addresses were known at once");
}

/* @return of resolve_start(), which does not wait for anything */
static int resolve_now(struct destinations *out, int af,
		       const struct resolve_host *hosts, size_t count)
{
	const struct resolve_params params = {
		.af = af,
		.hosts = hosts,
		.host_count = count,
		.key = 1,
		.handler = no_handler,
	};
	struct resolve *search = NULL;
	int err = resolve_start(&search, out, &params);

	assert_null(search);
	if (err)
		assert_null(out->list);
	return err;
}

static void expect_destination(const struct destinations *d, size_t i,
			       enum sip_transp tp, const char *addr,
			       uint16_t port, const char *name)
{
	char text[64];

	assert_true(i < d->count);
	assert_int_equal(d->list[i].tp, tp);
	assert_int_equal(
		re_snprintf(text, sizeof(text), "%j", &d->list[i].addr),
		strlen(addr));
	assert_string_equal(text, addr);
	assert_int_equal(sa_port(&d->list[i].addr), port);
	assert_string_equal(d->list[i].name, name);
}

static void test_resolve_literals(void **state)
{
	static const struct resolve_host hosts[] = {
		{"192.0.2.1", 5080, SIP_TRANSP_NONE, false},
		{"192.0.2.2", 0, SIP_TRANSP_TCP, false},
		{"192.0.2.2", 0, SIP_TRANSP_NONE, true},
		{"192.0.2.2", 5060, SIP_TRANSP_TCP, false}, /* the second */
		{"2001:db8::1", 0, SIP_TRANSP_UDP, false},  /* IPv6 */
	};
	struct destinations d;
	(void)state;

	assert_int_equal(resolve_now(&d, AF_INET, hosts, 5), 0);
	assert_int_equal(d.count, 3);
	expect_destination(&d, 0, SIP_TRANSP_UDP, "192.0.2.1", 5080,
			   "192.0.2.1");
	expect_destination(&d, 1, SIP_TRANSP_TCP, "192.0.2.2", 5060,
			   "192.0.2.2");
	expect_destination(&d, 2, SIP_TRANSP_TLS, "192.0.2.2", 5061,
			   "192.0.2.2");
	assert_false(d.truncated);
	destinations_release(&d);
	assert_int_equal(d.count, 0);
	assert_null(d.list);
}

static void test_resolve_literal_in_brackets(void **state)
{
	static const struct resolve_host host = {"[2001:db8::1]", 5070,
						 SIP_TRANSP_UDP, false};
	struct destinations d;
	(void)state;

	assert_int_equal(resolve_now(&d, AF_INET6, &host, 1), 0);
	assert_int_equal(d.count, 1);
	expect_destination(&d, 0, SIP_TRANSP_UDP, "2001:db8::1", 5070,
			   "2001:db8::1");
	destinations_release(&d);
}

/* TLS whatever transport a sips URI names (RFC 3261 26.2.2); the name is of
 * /etc/hosts on every system. */
static void test_resolve_secure_with_a_transport(void **state)
{
	static const struct resolve_host hosts[] = {
		{"192.0.2.1", 0, SIP_TRANSP_TCP, true},
		{"192.0.2.2", 0, SIP_TRANSP_UDP, true},
		{"192.0.2.3", 5080, SIP_TRANSP_TCP, true},
		{"localhost", 0, SIP_TRANSP_TCP, true},
		{"localhost", 5080, SIP_TRANSP_UDP, true},
	};
	struct destinations d;
	(void)state;

	assert_int_equal(resolve_now(&d, AF_INET, hosts, 3), 0);
	assert_int_equal(d.count, 3);
	expect_destination(&d, 0, SIP_TRANSP_TLS, "192.0.2.1", 5061,
			   "192.0.2.1");
	expect_destination(&d, 1, SIP_TRANSP_TLS, "192.0.2.2", 5061,
			   "192.0.2.2");
	expect_destination(&d, 2, SIP_TRANSP_TLS, "192.0.2.3", 5080,
			   "192.0.2.3");
	destinations_release(&d);
	assert_int_equal(resolve_now(&d, AF_INET, hosts + 3, 2), 0);
	assert_int_equal(d.count, 2);
	expect_destination(&d, 0, SIP_TRANSP_TLS, "127.0.0.1", 5061,
			   "localhost");
	expect_destination(&d, 1, SIP_TRANSP_TLS, "127.0.0.1", 5080,
			   "localhost");
	destinations_release(&d);
}

/* One name among literals: the search keeps their order. */
static void test_resolve_literals_and_a_name(void **state)
{
	static const struct resolve_host hosts[] = {
		{"192.0.2.3", 5080, SIP_TRANSP_UDP, false},
		{"no-such-host.invalid", 5081, SIP_TRANSP_UDP, false},
		{"192.0.2.2", 0, SIP_TRANSP_NONE, true},
	};
	struct destinations d;
	(void)state;

	assert_int_equal(resolve_now(&d, AF_INET, hosts, 3), 0);
	assert_int_equal(d.count, 2);
	expect_destination(&d, 0, SIP_TRANSP_UDP, "192.0.2.3", 5080,
			   "192.0.2.3");
	expect_destination(&d, 1, SIP_TRANSP_TLS, "192.0.2.2", 5061,
			   "192.0.2.2");
	destinations_release(&d);
}

static void test_resolve_many(void **state)
{
	struct resolve_host hosts[HOSTS_MAX + 1];
	char names[HOSTS_MAX + 1][16];
	struct destinations d;
	(void)state;

	for (int i = 0; i <= HOSTS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "192.0.2.%d", i + 1);
		hosts[i] = (struct resolve_host){names[i], 5060, SIP_TRANSP_UDP,
						 false};
	}
	assert_int_equal(resolve_now(&d, AF_INET, hosts, HOSTS_MAX + 1), 0);
	assert_int_equal(d.count, DESTINATIONS_MAX);
	expect_destination(&d, DESTINATIONS_MAX - 1, SIP_TRANSP_UDP,
			   "192.0.2.16", 5060, "192.0.2.16");
	destinations_release(&d);
}

static void test_resolve_no_address(void **state)
{
	static const struct resolve_host ipv6 = {"2001:db8::1", 5060,
						 SIP_TRANSP_UDP, false};
	static const struct resolve_host name = {"no-such-host.invalid", 5060,
						 SIP_TRANSP_UDP, false};
	char text[301];
	const struct resolve_host long_name = {text, 5060, SIP_TRANSP_UDP,
					       false};
	struct destinations d;
	(void)state;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(resolve_now(&d, AF_INET, &ipv6, 1), -ENODATA);
	assert_int_equal(resolve_now(&d, AF_INET, &name, 1), -ENODATA);
	assert_int_equal(resolve_now(&d, AF_INET, &long_name, 1), -EINVAL);
	assert_int_equal(resolve_now(&d, AF_INET, NULL, 0), -ENODATA);
}

/* ---- a name server ---- */

#define QUESTIONS_MAX 64 /* as docs/reference/ceilings.md says */

struct name_server {
	int fd;
	unsigned targets; /* SRV records of a host */
	unsigned silent;  /* questions before the first that has an address */
	unsigned questions, addresses;
	unsigned last;  /* type of the last question */
	char first[64]; /* name of the first one */
};

static uint8_t *put16(uint8_t *p, unsigned value)
{
	*p++ = (uint8_t)(value >> 8);
	*p++ = (uint8_t)value;
	return p;
}

/* Name (that of the question), type, class, 60 s, length. */
static uint8_t *put_record(uint8_t *p, unsigned type, unsigned len)
{
	p = put16(p, 0xc00c);
	p = put16(p, type);
	p = put16(p, 1);
	p = put16(p, 0);
	p = put16(p, 60);
	return put16(p, len);
}

/* The name of a question: each label behind its length. */
static void name_read(char *dst, size_t size, const uint8_t *p)
{
	dst[0] = '\0';
	for (size_t used = 0; *p && used < size; p += 1 + *p)
		used += (size_t)snprintf(dst + used, size - used, "%s%.*s",
					 used ? "." : "", *p,
					 (const char *)p + 1);
}

/* SRV: the targets "t00", "t01"... below the question's name. A: the next address. */
static void name_server_answer(int flags, void *arg)
{
	struct name_server *s = arg;
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	uint8_t data[1024], *p;
	ssize_t len = recvfrom(s->fd, data, 512, MSG_DONTWAIT,
			       (struct sockaddr *)&from, &from_len);
	(void)flags;

	if (len < 17)
		return;
	p = data + len;
	s->last = (unsigned)data[len - 4] << 8 | data[len - 3];
	if (s->questions++ == 0)
		name_read(s->first, sizeof(s->first), data + 12);
	data[2] = 0x84; /* an answer, with authority */
	data[3] = 0;
	data[7] = (uint8_t)(s->last == DNS_TYPE_SRV    ? s->targets
			    : s->questions > s->silent ? 1
						       : 0);
	for (unsigned i = 0; s->last == DNS_TYPE_SRV && i < s->targets; i++) {
		p = put_record(p, DNS_TYPE_SRV, 6 + 4 + 2);
		p = put16(p, i); /* priority, weight, port */
		p = put16(p, 0);
		p = put16(p, 5060);
		*p++ = 3;
		*p++ = 't';
		*p++ = (uint8_t)('0' + i / 10);
		*p++ = (uint8_t)('0' + i % 10);
		p = put16(p, 0xc00c);
	}
	if (s->last == DNS_TYPE_A && data[7]) {
		p = put_record(p, DNS_TYPE_A, 4);
		p = put16(p, 192 << 8);
		p = put16(p, 2 << 8 | ++s->addresses);
	}
	(void)!sendto(s->fd, data, (size_t)(p - data), 0,
		      (struct sockaddr *)&from, from_len);
}

static struct dnsc *name_server_open(struct name_server *s)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);
	struct dnsc *dnsc;
	struct sa sa;

	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(fd_listen(s->fd, FD_READ, name_server_answer, s), 0);
	assert_int_equal(sa_set_sa(&sa, (struct sockaddr *)&sin), 0);
	assert_int_equal(dnsc_alloc(&dnsc, NULL, &sa, 1), 0);
	return dnsc;
}

static void found(int err, void *arg)
{
	*(int *)arg = err;
	sip_loop_stop();
}

/* Resolve hosts that are names to the end. */
static void resolve_hosts(struct name_server *server, struct destinations *ret,
			  const struct resolve_host *hosts, size_t count)
{
	struct resolve_params params = {.af = AF_INET,
					.hosts = hosts,
					.host_count = count,
					.key = 1,
					.handler = found};
	struct resolve *search;
	int err = -1;

	assert_int_equal(sip_loop_init(), 0);
	params.dnsc = name_server_open(server);
	params.arg = &err;
	assert_int_equal(resolve_start(&search, ret, &params), 0);
	assert_int_equal(sip_loop_run(), 0);
	assert_int_equal(err, 0);
	mem_deref(search);
	mem_deref(params.dnsc);
	fd_close(server->fd);
	close(server->fd);
}

/* Resolve names over UDP, without ports. */
static void resolve_names(struct name_server *server, struct destinations *ret,
			  const char *const *names, size_t count)
{
	struct resolve_host hosts[HOSTS_MAX];

	for (size_t i = 0; i < count; i++)
		hosts[i] = (struct resolve_host){names[i], 0, SIP_TRANSP_UDP,
						 false};
	resolve_hosts(server, ret, hosts, count);
}

static void names_end(struct destinations *d)
{
	destinations_release(d);
	sip_loop_close();
}

/* Each host takes 17 questions: its SRV, and the address of each target. Those of the first
 * three have none. The one for the 13th target of the fourth host is not asked. */
static void test_more_questions_than_may_be_asked(void **state)
{
	static const char *const names[] = {"a.test", "b.test", "c.test",
					    "d.test"};
	struct name_server server = {.targets = 16, .silent = 3 * 17};
	struct destinations d;
	(void)state;

	resolve_names(&server, &d, names, 4);
	assert_int_equal(server.questions, QUESTIONS_MAX);
	assert_int_equal(d.count, 12);
	expect_destination(&d, 11, SIP_TRANSP_UDP, "192.0.2.12", 5060,
			   "d.test");
	names_end(&d);
}

static void resolve_targets(unsigned targets, unsigned asked)
{
	static const char *const name = "a.test";
	struct name_server server = {.targets = targets};
	struct destinations d;

	resolve_names(&server, &d, &name, 1);
	assert_int_equal(server.questions, 1 + asked);
	assert_int_equal(d.count, asked);
	names_end(&d);
}

static void test_more_records_than_are_used(void **state)
{
	(void)state;
	resolve_targets(15, 15);
	resolve_targets(16, 16);
	resolve_targets(17, 16);
}

/* Neither the SRV of UDP nor the address with UDP is used. */
static void test_secure_name_with_a_transport(void **state)
{
	static const struct resolve_host srv = {"a.test", 0, SIP_TRANSP_UDP,
						true};
	static const struct resolve_host port = {"a.test", 5080, SIP_TRANSP_UDP,
						 true};
	struct name_server server = {.targets = 1};
	struct destinations d;
	(void)state;

	resolve_hosts(&server, &d, &srv, 1);
	assert_string_equal(server.first, "_sips._tcp.a.test");
	assert_int_equal(d.count, 1);
	expect_destination(&d, 0, SIP_TRANSP_TLS, "192.0.2.1", 5060, "a.test");
	names_end(&d);
	server = (struct name_server){.targets = 1};
	resolve_hosts(&server, &d, &port, 1);
	assert_string_equal(server.first, "a.test");
	assert_int_equal(d.count, 1);
	expect_destination(&d, 0, SIP_TRANSP_TLS, "192.0.2.1", 5080, "a.test");
	names_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve_literals),
		cmocka_unit_test(test_resolve_literal_in_brackets),
		cmocka_unit_test(test_resolve_secure_with_a_transport),
		cmocka_unit_test(test_resolve_literals_and_a_name),
		cmocka_unit_test(test_resolve_no_address),
		cmocka_unit_test(test_resolve_many),
		cmocka_unit_test(test_more_questions_than_may_be_asked),
		cmocka_unit_test(test_more_records_than_are_used),
		cmocka_unit_test(test_secure_name_with_a_transport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
