/* Replaces (RFC 3891), and how a REFER ends if no NOTIFY arrives. */
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
static char outcome[256];

static void called(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_has(peer, "\r\nSupported: replaces, ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
}

/* An INVITE that looks to the user agent like that of a third party. */
static void other_invite(struct peer *peer, const char *replaces,
			 const char *answer)
{
	struct peer other = *peer;
	static unsigned count;

	snprintf(other.callid, sizeof(other.callid), "other-%u", ++count);
	snprintf(other.remote_to, sizeof(other.remote_to), "<%s>",
		 peer->target);
	other.cseq = count;
	peer_request(&other, "INVITE", replaces, peer_sdp);
	peer_expect(&other, answer);
	peer_tag_from_response(&other);
	peer_request(&other, "ACK", NULL, NULL);
	snprintf(peer->fail, sizeof(peer->fail), "%s", other.fail);
}

static void script_replaces(struct peer *peer)
{
	char mine[512], line[1200];
	const char *tag;

	called(peer);
	tag = strstr(peer->remote_to, "tag=");
	snprintf(mine, sizeof(mine), "%s;to-tag=%s;from-tag=%s", peer->callid,
		 tag ? tag + 4 : "", peer->tag);
	snprintf(line, sizeof(line), "Replaces: %s\r\nReplaces: %s\r\n", mine,
		 mine);
	other_invite(peer, line, "SIP/2.0 400 ");
	other_invite(peer, "Replaces: x;to-tag=1\r\n", "SIP/2.0 400 ");
	other_invite(peer, "Replaces: ;to-tag=1;from-tag=2\r\n",
		     "SIP/2.0 400 ");
	other_invite(peer, "Replaces: x;to-tag=1;from-tag=2\r\n",
		     "SIP/2.0 481 ");
	/* the tags are swapped */
	snprintf(line, sizeof(line), "Replaces: %s;from-tag=%s;to-tag=%s\r\n",
		 peer->callid, tag ? tag + 4 : "", peer->tag);
	other_invite(peer, line, "SIP/2.0 481 ");
	snprintf(line, sizeof(line), "Replaces: %s;early-only\r\n", mine);
	other_invite(peer, line, "SIP/2.0 486 ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_replaces_refused(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_replaces;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

static void refer_h(struct world *world, struct sip_call *call,
		    enum sip_call_event event, const struct sip_call_info *info)
{
	(void)world;
	if (event == SIP_CALL_ESTABLISHED)
		assert_int_equal(sip_call_transfer(call, "1003", false), 0);
	if (event == SIP_CALL_TRANSFERRED || event == SIP_CALL_TRANSFER_FAIL)
		snprintf(outcome, sizeof(outcome), "%s", info->reason);
	if (event == SIP_CALL_TRANSFER_FAIL)
		sip_call_hangup(call);
}

static void refer_taken(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "REFER ");
	peer_reply(peer, 202, "Accepted", NULL, NULL);
}

static void script_no_final_notify(struct peer *peer)
{
	refer_taken(peer);
	peer_request(peer, "NOTIFY",
		     "Event: refer\r\n"
		     "Subscription-State: active;expires=1\r\n"
		     "Content-Type: message/sipfrag\r\n"
		     "Content-Length: 20\r\n\r\nSIP/2.0 180 Ringing\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void script_bye_instead(struct peer *peer)
{
	refer_taken(peer);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void test_refer_ends(void **state)
{
	static const struct {
		world_script_h *script;
		const char *outcome;
	} cases[] = {
		{script_no_final_notify,
		 "no NOTIFY said how the transfer ended, the last one: "
		 "Ringing"},
		{script_bye_instead, "the call ended before its transfer did"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		outcome[0] = '\0';
		world_open(&world, &plain);
		world.script = cases[i].script;
		world.call_h = refer_h;
		world_dial(&world);
		world_run(&world);
		assert_string_equal(outcome, cases[i].outcome);
		world_close(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaces_refused),
		cmocka_unit_test(test_refer_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
