/* Requests other than INVITE and BYE, within a dialog and outside of one. */
#include "world.h"

static const struct world_options plain = {.password = "secret",
					   .domain = "example.net"};
#define UNDERSTOOD                                                 \
	"\r\nAccept: application/sdp, multipart/mixed, multipart/" \
	"alternative\r\n"
static uint16_t ua_port; /* set before the script's thread starts */

static void called(struct peer *peer)
{
	peer_expect(peer, "INVITE ");
	peer_dialog_from_request(peer);
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
}

static void script_requests(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "MESSAGE sip:peer@127.0.0.1:");
	peer_has(peer, "Content-Type: text/plain\r\n");
	peer_has(peer, "Content-Length: 5\r\n\r\nhello");
	peer_has_not(peer, "Contact:");
	peer_reply(peer, 407, "Proxy Authentication Required",
		   "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n",
		   NULL);
	peer_expect(peer, "MESSAGE ");
	peer_has(peer, "Proxy-Authorization: Digest username=\"1001\"");
	peer_reply(peer, 202, "Accepted", NULL, NULL);
	peer_expect(peer, "OPTIONS ");
	peer_has(peer, UNDERSTOOD);
	peer_reply(peer, 486, "Busy Here", NULL, NULL);
	/* and those of the peer */
	peer_request(peer, "MESSAGE", "Content-Type: text/plain\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "INFO", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "INFO",
		     "Content-Type: application/dtmf-relay; x=y\r\n"
		     "Content-Length: 24\r\n\r\n"
		     "Signal= *\r\nDuration=160\r\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "INFO",
		     "Content-Type: application/dtmf\r\n"
		     "Content-Length: 1\r\n\r\n5",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "INFO",
		     "Content-Type: application/dtmf\r\n"
		     "Content-Length: 2\r\n\r\n5x",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static char answers[128];

static void requests_h(struct world *world, struct sip_call *call,
		       enum sip_call_event event,
		       const struct sip_call_info *info)
{
	size_t used = strlen(answers);
	(void)world;

	if (event == SIP_CALL_ESTABLISHED) {
		assert_int_equal(sip_call_request(call, "BYE", NULL, NULL),
				 -EINVAL);
		assert_int_equal(sip_call_request(call, "MESSAGE", "text/plain",
						  "hello"),
				 0);
	}
	if (event == SIP_CALL_DTMF)
		snprintf(answers + used, sizeof(answers) - used, "%c %u ms, ",
			 info->digit, info->digit_ms);
	if (event != SIP_CALL_ANSWER_TO)
		return;
	snprintf(answers + used, sizeof(answers) - used, "%s %u %s, ",
		 info->method, info->code, info->reason);
	if (info->code == 202)
		assert_int_equal(sip_call_request(call, "OPTIONS", NULL, NULL),
				 0);
}

static void test_requests_within_a_dialog(void **state)
{
	static struct world world;
	(void)state;

	answers[0] = '\0';
	world_open(&world, &plain);
	world.script = script_requests;
	world.call_h = requests_h;
	world_dial(&world);
	assert_int_equal(sip_call_request(world.call, "OPTIONS", NULL, NULL),
			 -ENOTCONN);
	world_run(&world);
	assert_string_equal(answers,
			    "MESSAGE 202 Accepted, OPTIONS 486 Busy Here, "
			    "* 160 ms, 5 0 ms, ");
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

#define CHALLENGE(nonce) \
	"WWW-Authenticate: Digest realm=\"r\", nonce=\"" nonce "\"\r\n"

/* Wait for a request with these credentials. One without them may come again. */
static void expect_with(struct peer *peer, const char *start, const char *text)
{
	do {
		peer_expect(peer, start);
	} while (!peer->fail[0] && !strstr(peer->in, text));
}

/* Both requests are sent before the first is challenged. A second challenge to one of
 * them refuses its credentials. */
static void script_challenged_together(struct peer *peer)
{
	static char message[sizeof(peer->in)], bye[sizeof(peer->in)];

	called(peer);
	peer_expect(peer, "MESSAGE ");
	memcpy(message, peer->in, sizeof(message));
	peer_expect(peer, "BYE ");
	memcpy(bye, peer->in, sizeof(bye));
	memcpy(peer->in, message, sizeof(message));
	peer_reply(peer, 401, "Unauthorized", CHALLENGE("message"), NULL);
	expect_with(peer, "MESSAGE ", "nonce=\"message\"");
	peer_reply(peer, 401, "Unauthorized", CHALLENGE("other"), NULL);
	memcpy(peer->in, bye, sizeof(bye));
	peer_reply(peer, 401, "Unauthorized", CHALLENGE("bye"), NULL);
	expect_with(peer, "BYE ", "nonce=\"bye\"");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void message_and_hangup_h(struct world *world, struct sip_call *call,
				 enum sip_call_event event,
				 const struct sip_call_info *info)
{
	(void)world;
	if (event == SIP_CALL_ESTABLISHED) {
		assert_int_equal(sip_call_request(call, "MESSAGE", NULL, NULL),
				 0);
		sip_call_hangup(call);
	}
	if (event == SIP_CALL_ANSWER_TO)
		assert_int_equal(info->code, 401);
}

static void test_requests_challenged_together(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_challenged_together;
	world.call_h = message_and_hangup_h;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(world.log, "OUTGOING LOCAL_SDP REMOTE_SDP ANSWERED "
				       "ESTABLISHED ANSWER_TO CLOSED");
	assert_int_equal(world.closed.end, SIP_END_LOCAL);
	assert_true(world.closed.bye_ok_ns > 0);
	world_close(&world);
}

#define CALL_REQUESTS_MAX 32 /* sip/call/in_dialog.h */

static void script_unanswered(struct peer *peer)
{
	called(peer);
	for (unsigned i = 0; i < CALL_REQUESTS_MAX; i++)
		peer_expect(peer, "MESSAGE ");
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void many_requests_h(struct world *world, struct sip_call *call,
			    enum sip_call_event event,
			    const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event != SIP_CALL_ESTABLISHED)
		return;
	for (unsigned i = 0; i < CALL_REQUESTS_MAX; i++)
		assert_int_equal(
			sip_call_request(call, "MESSAGE", "text/plain", "x"),
			0);
	assert_int_equal(sip_call_request(call, "MESSAGE", "text/plain", "x"),
			 -EBUSY);
}

static void test_too_many_requests_within_a_dialog(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_unanswered;
	world.call_h = many_requests_h;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REMOTE);
	world_close(&world);
}

static void script_gone(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "MESSAGE ");
	peer_reply(peer, 481, "Gone", NULL, NULL);
	peer_expect(peer, "BYE ");
	peer_reply(peer, 481, "Gone", NULL, NULL);
}

static void test_request_to_a_dialog_that_is_gone(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_gone;
	world.call_h = requests_h;
	world_dial(&world);
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_FAILED);
	assert_string_equal(world.closed_reason, "481 to our MESSAGE");
	world_close(&world);
}

static bool notify(struct peer *peer, const char *state, const char *status)
{
	char extra[256];

	/*
	 * peer_request() sends SDP bodies only: the message fragment is built
	 * by hand, as one header block and body
	 */
	snprintf(extra, sizeof(extra),
		 "Event: refer\r\nSubscription-State: %s\r\n"
		 "Content-Type: message/sipfrag\r\n"
		 "Content-Length: %zu\r\n\r\n%s\r\n",
		 state, strlen(status) + 2, status);
	return peer_request(peer, "NOTIFY", extra, NULL) &&
	       peer_expect(peer, "SIP/2.0 ");
}

static void script_transfer(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "REFER sip:peer@127.0.0.1:");
	peer_has(peer, "Refer-To: <sip:1003@example.net>\r\n");
	peer_has(peer, "Referred-By: <sip:1001@example.net>\r\n");
	peer_has(peer, "Contact: <sip:1001-");
	peer_has_not(peer, "Refer-Sub");
	peer_reply(peer, 202, "Accepted", NULL, NULL);
	notify(peer, "active;expires=60", "SIP/2.0 100 Trying");
	peer_has(peer, "SIP/2.0 200 ");
	notify(peer, "active;expires=60", "SIP/2.0 180 Ringing");
	notify(peer, "terminated;reason=noresource", "SIP/2.0 200 OK");
	peer_has(peer, "SIP/2.0 200 ");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void script_transfer_busy(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "REFER ");
	peer_reply(peer, 202, "Accepted", NULL, NULL);
	notify(peer, "active", "SIP/2.0 100 Trying");
	notify(peer, "terminated", "SIP/2.0 486 Busy Here");
	notify(peer, "terminated", "SIP/2.0 486 Busy Here");
	peer_has(peer, "SIP/2.0 481 ");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void script_transfer_refused(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "REFER ");
	peer_reply(peer, 603, "Decline", NULL, NULL);
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void script_transfer_silent(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "REFER ");
	peer_has(peer, "Refer-Sub: false\r\nSupported: norefersub\r\n");
	peer_reply(peer, 202, "Accepted", "Refer-Sub: false\r\n", NULL);
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static struct {
	bool silent;
	char outcome[64];
} transfer;

static void transfer_h(struct world *world, struct sip_call *call,
		       enum sip_call_event event,
		       const struct sip_call_info *info)
{
	(void)world;
	if (event == SIP_CALL_ESTABLISHED) {
		assert_int_equal(
			sip_call_transfer(call, "1003", transfer.silent), 0);
		assert_int_equal(sip_call_transfer(call, "1003", false),
				 -EBUSY);
	}
	if (event != SIP_CALL_TRANSFERRED && event != SIP_CALL_TRANSFER_FAIL)
		return;
	snprintf(transfer.outcome, sizeof(transfer.outcome), "%s %u %s",
		 event == SIP_CALL_TRANSFERRED ? "done" : "failed", info->code,
		 info->reason);
	sip_call_hangup(call);
}

static void test_transfer(void **state)
{
	static const struct {
		world_script_h *script;
		bool silent;
		const char *outcome;
	} cases[] = {
		{script_transfer, false, "done 200 OK"},
		{script_transfer_busy, false, "failed 486 Busy Here"},
		{script_transfer_refused, false, "failed 603 Decline"},
		{script_transfer_silent, true, "done 202 Accepted"},
	};
	static struct world world;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		transfer.outcome[0] = '\0';
		transfer.silent = cases[i].silent;
		world_open(&world, &plain);
		world.script = cases[i].script;
		world.call_h = transfer_h;
		world_dial(&world);
		world_run(&world);
		assert_string_equal(transfer.outcome, cases[i].outcome);
		assert_int_equal(world.closed.end, SIP_END_LOCAL);
		world_close(&world);
	}
}

static void script_referred(struct peer *peer)
{
	called(peer);
	peer_request(peer, "REFER", NULL, NULL);
	peer_expect(peer, "SIP/2.0 400 ");
	peer_request(peer, "REFER", "Refer-To: <tel:1>\r\n", NULL);
	peer_expect(peer, "SIP/2.0 400 ");
	peer_request(peer, "REFER",
		     "Refer-To: \"C\" <sip:1003@example.net?X=y>\r\n", NULL);
	peer_expect(peer, "SIP/2.0 202 ");
	peer_expect(peer, "NOTIFY ");
	peer_has(peer, "Subscription-State: active;expires=");
	peer_has(peer, "Event: refer;id=");
	peer_has(peer, "\r\n\r\nSIP/2.0 100 Trying\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "NOTIFY ");
	peer_has(peer, "Subscription-State: terminated;reason=noresource\r\n");
	peer_has(peer, "\r\n\r\nSIP/2.0 486 Busy Here\r\n");
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_request(peer, "REFER",
		     "Refer-To: sip:1004@example.net\r\nRefer-Sub: false\r\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 202 ");
	peer_has(peer, "Refer-Sub: false\r\n");
	peer_silence(peer, "NOTIFY ", 300);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static char targets[128];

static void referred_h(struct world *world, struct sip_call *call,
		       enum sip_call_event event,
		       const struct sip_call_info *info)
{
	(void)world;
	if (event != SIP_CALL_REFERRED)
		return;
	strcat(targets, info->target);
	strcat(targets, " ");
	assert_int_equal(sip_call_refer_progress(call, 486, "Busy Here"), 0);
	assert_int_equal(sip_call_refer_progress(call, 200, "OK"), -EALREADY);
}

static void test_referred(void **state)
{
	static struct world world;
	(void)state;

	targets[0] = '\0';
	world_open(&world, &plain);
	world.script = script_referred;
	world.call_h = referred_h;
	world_dial(&world);
	world_run(&world);
	assert_string_equal(targets,
			    "sip:1003@example.net sip:1004@example.net ");
	world_close(&world);
}

static void script_reinvited(struct peer *peer)
{
	called(peer);
	peer_expect(peer, "INVITE ");
	peer_has(peer, "a=sendrecv\r\n");
	peer_reply(peer, 200, "OK", NULL, peer_sdp);
	peer_expect(peer, "ACK ");
	peer_expect(peer, "BYE ");
	peer_reply(peer, 200, "OK", NULL, NULL);
}

static void reinvite_h(struct world *world, struct sip_call *call,
		       enum sip_call_event event,
		       const struct sip_call_info *info)
{
	(void)world;
	(void)info;
	if (event == SIP_CALL_ESTABLISHED)
		assert_int_equal(sip_call_reinvite(call), 0);
	if (event == SIP_CALL_REINVITED)
		sip_call_hangup(call);
}

static void test_plain_reinvite(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	world.script = script_reinvited;
	world.call_h = reinvite_h;
	world_dial(&world);
	world_run(&world);
	assert_non_null(strstr(world.log, "REMOTE_SDP REINVITED CLOSED"));
	world_close(&world);
}

static void invite(struct peer *peer, const char *body)
{
	peer_aim(peer, ua_port);
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<%s>",
		 peer->target);
	peer_request(peer, "INVITE", NULL, body);
}

static void script_early(struct peer *peer)
{
	char tag[272];

	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 181 ");
	peer_has(peer, "Content-Length: 0\r\n");
	peer_tag_from_response(peer);
	snprintf(tag, sizeof(tag), "%s", peer->remote_to);
	peer_expect(peer, "SIP/2.0 183 ");
	peer_has(peer, "m=audio 30000 RTP/AVP 8 0\r\n");
	peer_has(peer, tag);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "m=audio 30000 RTP/AVP 8 0\r\n");
	peer_dialog_from_response(peer);
	peer_request(peer, "ACK", NULL, NULL);
	peer_request(peer, "BYE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
}

static void early(struct world *world, struct sip_call *call)
{
	assert_int_equal(sip_call_progress(call, 100, NULL), -EINVAL);
	assert_int_equal(sip_call_progress(call, 200, NULL), -EINVAL);
	assert_int_equal(sip_call_progress(call, 181, NULL), 0);
	assert_int_equal(sip_call_progress(call, 183, &world->media), 0);
	assert_int_equal(sip_call_answer(call, &world->media), 0);
}

static void test_early_media_by_us(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_early;
	world.incoming_h = early;
	world_run(&world);
	assert_string_equal(world.log,
			    "REMOTE_SDP PROGRESS LOCAL_SDP PROGRESS LOCAL_SDP "
			    "ANSWERED ESTABLISHED CLOSED");
	assert_int_equal(world.negotiated_count, 1);
	world_close(&world);
}

static void script_redirected(struct peer *peer)
{
	invite(peer, peer_sdp);
	peer_expect(peer, "SIP/2.0 302 Moved Temporarily\r\n");
	peer_has(peer, "Contact: <sip:1003@example.net>, "
		       "<sip:1004@127.0.0.2:5070>\r\n");
}

static void redirect(struct world *world, struct sip_call *call)
{
	(void)world;
	assert_int_equal(sip_call_redirect(call, 302, ""), -EINVAL);
	assert_int_equal(sip_call_redirect(call, 302, "a b"), -EINVAL);
	assert_int_equal(sip_call_redirect(call, 486, "1003"), -EINVAL);
	assert_int_equal(
		sip_call_redirect(call, 302, "1003, sip:1004@127.0.0.2:5070"),
		0);
}

static void test_redirect_by_us(void **state)
{
	static struct world world;
	(void)state;

	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_redirected;
	world.incoming_h = redirect;
	world_run(&world);
	assert_int_equal(world.closed.end, SIP_END_REJECTED);
	assert_int_equal(world.closed.code, 302);
	world_close(&world);
}

static void script_outside(struct peer *peer)
{
	peer_expect(peer, "OPTIONS sip:example.net SIP/2.0\r\n");
	peer_has(peer, UNDERSTOOD);
	peer_reply(peer, 200, "OK", NULL, NULL);
	peer_expect(peer, "MESSAGE sip:1002@example.net SIP/2.0\r\n");
	peer_has_not(peer, "\r\nAccept:");
	peer_has(peer, "\r\n\r\nhi");
	peer_reply(peer, 404, "Not Found", NULL, NULL);
	/* and those of the peer */
	peer_aim(peer, ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@h>");
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
	peer_request(peer, "MESSAGE", NULL, NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_request(peer, "REFER", "Refer-To: sip:a@b\r\n", NULL);
	peer_expect(peer, "SIP/2.0 603 ");
	peer_request(peer, "NOTIFY", NULL, NULL);
	peer_expect(peer, "SIP/2.0 481 ");
}

static char outside[128];

static void outside_h(const struct sip_request_info *info, void *arg)
{
	struct world *world = arg;
	size_t used = strlen(outside);

	assert_true(info->took_ns > 0);
	snprintf(outside + used, sizeof(outside) - used, "%u %s, ", info->code,
		 info->reason);
	if (info->code == 200)
		assert_int_equal(sip_account_request(world->account, "MESSAGE",
						     "1002", "text/plain", "hi",
						     outside_h, world),
				 0);
}

static void test_requests_outside_of_dialogs(void **state)
{
	static struct world world;
	(void)state;

	outside[0] = '\0';
	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_outside;
	world.linger = true;
	assert_int_equal(sip_account_request(world.account, "OPTIONS", "a b",
					     NULL, NULL, outside_h, &world),
			 -EINVAL);
	assert_int_equal(sip_account_request(world.account, "OPTIONS", NULL,
					     NULL, NULL, outside_h, &world),
			 0);
	world_run(&world);
	assert_string_equal(outside, "200 OK, 404 Not Found, ");
	/* a request that is still pending at the end */
	assert_int_equal(sip_account_request(world.account, "OPTIONS", NULL,
					     NULL, NULL, outside_h, &world),
			 0);
	world_close(&world);
}

/* ---- REFER outside of dialogs ---- */

static void aim_outside(struct peer *peer)
{
	peer_aim(peer, ua_port);
	snprintf(peer->remote_to, sizeof(peer->remote_to), "<sip:1001@h>");
	snprintf(peer->target, sizeof(peer->target), "sip:1001@127.0.0.1:%u",
		 ua_port);
}

static bool notified(struct peer *peer, const char *state, const char *status)
{
	return peer_expect(peer, "NOTIFY sip:peer@127.0.0.1:") &&
	       peer_has(peer, "Event: refer;id=") && peer_has(peer, state) &&
	       peer_has(peer, status) &&
	       peer_reply(peer, 200, "OK", NULL, NULL);
}

static void script_referred_outside(struct peer *peer)
{
	aim_outside(peer);
	peer_request(peer, "REFER", NULL, NULL);
	peer_expect(peer, "SIP/2.0 400 Bad Refer-To");
	peer_request(peer, "REFER", "Refer-To: <sip:fails@h>\r\n", NULL);
	peer_expect(peer, "SIP/2.0 202 ");
	peer_has(peer, "\r\nExpires: 180\r\n");
	peer_dialog_from_response(peer);
	notified(peer, "State: active;expires=", "SIP/2.0 100 Trying\r\n");
	notified(peer, "State: terminated;reason=noresource\r\n",
		 "SIP/2.0 486 Busy Here\r\n");
	/* the subscription is over */
	peer_request(peer, "SUBSCRIBE", "Event: refer\r\n", NULL);
	peer_expect(peer, "SIP/2.0 481 ");
	/* a pending subscription is refreshed, then ended */
	aim_outside(peer);
	peer_request(peer, "REFER",
		     "Refer-To: <sip:waits@h?Replaces=a%3Bto-tag%3Db%3B"
		     "from-tag%3Dc>\r\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 202 ");
	peer_dialog_from_response(peer);
	notified(peer, "State: active;expires=", "SIP/2.0 100 Trying\r\n");
	peer_request(peer, "SUBSCRIBE", "Event: refer\r\nExpires: 60\r\n",
		     NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "\r\nExpires: 180\r\n");
	peer_request(peer, "SUBSCRIBE", "Event: refer\r\nExpires: 0\r\n", NULL);
	peer_expect(peer, "SIP/2.0 200 ");
	peer_has(peer, "\r\nExpires: 0\r\n");
	/* Refer-Sub: false, so no NOTIFY is sent */
	aim_outside(peer);
	peer_request(peer, "REFER",
		     "Refer-To: <sip:fails@h>\r\nRefer-Sub: false\r\n", NULL);
	peer_expect(peer, "SIP/2.0 202 ");
	peer_has(peer, "Refer-Sub: false\r\n");
	peer_silence(peer, "NOTIFY ", 300);
}

static struct sip_referral *waiting;
static struct sip_referral *told; /* the first referral */

static void refer_h(struct sip_account *account, struct sip_referral *referral,
		    const struct sip_refer_info *info, void *arg)
{
	struct world *world = arg;

	assert_ptr_equal(account, world->account);
	assert_true(info->mono_ns > 0);
	strcat(targets, info->target);
	strcat(targets, info->replaces ? "+ " : " ");
	if (strcmp(info->target, "sip:waits@h") == 0) {
		waiting = referral;
		return;
	}
	assert_int_equal(sip_referral_progress(referral, 700, "x"), -EINVAL);
	assert_int_equal(sip_referral_progress(referral, 486, "Busy Here"), 0);
	assert_int_equal(sip_referral_progress(referral, 200, "OK"), -EALREADY);
	/* its last NOTIFY has no response yet */
	if (told)
		sip_referral_free(referral);
	else
		told = referral;
}

static void test_referred_outside_of_dialogs(void **state)
{
	static struct world world;
	(void)state;

	targets[0] = '\0';
	waiting = NULL;
	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_referred_outside;
	world.linger = true;
	assert_int_equal(sip_account_refer(world.account, refer_h), 0);
	world_run(&world);
	assert_string_equal(targets, "sip:fails@h sip:waits@h+ sip:fails@h ");
	/* its subscription has ended */
	assert_int_equal(sip_referral_progress(waiting, 200, "OK"), 0);
	waiting = sip_referral_free(waiting);
	told = sip_referral_free(told);
	world_close(&world);
}

#define REFERRALS_MAX 256 /* sip/event/referral.c */

static struct sip_referral *referrals[REFERRALS_MAX];
static unsigned referral_count;

static void many_refer_h(struct sip_account *account,
			 struct sip_referral *referral,
			 const struct sip_refer_info *info, void *arg)
{
	(void)account;
	(void)info;
	(void)arg;
	assert_true(referral_count < REFERRALS_MAX);
	referrals[referral_count++] = referral;
}

static void script_many_referrals(struct peer *peer)
{
	aim_outside(peer);
	for (unsigned i = 0; i < REFERRALS_MAX; i++) {
		peer_request(peer, "REFER", "Refer-To: <sip:x@h>\r\n", NULL);
		peer_expect(peer, "SIP/2.0 ");
		peer_has(peer, "SIP/2.0 202 ");
	}
	peer_request(peer, "REFER", "Refer-To: <sip:x@h>\r\n", NULL);
	peer_expect(peer, "SIP/2.0 503 ");
}

static void test_one_referral_too_many(void **state)
{
	static struct world world;
	(void)state;

	referral_count = 0;
	world_open(&world, &plain);
	ua_port = world.port;
	world.script = script_many_referrals;
	world.linger = true;
	assert_int_equal(sip_account_refer(world.account, many_refer_h), 0);
	world_run(&world);
	assert_int_equal(referral_count, REFERRALS_MAX);
	while (referral_count > 0)
		sip_referral_free(referrals[--referral_count]);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_within_a_dialog),
		cmocka_unit_test(test_requests_challenged_together),
		cmocka_unit_test(test_too_many_requests_within_a_dialog),
		cmocka_unit_test(test_request_to_a_dialog_that_is_gone),
		cmocka_unit_test(test_transfer),
		cmocka_unit_test(test_referred),
		cmocka_unit_test(test_plain_reinvite),
		cmocka_unit_test(test_early_media_by_us),
		cmocka_unit_test(test_redirect_by_us),
		cmocka_unit_test(test_requests_outside_of_dialogs),
		cmocka_unit_test(test_referred_outside_of_dialogs),
		cmocka_unit_test(test_one_referral_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
