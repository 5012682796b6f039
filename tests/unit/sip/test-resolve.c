/* Hosts without a name server; with one: tests/e2e/test_sip_hosts.py. */
#include "sip/transport/resolve.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve_literals),
		cmocka_unit_test(test_resolve_literal_in_brackets),
		cmocka_unit_test(test_resolve_literals_and_a_name),
		cmocka_unit_test(test_resolve_no_address),
		cmocka_unit_test(test_resolve_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
