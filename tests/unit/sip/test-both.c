/*
 * Two accounts of one user agent call each other over its own sockets: UAC and
 * UAS of this code at once, over UDP and TCP, IPv4 and IPv6.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "tests/unit/times.h"
#include "world.h"

#define GUARD_MS 30000

struct side {
	struct both *both;
	struct sip_account *account;
	struct sip_call *call;
	char log[512];
	struct sip_call_info closed;
	unsigned closed_count;
	int64_t outgoing_ns, established_ns;
};

struct both {
	struct sip_ua *ua;
	struct side caller, callee;
	struct media_local media;
	unsigned invites_sent, invites_received;
	enum sip_transport transport;
	bool timed_out;
	struct tmr guard;
};

static void log_add(struct side *side, const char *word)
{
	size_t used = strlen(side->log);

	snprintf(side->log + used, sizeof(side->log) - used, "%s%s",
		 used ? " " : "", word);
}

static void trace_handler(const struct sip_trace *trace, void *arg)
{
	struct both *both = arg;

	assert_int_equal(trace->transport, both->transport);
	if (trace->len > 7 && memcmp(trace->data, "INVITE ", 7) == 0) {
		if (trace->sent)
			both->invites_sent++;
		else
			both->invites_received++;
	}
}

static void call_handler(struct sip_call *call, enum sip_call_event event,
			 const struct sip_call_info *info, void *arg)
{
	struct side *side = arg;
	struct both *both = side->both;
	bool caller = side == &both->caller;

	switch ((int)event) {
	case SIP_CALL_OUTGOING:
		side->outgoing_ns = info->mono_ns;
		break;
	case SIP_CALL_ESTABLISHED:
		log_add(side, "up");
		side->established_ns = info->mono_ns;
		if (caller)
			assert_int_equal(sip_call_hold(call), 0);
		break;
	case SIP_CALL_HELD:
		log_add(side, info->local ? "hold" : "held");
		if (caller)
			assert_int_equal(sip_call_resume(call), 0);
		break;
	case SIP_CALL_RESUMED:
		log_add(side, info->local ? "resume" : "resumed");
		if (caller) /* the other side hangs up */
			sip_call_hangup(both->callee.call);
		break;
	case SIP_CALL_CLOSED:
		log_add(side, "closed");
		side->closed = *info;
		side->closed_count++;
		side->call = sip_call_free(call);
		if (both->caller.closed_count && both->callee.closed_count)
			sip_loop_stop();
		break;
	default:
		break;
	}
}

static void incoming_handler(struct sip_account *account, struct sip_call *call,
			     void *arg)
{
	struct side *side = arg;

	assert_ptr_equal(account, side->account);
	side->call = call;
	assert_int_equal(sip_call_adopt(call, call_handler, side), 0);
	assert_int_equal(sip_call_ring(call), 0);
	assert_int_equal(sip_call_answer(call, &side->both->media), 0);
}

static void guard_handler(void *arg)
{
	struct both *both = arg;

	both->timed_out = true;
	sip_loop_stop();
}

static void media_fill(struct media_local *media, const char *addr)
{
	struct sa rtp;

	assert_int_equal(sa_set_str(&rtp, addr, 30000), 0);
	memcpy(&media->rtp.ss, &rtp.u, rtp.len);
	media->rtp.len = rtp.len;
	sa_set_port(&rtp, 30001);
	memcpy(&media->rtcp.ss, &rtp.u, rtp.len);
	media->rtcp.len = rtp.len;
	media->codecs[0] = (struct media_codec){"PCMA", 8, 1, 8000, ""};
	media->codecs[1] =
		(struct media_codec){"telephone-event", 101, 1, 8000, ""};
	media->codec_count = 2;
	media->ptime_ms = 20;
}

static struct sip_account *account_open(struct both *both, struct side *side,
					const char *user, const char *addr)
{
	const struct sip_account_params params = {
		.username = user,
		.target = {addr, sip_ua_port(both->ua), both->transport},
		.incoming_h = incoming_handler,
		.arg = side,
	};

	side->both = both;
	assert_int_equal(sip_account_new(&side->account, both->ua, &params), 0);
	return side->account;
}

static bool ipv6_works(void)
{
	struct udp_sock *sock = NULL;
	struct sa sa;
	bool works;

	sa_set_str(&sa, "::1", 0);
	works = udp_listen(&sock, &sa, NULL, NULL) == 0;
	mem_deref(sock);
	return works;
}

static void check_call(const char *addr, enum sip_transport transport)
{
	struct both both = {.transport = transport};
	const struct sip_ua_params ua_params = {.bind_addr = addr,
						.calls_max = 2,
						.trace_h = trace_handler,
						.arg = &both};
	const struct sip_call_params call_params = {.uri = "callee",
						    .media = &both.media,
						    .call_h = call_handler,
						    .arg = &both.caller};

	assert_int_equal(sip_loop_init(), 0);
	if (strchr(addr, ':') && !ipv6_works()) {
		sip_loop_close();
		skip();
	}
	assert_int_equal(sip_ua_new(&both.ua, &ua_params), 0);
	media_fill(&both.media, addr);
	account_open(&both, &both.caller, "caller", addr);
	account_open(&both, &both.callee, "callee", addr);
	assert_int_equal(sip_call_dial(&both.caller.call, both.caller.account,
				       &call_params),
			 0);
	tmr_start(&both.guard, GUARD_MS, guard_handler, &both);
	assert_int_equal(sip_loop_run(), 0);
	tmr_cancel(&both.guard);
	assert_false(both.timed_out);
	assert_string_equal(both.caller.log, "up hold resume closed");
	assert_string_equal(both.callee.log, "up held resumed closed");
	assert_int_equal(both.caller.closed.end, SIP_END_REMOTE);
	assert_int_equal(both.callee.closed.end, SIP_END_LOCAL);
	assert_int_equal(both.caller.closed_count, 1);
	assert_int_equal(both.callee.closed_count, 1);
	assert_int_equal(both.invites_sent, 3);
	assert_int_equal(both.invites_received, 3);
	assert_true(both.caller.outgoing_ns > 0);
	assert_not_before(both.caller.established_ns, both.caller.outgoing_ns);
	both.caller.account = sip_account_free(both.caller.account);
	both.callee.account = sip_account_free(both.callee.account);
	both.ua = sip_ua_free(both.ua);
	sip_loop_close();
}

static void test_both_udp(void **state)
{
	(void)state;
	check_call("127.0.0.1", SIP_TRANSPORT_UDP);
}

static void test_both_tcp(void **state)
{
	(void)state;
	check_call("127.0.0.1", SIP_TRANSPORT_TCP);
}

static void test_both_udp_ipv6(void **state)
{
	(void)state;
	check_call("::1", SIP_TRANSPORT_UDP);
}

static void test_both_tcp_ipv6(void **state)
{
	(void)state;
	check_call("::1", SIP_TRANSPORT_TCP);
}

static void test_ua_refuses_what_it_cannot_bind(void **state)
{
	struct sip_ua_params params = {.bind_addr = "0.0.0.0"};
	struct sip_ua *first = NULL;
	struct sip_ua *ua = NULL;
	(void)state;

	assert_int_equal(sip_loop_init(), 0);
	assert_int_equal(sip_ua_new(&ua, &params), -EINVAL);
	params.bind_addr = "nonsense";
	assert_int_equal(sip_ua_new(&ua, &params), -EINVAL);
	params.bind_addr = "127.0.0.1";
	params.software = "a\r\nb";
	assert_int_equal(sip_ua_new(&ua, &params), -EINVAL);
	params.software = NULL;
	assert_int_equal(sip_ua_new(&first, &params), 0);
	params.port = sip_ua_port(first);
	assert_int_equal(sip_ua_new(&ua, &params), -EADDRINUSE);
	assert_null(ua);
	first = sip_ua_free(first);
	sip_loop_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_udp),
		cmocka_unit_test(test_both_tcp),
		cmocka_unit_test(test_both_udp_ipv6),
		cmocka_unit_test(test_both_tcp_ipv6),
		cmocka_unit_test(test_ua_refuses_what_it_cannot_bind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
