/* We are the notifier; the peer is a scripted subscriber. */
#include "sip/events.h"
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
static uint16_t ua_port; /* set before the script's thread starts */
static char heard[1024];

static void watcher_h(struct sip_account *account, enum sip_watcher_event event,
		      const struct sip_watcher_info *info, void *arg)
{
	static const char *const words[] = {"new", "notified", "gone"};
	size_t used = strlen(heard);

	(void)account;
	(void)arg;
	assert_non_null(info->reason);
	snprintf(heard + used, sizeof(heard) - used, "%s %s %s %u %s %u, ",
		 words[event], sip_package_name(info->package), info->uri,
		 info->code, info->reason, info->watchers);
}

static void aim(struct peer *peer)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@x>");
}

static void notified(struct peer *peer, const char *state, const char *body)
{
	peer_expect(peer, "NOTIFY sip:peer@127.0.0.1:");
	peer_has(peer, state);
	peer_has(peer, body);
	peer_has(peer, "Contact: <sip:1001-");
}

static void script_refusals(struct peer *peer)
{
	peer_request(peer, "SUBSCRIBE", "Event: dialog\r\n", NULL);
	peer_expect(peer, "SIP/2.0 489 ");
	peer_has(peer, "Allow-Events: presence, message-summary\r\n");
	peer_request(peer, "SUBSCRIBE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 489 ");
	peer_request(peer, "SUBSCRIBE",
		     "Event: presence\r\nAccept: text/plain\r\n", NULL);
	peer_expect(peer, "SIP/2.0 406 ");
}

static void script_watched(struct peer *peer)
{
	aim(peer);
	script_refusals(peer);
	peer_request(peer, "SUBSCRIBE",
		     "Event: presence;id=a1\r\nExpires: 600\r\n"
		     "Accept: text/plain, application/pidf+xml\r\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "Expires: 600\r\n");
	peer_dialog_from_response(peer);
	notified(peer,
		 "Subscription-State: active;expires=", "<basic>open</basic>");
	peer_has(peer, "Event: presence;id=a1\r\n");
	peer_has(peer, "Content-Type: application/pidf+xml\r\n");
	peer_reply(peer, 407, "Proxy Authentication Required",
		   "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "NOTIFY ");
	peer_has(peer, "Proxy-Authorization: Digest username=\"1001\"");
	peer_reply(peer, 200, "OK", NULL, NULL);
	/* refreshed, then ended */
	peer_request(peer, "SUBSCRIBE",
		     "Event: presence;id=a1\r\nExpires: 300\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "Expires: 300\r\n");
	notified(peer, "Subscription-State: active;expires=", "open");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_request(peer, "SUBSCRIBE",
		     "Event: presence;id=a1\r\nExpires: 0\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	notified(peer, "Subscription-State: terminated;reason=timeout\r\n",
		 "open");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_request(peer, "SUBSCRIBE", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 481 ");
}

/* Everything sent before is processed: the loop ends with the script. */
static void settle(struct peer *peer)
{
	aim(peer);
	peer_request(peer, "OPTIONS", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void script_expires(struct peer *peer)
{
	aim(peer);
	peer_request(peer, "SUBSCRIBE",
		     "Event: message-summary\r\nExpires: 1\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	notified(peer, "Subscription-State: active;expires=",
		 "\r\n\r\nMessages-Waiting: yes\r\n"
		 "Message-Account: sip:1001@example.net\r\n"
		 "voice-message: 2/8 (0/2)\r\n");
	peer_has(peer, "Content-Type: application/simple-message-summary\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	notified(peer, "Subscription-State: terminated;reason=timeout\r\n",
		 "yes");
	peer_reply(peer, 200, "OK", NULL, NULL);
	settle(peer);
}

/*
 * It unsubscribes before it has answered: the last NOTIFY is sent nevertheless.
 */
static void script_leaves(struct peer *peer)
{
	static char first[sizeof(peer->in)];

	aim(peer);
	peer_request(peer, "SUBSCRIBE", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_dialog_from_response(peer);
	peer_expect(peer, "NOTIFY ");
	memcpy(first, peer->in, sizeof(first));
	peer_request(peer, "SUBSCRIBE", "Event: presence\r\nExpires: 0\r\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	memcpy(peer->in, first, sizeof(first));
	peer_reply(peer, 200, "OK", NULL, NULL);
	/* the first one may have been retransmitted meanwhile */
	do
		peer_expect(peer, "NOTIFY ");
	while (!peer->fail[0] && strstr(peer->in, "State: active"));
	peer_has(peer, "Subscription-State: terminated;reason=timeout\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	settle(peer);
}

/* A subscriber that refuses a NOTIFY is removed. */
static void script_refuses(struct peer *peer)
{
	aim(peer);
	peer_request(peer, "SUBSCRIBE", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "Expires: 3600\r\n");
	peer_expect(peer, "NOTIFY ");
	peer_reply(peer, 481, "Subscription Does Not Exist", NULL, NULL);
	settle(peer);
}

static void test_watched(void **state)
{
	static const struct {
		world_script_h *script;
		const char *heard;
	} cases[] = {
		{script_watched,
		 "new presence sip:peer@127.0.0.1 0  1, "
		 "notified presence sip:peer@127.0.0.1 200 OK 1, "
		 "notified presence sip:peer@127.0.0.1 200 OK 1, "
		 "gone presence sip:peer@127.0.0.1 200 timeout 0, "},
		{script_expires,
		 "new message-summary sip:peer@127.0.0.1 0  1, "
		 "notified message-summary sip:peer@127.0.0.1 200 OK 1, "
		 "gone message-summary sip:peer@127.0.0.1 200 timeout 0, "},
		{script_leaves,
		 "new presence sip:peer@127.0.0.1 0  1, "
		 "notified presence sip:peer@127.0.0.1 200 OK 1, "
		 "gone presence sip:peer@127.0.0.1 200 timeout 0, "},
		{script_refuses,
		 "new presence sip:peer@127.0.0.1 0  1, "
		 "gone presence sip:peer@127.0.0.1 481 Subscription Does Not "
		 "Exist 0, "},
	};
	const struct sip_presence presence = {.open = true};
	const struct sip_mwi mwi = {
		.waiting = true,
		.counts[SIP_MWI_VOICE] = {true, 2, 8, true, 0, 2},
	};
	const struct sip_event_state told = {&presence, &mwi};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		heard[0] = '\0';
		world_open(&world, &plain);
		ua_port = world.port;
		world.script = cases[i].script;
		world.linger = true;
		assert_int_equal(sip_account_serve(world.account, &told,
						   watcher_h, NULL),
				 0);
		world_run(&world);
		assert_string_equal(heard, cases[i].heard);
		world_close(&world);
	}
}

/* ---- changes ---- */

static void script_changes(struct peer *peer)
{
	aim(peer);
	peer_request(peer, "SUBSCRIBE", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	notified(peer, "Subscription-State: active", "<basic>open</basic>");
	/* Two changes while a NOTIFY is unanswered: one NOTIFY carries both. */
	peer_reply(peer, 200, "OK", NULL, NULL);
	notified(peer, "Subscription-State: active", "<basic>closed</basic>");
	peer_reply(peer, 200, "OK", NULL, NULL);
	notified(peer, "Subscription-State: active", "<note>third</note>");
	peer_reply(peer, 200, "OK", NULL, NULL);
	/* the account is removed */
	notified(peer, "Subscription-State: terminated;reason=noresource\r\n",
		 "Content-Length: 0");
	peer_reply(peer, 200, "OK", NULL, NULL);
	settle(peer);
}

static unsigned changes;

static void changes_h(struct sip_account *account, enum sip_watcher_event event,
		      const struct sip_watcher_info *info, void *arg)
{
	static const struct sip_presence states[] = {
		{.note = "first"}, {.note = "second"}, {.note = "third"}};

	(void)info;
	if (event != SIP_WATCHER_NOTIFIED)
		return;
	changes++;
	if (changes == 1) {
		for (size_t i = 0; i < 3; i++) {
			const struct sip_event_state told = {&states[i], NULL};

			assert_int_equal(sip_account_serve(account, &told,
							   changes_h, arg),
					 0);
		}
		assert_int_equal(sip_account_notifies(account), 1);
	}
	if (changes == 3)
		sip_account_serve_end(account);
}

static void test_changes_are_told(void **state)
{
	const struct sip_presence presence = {.open = true};
	const struct sip_event_state told = {&presence, NULL};
	static struct world world;
	(void)state;

	changes = 0;
	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_changes;
	world.linger = true;
	assert_int_equal(
		sip_account_serve(world.account, &told, changes_h, NULL), 0);
	world_run(&world);
	assert_int_equal(changes, 3);
	world_close(&world);
}

/* Without an event package, SUBSCRIBE is not an allowed method. */
static void script_nothing(struct peer *peer)
{
	aim(peer);
	peer_request(peer, "SUBSCRIBE", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 405 ");
	peer_request(peer, "PUBLISH", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 405 ");
	peer_request(peer, "NOTIFY", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 481 ");
}

static void test_nothing_to_watch(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_nothing;
	world.linger = true;
	world_run(&world);
	world_close(&world);
}

/* ---- the ceiling ---- */

static void script_many(struct peer *peer)
{
	aim(peer);
	for (unsigned i = 0; i < SIP_WATCHERS_MAX; i++) {
		peer_request(peer, "SUBSCRIBE", "Event: presence\r\n", NULL);
		peer_expect(peer, "SIP/2.0 ");
		peer_has(peer, "SIP/2.0 200 ");
	}
	peer_request(peer, "SUBSCRIBE", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 503 ");
	settle(peer);
}

static void test_one_watcher_too_many(void **state)
{
	const struct sip_presence presence = {.open = true};
	const struct sip_event_state told = {&presence, NULL};
	static struct world world;
	(void)state;

	heard[0] = '\0';
	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_many;
	world.linger = true;
	assert_int_equal(
		sip_account_serve(world.account, &told, watcher_h, NULL), 0);
	world_run(&world);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_changes_are_told),
		cmocka_unit_test(test_nothing_to_watch),
		cmocka_unit_test(test_one_watcher_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
