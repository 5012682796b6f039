/*
 * We subscribe and publish; the peer is a scripted notifier and event state
 * compositor.
 */
#include "sip/events.h"
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};

#define PIDF                                                               \
	"<presence xmlns='urn:ietf:params:xml:ns:pidf' entity='pres:a@b'>" \
	"<tuple id='t'><status><basic>%s</basic></status></tuple></presence>"

static struct {
	struct sip_subscription *subscription;
	char log[1024];
	bool leave;        /* unsubscribe at the first NOTIFY */
	unsigned notifies; /* stop after this many */
	bool stays;        /* continue after the end: the script has more
			    * messages */
} watch;

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	size_t used = strlen(watch.log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(watch.log + used, sizeof(watch.log) - used, fmt, args);
	va_end(args);
}

static void watch_h(struct sip_subscription *s,
		    enum sip_subscription_event event,
		    const struct sip_subscription_info *info, void *arg)
{
	char text[256] = "-";

	(void)arg;
	assert_ptr_equal(s, watch.subscription);
	assert_true(info->mono_ns > 0);
	switch (event) {
	case SIP_SUBSCRIBED:
		note("subscribed %u %s %us, ", info->code, info->reason,
		     info->expires_s);
		break;
	case SIP_NOTIFIED:
		if (info->presence)
			snprintf(text, sizeof(text), "%s",
				 info->presence->open ? "open" : "closed");
		if (info->mwi)
			mwi_text(text, sizeof(text), info->mwi);
		note("%s: %s, ", info->state, text);
		if (watch.notifies && --watch.notifies == 0)
			sip_unsubscribe(s);
		break;
	case SIP_SUBSCRIBE_FAIL:
	case SIP_UNSUBSCRIBED:
		note("%s %u %s", event == SIP_UNSUBSCRIBED ? "ended" : "failed",
		     info->code, info->reason);
		watch.subscription = sip_subscription_free(s);
		if (!watch.stays)
			sip_loop_stop();
		break;
	}
}

/* Send a NOTIFY with a body, and expect the right response. */
static void notify(struct peer *peer, const char *event, const char *state,
		   const char *type, const char *body, const char *answer)
{
	char extra[2048];
	int n = snprintf(extra, sizeof(extra),
			 "Event: %s\r\nSubscription-State: %s\r\n", event,
			 state);

	if (body)
		snprintf(extra + n, sizeof(extra) - (size_t)n,
			 "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
			 type, strlen(body), body);
	peer_request(peer, "NOTIFY", extra, NULL);
	peer_expect(peer, answer);
}

static void presence(struct peer *peer, const char *state, const char *basic,
		     const char *answer)
{
	char body[512];

	snprintf(body, sizeof(body), PIDF, basic);
	notify(peer, "presence", state, SIP_PRESENCE_TYPE, body, answer);
}

static void accept_subscribe(struct peer *peer, const char *expires)
{
	char extra[128];

	snprintf(extra, sizeof(extra),
		 "Contact: <sip:peer@127.0.0.1:%u>\r\nExpires: %s\r\n",
		 peer->port, expires);
	peer_reply(peer, 200, "OK", extra, NULL);
}

static void script_presence(struct peer *peer)
{
	unsigned cseq;

	peer_expect(peer, "SUBSCRIBE sip:1002@example.net SIP/2.0\r\n");
	peer_has(peer, "Event: presence\r\n");
	peer_has(peer, "Accept: application/pidf+xml\r\n");
	peer_has(peer, "Expires: 600\r\n");
	peer_has(peer, "Contact: <sip:1001-");
	peer_reply(peer, 407, "Proxy Authentication Required",
		   "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "SUBSCRIBE ");
	peer_has(peer, "Proxy-Authorization: Digest username=\"1001\"");
	peer_dialog_from_request(peer);
	accept_subscribe(peer, "500");
	presence(peer, "pending", "closed", "SIP/2.0 200 ");
	notify(peer, "presence", "active;expires=499", NULL, NULL,
	       "SIP/2.0 200 ");
	/* a NOTIFY that does not belong to this subscription, or is invalid */
	notify(peer, "dialog", "active", NULL, NULL, "SIP/2.0 489 ");
	notify(peer, "message-summary", "active", NULL, NULL, "SIP/2.0 489 ");
	notify(peer, "presence;id=7", "active", NULL, NULL, "SIP/2.0 489 ");
	notify(peer, "presence", "active", "text/plain", "x", "SIP/2.0 415 ");
	peer_has(peer, "Accept: application/pidf+xml\r\n");
	notify(peer, "presence", "active", SIP_PRESENCE_TYPE, "<x/>",
	       "SIP/2.0 400 ");
	peer_request(peer, "NOTIFY", "Event: presence\r\n", NULL);
	peer_expect(peer, "SIP/2.0 400 ");
	cseq = peer->cseq;
	peer->cseq = 0;
	presence(peer, "active", "closed", "SIP/2.0 500 ");
	peer->cseq = cseq;
	peer->tag[0] = 'q'; /* the notifier of another fork */
	presence(peer, "active", "closed", "SIP/2.0 481 ");
	peer->tag[0] = 'p';
	presence(peer, "active;expires=400", "open", "SIP/2.0 200 ");
	peer_expect(peer, "SUBSCRIBE sip:peer@127.0.0.1:");
	peer_has(peer, "Expires: 0\r\n");
	accept_subscribe(peer, "0");
	presence(peer, "terminated;reason=timeout", "open", "SIP/2.0 200 ");
}

static void script_mwi(struct peer *peer)
{
	peer_expect(peer, "SUBSCRIBE sip:1001@example.net SIP/2.0\r\n");
	peer_has(peer, "Event: message-summary\r\n");
	peer_has(peer, "Accept: application/simple-message-summary\r\n");
	peer_reply(peer, 423, "Interval Too Brief", "Min-Expires: 60\r\n",
		   NULL);
	peer_expect(peer, "SUBSCRIBE ");
	peer_has(peer, "Expires: 60\r\n");
	peer_dialog_from_request(peer);
	/* NOTIFY before the response (RFC 6665 4.1.2.4) */
	static char last[sizeof(peer->in)];

	memcpy(last, peer->in, sizeof(last));
	notify(peer, "message-summary", "active;expires=3", SIP_MWI_TYPE,
	       "Messages-Waiting: yes\r\nMessage-Account: sip:1001@b\r\n"
	       "Voice-Message: 4/8 (1/2)\r\n",
	       "SIP/2.0 200 ");
	memcpy(peer->in, last, sizeof(last));
	accept_subscribe(peer, "3");
	/* refreshed after 2.7 s */
	peer_expect(peer, "SUBSCRIBE sip:peer@127.0.0.1:");
	peer_has(peer, "Expires: 60\r\n");
	accept_subscribe(peer, "60");
	notify(peer, "message-summary", "active;expires=60", SIP_MWI_TYPE,
	       "Messages-Waiting: no\r\n", "SIP/2.0 200 ");
	peer_expect(peer, "SUBSCRIBE sip:peer@127.0.0.1:");
	peer_has(peer, "Expires: 0\r\n");
	accept_subscribe(peer, "0");
	notify(peer, "message-summary", "terminated", SIP_MWI_TYPE,
	       "Messages-Waiting: no\r\n", "SIP/2.0 200 ");
}

static void script_refused(struct peer *peer)
{
	peer_expect(peer, "SUBSCRIBE ");
	peer_reply(peer, 489, "Bad Event", NULL, NULL);
}

static void script_fetch(struct peer *peer)
{
	peer_expect(peer, "SUBSCRIBE ");
	peer_has(peer, "Expires: 0\r\n");
	peer_dialog_from_request(peer);
	accept_subscribe(peer, "0");
	presence(peer, "terminated;reason=timeout", "open", "SIP/2.0 200 ");
}

/* The notifier ends the subscription and asks for a new one. */
static void script_renewed(struct peer *peer)
{
	char callid[64];

	peer_expect(peer, "SUBSCRIBE ");
	peer_dialog_from_request(peer);
	snprintf(callid, sizeof(callid), "%s", peer->callid);
	accept_subscribe(peer, "600");
	presence(peer, "active;expires=600", "open", "SIP/2.0 200 ");
	notify(peer, "presence", "terminated;reason=deactivated", NULL, NULL,
	       "SIP/2.0 200 ");
	peer_expect(peer, "SUBSCRIBE sip:1002@example.net");
	peer_dialog_from_request(peer);
	if (strcmp(callid, peer->callid) == 0)
		snprintf(peer->fail, sizeof(peer->fail), "the same Call-ID");
	accept_subscribe(peer, "600");
	presence(peer, "active", "closed", "SIP/2.0 200 ");
	notify(peer, "presence", "terminated;reason=rejected", NULL, NULL,
	       "SIP/2.0 200 ");
	notify(peer, "presence", "active", NULL, NULL, "SIP/2.0 481 ");
}

/* A refresh towards a notifier that has lost the subscription. */
static void script_forgotten(struct peer *peer)
{
	peer_expect(peer, "SUBSCRIBE ");
	peer_dialog_from_request(peer);
	accept_subscribe(peer, "2");
	presence(peer, "active", "open", "SIP/2.0 200 ");
	peer_expect(peer, "SUBSCRIBE sip:peer@127.0.0.1:");
	peer_reply(peer, 481, "Subscription Does Not Exist", NULL, NULL);
}

/*
 * A notifier that refuses the refresh: the subscription lasts until it expires.
 */
static void script_expired(struct peer *peer)
{
	peer_expect(peer, "SUBSCRIBE ");
	peer_dialog_from_request(peer);
	accept_subscribe(peer, "2");
	presence(peer, "active", "open", "SIP/2.0 200 ");
	peer_expect(peer, "SUBSCRIBE sip:peer@127.0.0.1:");
	peer_reply(peer, 500, "Server Internal Error", NULL, NULL);
}

static void test_subscribe(void **state)
{
	static const struct {
		world_script_h *script;
		enum sip_package package;
		const char *uri;
		uint32_t expires_s;
		unsigned notifies; /* then we unsubscribe */
		const char *log;
	} cases[] = {
		{script_presence, SIP_PACKAGE_PRESENCE, "1002", 600, 3,
		 "subscribed 200 OK 500s, pending: closed, active: -, "
		 "active: open, terminated: open, ended 0 terminated, "
		 "timeout"},
		{script_mwi, SIP_PACKAGE_MWI, NULL, 30, 2,
		 "active: yes, voice-message 4/8 (1/2), subscribed 200 OK 3s, "
		 "active: no, terminated: no, ended 0 terminated"},
		{script_refused, SIP_PACKAGE_MWI, NULL, 30, 0,
		 "failed 489 Bad Event"},
		{script_fetch, SIP_PACKAGE_PRESENCE, "1002", 0, 0,
		 "subscribed 200 OK 0s, terminated: open, ended 0 terminated, "
		 "timeout"},
		{script_renewed, SIP_PACKAGE_PRESENCE, "1002", 600, 0,
		 "subscribed 200 OK 600s, active: open, terminated: -, "
		 "active: closed, terminated: -, ended 0 terminated, "
		 "rejected"},
		{script_forgotten, SIP_PACKAGE_PRESENCE, "1002", 600, 0,
		 "subscribed 200 OK 2s, active: open, ended 481 Subscription "
		 "Does Not Exist"},
		{script_expired, SIP_PACKAGE_PRESENCE, "1002", 600, 0,
		 "subscribed 200 OK 2s, active: open, ended 0 "
		 "it expired, the refresh: Server Internal Error"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sip_subscribe_params params = {
			.package = cases[i].package,
			.uri = cases[i].uri,
			.expires_s = cases[i].expires_s,
			.handler = watch_h,
		};

		watch.log[0] = '\0';
		watch.notifies = cases[i].notifies;
		world_open(&world, &plain);
		world.script = cases[i].script;
		watch.stays = world.script == script_renewed;
		world.linger = watch.stays;
		assert_int_equal(sip_subscribe(&watch.subscription,
					       world.account, &params),
				 0);
		world_run(&world);
		assert_string_equal(watch.log, cases[i].log);
		assert_null(watch.subscription);
		world_close(&world);
	}
}

/* Released while active: no handler is called, nothing leaks. */
static void test_subscription_released(void **state)
{
	const struct sip_subscribe_params params = {
		.package = SIP_PACKAGE_MWI,
		.expires_s = 60,
		.handler = watch_h,
	};
	struct sip_subscribe_params wrong = params;
	static struct world world;
	(void)state;

	watch.log[0] = '\0';
	world_open(&world, &plain);
	wrong.uri = "a b";
	assert_int_equal(
		sip_subscribe(&watch.subscription, world.account, &wrong),
		-EINVAL);
	assert_int_equal(
		sip_subscribe(&watch.subscription, world.account, &params), 0);
	watch.subscription = sip_subscription_free(watch.subscription);
	assert_string_equal(watch.log, "");
	world_close(&world);
}

/* ---- PUBLISH ---- */

static struct {
	struct sip_publication *publication;
	unsigned published;
} own;

static void publication_h(struct sip_publication *p,
			  enum sip_publication_event event,
			  const struct sip_publication_info *info, void *arg)
{
	static const struct sip_presence busy = {.note = "a <b> & \"c\""};
	static const struct sip_event_state state = {.presence = &busy};
	static const char *const words[] = {"published", "failed", "removed"};

	(void)arg;
	assert_ptr_equal(p, own.publication);
	note("%s %u %s %us, ", words[event], info->code, info->reason,
	     info->expires_s);
	if (event == SIP_PUBLISHED && ++own.published == 1)
		assert_int_equal(sip_publication_modify(p, &state), 0);
	else if (event == SIP_PUBLISHED)
		sip_unpublish(p);
	else
		sip_loop_stop();
}

static void script_publish(struct peer *peer)
{
	peer_expect(peer, "PUBLISH sip:1001@example.net SIP/2.0\r\n");
	peer_has(peer, "Event: presence\r\nExpires: 30\r\n");
	peer_has(peer, "Content-Type: application/pidf+xml\r\n");
	peer_has(peer, "entity=\"pres:1001@example.net\"");
	peer_has(peer, "<basic>open</basic>");
	peer_has_not(peer, "SIP-If-Match");
	peer_has_not(peer, "Contact: ");
	peer_reply(peer, 401, "Unauthorized",
		   "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "PUBLISH ");
	peer_has(peer, "Authorization: Digest username=\"1001\"");
	peer_reply(peer, 423, "Interval Too Brief", "Min-Expires: 60\r\n",
		   NULL);
	peer_expect(peer, "PUBLISH ");
	peer_has(peer, "Expires: 60\r\n");
	peer_has(peer, "<basic>open</basic>");
	peer_reply(peer, 200, "OK", "SIP-ETag: one\r\nExpires: 60\r\n", NULL);
	/* a new state */
	peer_expect(peer, "PUBLISH ");
	peer_has(peer, "SIP-If-Match: one\r\n");
	peer_has(peer, "<basic>closed</basic>");
	peer_has(peer, "<note>a &lt;b&gt; &amp; &quot;c&quot;</note>");
	peer_reply(peer, 412, "Conditional Request Failed", NULL, NULL);
	peer_expect(peer, "PUBLISH ");
	peer_has_not(peer, "SIP-If-Match");
	peer_has(peer, "<basic>closed</basic>");
	peer_reply(peer, 200, "OK", "SIP-ETag: two\r\nExpires: 60\r\n", NULL);
	/* the publication is removed */
	peer_expect(peer, "PUBLISH ");
	peer_has(peer, "SIP-If-Match: two\r\n");
	peer_has(peer, "Expires: 0\r\n");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_reply(peer, 200, "OK", "SIP-ETag: two\r\nExpires: 0\r\n", NULL);
}

/*
 * Refreshed with its entity-tag and without a body; the compositor has lost it.
 */
static void script_refresh(struct peer *peer)
{
	peer_expect(peer, "PUBLISH ");
	peer_reply(peer, 200, "OK", "SIP-ETag: one\r\nExpires: 2\r\n", NULL);
	peer_expect(peer, "PUBLISH ");
	peer_has(peer, "SIP-If-Match: one\r\n"); /* modified */
	peer_reply(peer, 200, "OK", "SIP-ETag: two\r\nExpires: 2\r\n", NULL);
	peer_expect(peer, "PUBLISH ");
	peer_has(peer, "SIP-If-Match: two\r\n");
	peer_reply(peer, 500, "Server Internal Error", NULL, NULL);
}

static void script_no_tag(struct peer *peer)
{
	peer_expect(peer, "PUBLISH ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

/*
 * A 412 to every PUBLISH does not loop: without an entity-tag it is a refusal.
 */
static void script_412(struct peer *peer)
{
	peer_expect(peer, "PUBLISH ");
	peer_reply(peer, 412, "Conditional Request Failed", NULL, NULL);
}

static void test_publish(void **state)
{
	static const struct sip_presence open = {.open = true};
	static const struct sip_event_state here = {.presence = &open};
	static const struct {
		world_script_h *script;
		const char *log;
	} cases[] = {
		{script_publish, "published 200 OK 60s, published 200 OK 60s, "
				 "removed 200 OK 0s, "},
		{script_no_tag, "failed 200 the answer has no SIP-ETag that "
				"can be used 0s, "},
		{script_412, "failed 412 Conditional Request Failed 0s, "},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		watch.log[0] = '\0';
		own.published = 0;
		world_open(&world, &plain);
		world.script = cases[i].script;
		assert_int_equal(sip_publish(&own.publication, world.account,
					     &here, 30, publication_h, NULL),
				 0);
		world_run(&world);
		assert_string_equal(watch.log, cases[i].log);
		own.publication = sip_publication_free(own.publication);
		world_close(&world);
	}
}

static void refresh_h(struct sip_publication *p,
		      enum sip_publication_event event,
		      const struct sip_publication_info *info, void *arg)
{
	static const struct sip_presence closed = {.open = false};
	static const struct sip_event_state away = {.presence = &closed};

	(void)arg;
	note("%d %u %us, ", event, info->code, info->expires_s);
	if (event == SIP_PUBLISHED && ++own.published == 1)
		assert_int_equal(sip_publication_modify(p, &away), 0);
	if (event == SIP_PUBLISH_FAIL)
		sip_loop_stop();
}

static void test_publication_refreshed(void **state)
{
	static const struct sip_presence open = {.open = true};
	static const struct sip_event_state here = {.presence = &open};
	static struct world world;
	(void)state;

	watch.log[0] = '\0';
	own.published = 0;
	world_open(&world, &plain);
	world.script = script_refresh;
	assert_int_equal(sip_publish(&own.publication, world.account, &here, 2,
				     refresh_h, NULL),
			 0);
	assert_int_equal(sip_publication_modify(own.publication, &here),
			 -EBUSY);
	world_run(&world);
	assert_string_equal(watch.log, "0 200 2s, 0 200 2s, 1 500 0s, ");
	own.publication = sip_publication_free(own.publication);
	world_close(&world);
}

/* ---- NOTIFY without a subscription ---- */

#define SUMMARY "Messages-Waiting: yes\r\nVoice-Message: 2/8 (0/2)\r\n"

static uint16_t ua_port;

static void unsolicited(struct peer *peer, const char *event, const char *state,
			const char *type, const char *body, const char *answer)
{
	char extra[512];

	snprintf(extra, sizeof(extra),
		 "Event: %s\r\n%sContent-Type: %s\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 event, state, type, strlen(body), body);
	peer_request(peer, "NOTIFY", extra, NULL);
	peer_expect(peer, answer);
}

static void script_unsolicited(struct peer *peer)
{
	peer_expect(peer, "REGISTER ");
	peer_reply(peer, 200, "OK", "Expires: 60\r\n", NULL);
	peer_aim(peer, ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@h>");
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	unsolicited(peer, "message-summary", "", SIP_MWI_TYPE, SUMMARY,
		    "SIP/2.0 200 ");
	unsolicited(peer, "message-summary",
		    "Subscription-State: terminated;reason=timeout\r\n",
		    SIP_MWI_TYPE, "Messages-Waiting: no\r\n", "SIP/2.0 200 ");
	/* not a message summary, or not for us */
	unsolicited(peer, "message-summary", "", "text/plain", SUMMARY,
		    "SIP/2.0 415 ");
	unsolicited(peer, "message-summary", "", SIP_MWI_TYPE, "x",
		    "SIP/2.0 400 ");
	unsolicited(peer, "message-summary", "Subscription-State: \r\n",
		    SIP_MWI_TYPE, SUMMARY, "SIP/2.0 400 ");
	unsolicited(peer, "presence", "", SIP_PRESENCE_TYPE, "<x/>",
		    "SIP/2.0 481 ");
	unsolicited(peer, "keep-alive", "", "text/plain", "x", "SIP/2.0 481 ");
	/* a subscription that is not ours */
	snprintf(peer->remote_to, sizeof(peer->remote_to),
		 "<sip:1001@h>;tag=other");
	unsolicited(peer, "message-summary", "", SIP_MWI_TYPE, SUMMARY,
		    "SIP/2.0 481 ");
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1009@h>");
	snprintf(peer->target, sizeof(peer->target), "sip:1009@127.0.0.1:%u",
		 ua_port);
	unsolicited(peer, "message-summary", "", SIP_MWI_TYPE, SUMMARY,
		    "SIP/2.0 481 ");
}

static void script_unregistered(struct peer *peer)
{
	peer_aim(peer, ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@h>");
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	unsolicited(peer, "message-summary", "", SIP_MWI_TYPE, SUMMARY,
		    "SIP/2.0 481 ");
}

static void mwi_h(struct sip_account *account,
		  const struct sip_subscription_info *info, void *arg)
{
	struct world *world = arg;
	char text[256] = "-";

	assert_ptr_equal(account, world->account);
	assert_true(info->mono_ns > 0);
	if (info->mwi)
		mwi_text(text, sizeof(text), info->mwi);
	note("%s: %s, ", info->state, text);
}

static void test_unsolicited(void **state)
{
	static struct world world;
	(void)state;

	for (int registered = 0; registered < 2; registered++) {
		watch.log[0] = '\0';
		world_open(&world, &plain);
		ua_port = world.port;
		world.linger = true;
		world.script =
			registered ? script_unsolicited : script_unregistered;
		assert_int_equal(sip_account_mwi(world.account, mwi_h), 0);
		if (registered)
			assert_int_equal(sip_account_register(world.account),
					 0);
		world_run(&world);
		assert_string_equal(
			watch.log,
			registered ? "unsolicited: yes, voice-message 2/8 "
				     "(0/2), unsolicited: no, "
				   : "");
		world_close(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subscribe),
		cmocka_unit_test(test_subscription_released),
		cmocka_unit_test(test_publish),
		cmocka_unit_test(test_publication_refreshed),
		cmocka_unit_test(test_unsolicited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
