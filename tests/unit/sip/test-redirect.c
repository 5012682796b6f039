#include "sip/call/redirect.h"
#include "sip/message/digest.h"
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};

static char targets[512];

static void note(struct world *world, struct sip_call *call,
		 enum sip_call_event event, const struct sip_call_info *info)
{
	size_t used = strlen(targets);

	(void)world;
	if (event == SIP_CALL_REDIRECTED)
		snprintf(targets + used, sizeof(targets) - used, "%s ",
			 info->target);
	if (event == SIP_CALL_ESTABLISHED)
		sip_call_hangup(call);
}

static void refuse(struct peer *peer, const char *start, int code,
		   const char *extra)
{
	peer_expect(peer, start);
	peer_reply(peer, code, "Whatever", extra, NULL);
	peer_expect(peer, "ACK ");
}

static void script_order(struct peer *peer)
{
	char contacts[512];

	/*
	 * b has no q: 1; c and d keep their order; the mailto URI cannot be
	 * called
	 */
	snprintf(contacts, sizeof(contacts),
		 "Contact: <sip:a@127.0.0.1:%u>;q=0.1, "
		 "<mailto:x@example.net>\r\n"
		 "Contact: <sip:b@127.0.0.1:%u?X-Not=ours>\r\n"
		 "Contact: \"C\" <sip:c@example.net>;q=0.5\r\n"
		 "Contact: <sip:d@127.0.0.1:%u;transport=udp>;q=0.5\r\n",
		 peer->port, peer->port, peer->port);
	refuse(peer, "INVITE sip:1002@example.net SIP/2.0\r\n", 302, contacts);
	refuse(peer, "INVITE sip:b@127.0.0.1:", 486, NULL);
	peer_has_not(peer, "X-Not");
	/* in the account's domain: it goes to the account's target */
	refuse(peer, "INVITE sip:c@example.net SIP/2.0\r\n", 404, NULL);
	peer_expect(peer, "INVITE sip:d@127.0.0.1:");
	peer_has(peer, "\r\nTo: <sip:1002@example.net>\r\n");
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "INVITE sip:d@127.0.0.1:");
	peer_has(peer, "Authorization: Digest");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK sip:peer@127.0.0.1:");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void script_loop(struct peer *peer)
{
	refuse(peer, "INVITE sip:1002@", 302,
	       "Contact: <sip:1003@example.net>\r\n");
	refuse(peer, "INVITE sip:1003@", 301,
	       "Contact: <sip:1002@example.net>, <sip:1003@example.net>\r\n");
}

static void script_endless(struct peer *peer)
{
	char start[64], contact[64];

	for (int i = 0; i <= 3; i++) {
		snprintf(start, sizeof(start), "INVITE sip:%d@example.net ",
			 1002 + i);
		snprintf(contact, sizeof(contact),
			 "Contact: <sip:%d@example.net>\r\n", 1003 + i);
		refuse(peer, start, 302, contact);
	}
}

static void script_no_contact(struct peer *peer)
{
	refuse(peer, "INVITE ", 300, NULL);
}

static void script_600(struct peer *peer)
{
	refuse(peer, "INVITE sip:1002@", 302,
	       "Contact: <sip:1003@example.net>, <sip:1004@example.net>\r\n");
	refuse(peer, "INVITE sip:1003@", 600, NULL);
}

static void test_redirected(void **state)
{
	static const struct {
		world_script_h *script;
		uint32_t max;
		const char *users;
		enum sip_call_end end;
		uint16_t code;
		const char *reason;
	} cases[] = {
		{script_order, 5, "bcd", SIP_END_LOCAL, 0, "hung up by us"},
		{script_loop, 5, "3", SIP_END_REJECTED, 301,
		 "redirected in a loop, every contact was tried"},
		{script_endless, 3, "345", SIP_END_REJECTED, 302,
		 "redirected more than 3 times"},
		{script_no_contact, 5, "", SIP_END_REJECTED, 300, "Whatever"},
		{script_600, 5, "3", SIP_END_REJECTED, 600, "Whatever"},
		{script_no_contact, 0, "", SIP_END_REJECTED, 300, "Whatever"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = targets;

		targets[0] = '\0';
		world_open(&world, &plain);
		world.options.redirects_max = cases[i].max;
		world.script = cases[i].script;
		world.call_h = note;
		world_dial(&world);
		world_run(&world);
		/* the last letter of each user */
		for (const char *user = cases[i].users; *user; user++) {
			at = strchr(at, '@');
			assert_non_null(at);
			assert_int_equal(at[-1], *user);
			at++;
		}
		assert_null(strchr(at, '@'));
		assert_int_equal(world.closed.end, cases[i].end);
		assert_int_equal(world.closed.code, cases[i].code);
		assert_string_equal(world.closed_reason, cases[i].reason);
		world_close(&world);
	}
}

static void script_rings_for_ever(struct peer *peer)
{
	char invite[8192];

	peer_expect(peer, "INVITE ");
	memcpy(invite, peer->in, sizeof(invite) - 1);
	invite[sizeof(invite) - 1] = '\0';
	for (int i = 0; i < 4; i++) {
		peer_reply(peer, 180, "Ringing", NULL, NULL);
		peer_silence(peer, "BYE", 300);
		memcpy(peer->in, invite, sizeof(invite));
	}
	peer_expect(peer, "CANCEL ");
	peer_reply(peer, 200, "OK", NULL, NULL);
	memcpy(peer->in, invite, sizeof(invite));
	peer_reply(peer, 487, "Request Terminated", NULL, NULL);
	peer_expect(peer, "ACK ");
}

static void test_nobody_answers(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.options.ring_timeout_s = 2;
	world.script = script_rings_for_ever;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_FAILED);
	assert_string_equal(world.closed_reason, "no final answer within 2 s");
	world_close(&world);
}

/* ---- ceilings ---- */

/* @return a response with `count` times a header field of a number */
static struct sip_msg *response_with(unsigned code, const char *field,
				     unsigned count)
{
	struct mbuf *mb = mbuf_alloc(8192);
	struct sip_msg *msg;

	mbuf_printf(mb,
		    "SIP/2.0 %u Whatever\r\n"
		    "Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK1\r\n"
		    "To: <sip:a@example.net>;tag=1\r\n"
		    "From: <sip:b@example.net>;tag=2\r\n"
		    "Call-ID: c\r\nCSeq: 1 INVITE\r\n",
		    code);
	for (unsigned i = 0; i < count; i++)
		mbuf_printf(mb, field, i);
	mbuf_printf(mb, "Content-Length: 0\r\n\r\n");
	mb->pos = 0;
	assert_int_equal(sip_msg_decode(&msg, mb), 0);
	mem_deref(mb);
	return msg;
}

/* 40 contacts: 31 of them become targets, the first target being one, too. */
static void test_many_contacts(void **state)
{
	struct sip_msg *msg =
		response_with(302, "Contact: <sip:u%u@127.0.0.1>\r\n", 40);
	struct call_redirect r = {.count = 0};
	unsigned count = 0;
	char *uri = NULL;
	(void)state;

	redirect_take(&r, "sip:1002@example.net", msg);
	while (redirect_next(&uri, &r, 100) == 0)
		count++;
	assert_int_equal(count, 31);
	assert_string_equal(uri, "sip:u30@127.0.0.1");
	redirect_release(&r);
	mem_deref(msg);
}

static int challenged(unsigned realms)
{
	struct sip_msg *msg = response_with(
		401, "WWW-Authenticate: Digest realm=\"r%u\", nonce=\"n\"\r\n",
		realms);
	struct digest *digest;
	uint32_t challenges = 0;
	int err;

	assert_int_equal(digest_new(&digest, "1001", "secret"), 0);
	err = digest_challenge(digest, &challenges, msg);
	mem_deref(digest);
	mem_deref(msg);
	return err;
}

static void test_many_realms(void **state)
{
	(void)state;
	assert_int_equal(challenged(4), 0);
	assert_int_equal(challenged(5), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redirected),
		cmocka_unit_test(test_nobody_answers),
		cmocka_unit_test(test_many_contacts),
		cmocka_unit_test(test_many_realms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
