#include "world.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define GUARD_MS    100000
#define STACK_BYTES (8u << 20)

static const char *const call_names[] = {
	[SIP_CALL_OUTGOING] = "OUTGOING",
	[SIP_CALL_RINGING] = "RINGING",
	[SIP_CALL_PROGRESS] = "PROGRESS",
	[SIP_CALL_ANSWERED] = "ANSWERED",
	[SIP_CALL_ESTABLISHED] = "ESTABLISHED",
	[SIP_CALL_LOCAL_SDP] = "LOCAL_SDP",
	[SIP_CALL_REMOTE_SDP] = "REMOTE_SDP",
	[SIP_CALL_HELD] = "HELD",
	[SIP_CALL_RESUMED] = "RESUMED",
	[SIP_CALL_REINVITE_FAIL] = "REINVITE_FAIL",
	[SIP_CALL_REINVITED] = "REINVITED",
	[SIP_CALL_ANSWER_TO] = "ANSWER_TO",
	[SIP_CALL_REDIRECTED] = "REDIRECTED",
	[SIP_CALL_TRANSFERRED] = "TRANSFERRED",
	[SIP_CALL_TRANSFER_FAIL] = "TRANSFER_FAIL",
	[SIP_CALL_REFERRED] = "REFERRED",
	[SIP_CALL_NEW_KEY] = "NEW_KEY",
	[SIP_CALL_CLOSED] = "CLOSED",
};

static const char *const account_names[] = {
	[SIP_ACCOUNT_REGISTERING] = "REGISTERING",
	[SIP_ACCOUNT_REGISTER_OK] = "REGISTER_OK",
	[SIP_ACCOUNT_REGISTER_FAIL] = "REGISTER_FAIL",
	[SIP_ACCOUNT_UNREGISTERED] = "UNREGISTERED",
};

static void log_add(struct world *world, const char *word)
{
	size_t used = strlen(world->log);

	snprintf(world->log + used, sizeof(world->log) - used, "%s%s",
		 used ? " " : "", word);
}

static void trace_handler(const struct sip_trace *trace, void *arg)
{
	struct world *world = arg;
	const struct sockaddr_in *in = (const void *)&trace->local.ss;

	assert_true(trace->mono_ns > 0);
	assert_true(trace->len > 0);
	if (trace->sent)
		world->sent++;
	else
		world->received++;
	if (trace->transport == SIP_TRANSPORT_UDP)
		assert_int_equal(ntohs(in->sin_port), world->port);
}

static void full_handler(const char *reason, void *arg)
{
	struct world *world = arg;
	size_t used = strlen(world->full);

	snprintf(world->full + used, sizeof(world->full) - used, "%s\n",
		 reason);
}

static void account_handler(struct sip_account *account,
			    enum sip_account_event event,
			    const struct sip_account_info *info, void *arg)
{
	struct world *world = arg;

	assert_ptr_equal(account, world->account);
	log_add(world, account_names[event]);
	world->account_info = *info;
	snprintf(world->account_reason, sizeof(world->account_reason), "%s",
		 info->reason);
	if (world->account_h)
		world->account_h(world, event);
}

static void call_handler(struct sip_call *call, enum sip_call_event event,
			 const struct sip_call_info *info, void *arg)
{
	struct world *world = arg;

	assert_non_null(info->reason);
	assert_int_equal(world->closed_count, 0);
	log_add(world, call_names[event]);
	world->times[event] = info->mono_ns;
	if (info->media) {
		media_negotiated_copy(&world->negotiated, info->media);
		world->negotiated_count++;
	}
	if (world->call_h)
		world->call_h(world, call, event, info);
	if (event != SIP_CALL_CLOSED)
		return;
	world->closed = *info;
	snprintf(world->closed_reason, sizeof(world->closed_reason), "%s",
		 info->reason);
	world->closed_count++;
	world->call = sip_call_free(call);
	if (!world->linger)
		sip_loop_stop();
}

static void incoming_handler(struct sip_account *account, struct sip_call *call,
			     void *arg)
{
	struct world *world = arg;

	assert_ptr_equal(account, world->account);
	assert_null(world->call);
	world->call = call;
	assert_int_equal(sip_call_adopt(call, call_handler, world), 0);
	world->incoming_h(world, call);
}

static void media_fill(struct media_local *media)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&media->rtp.ss;

	memset(media, 0, sizeof(*media));
	in->sin_family = AF_INET;
	in->sin_port = htons(30000);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	media->rtp.len = sizeof(*in);
	media->rtcp = media->rtp;
	((struct sockaddr_in *)&media->rtcp.ss)->sin_port = htons(30001);
	media->codecs[0] = (struct media_codec){"PCMU", 0, 1, 8000, ""};
	media->codecs[1] = (struct media_codec){"PCMA", 8, 1, 8000, ""};
	media->codec_count = 2;
	media->ptime_ms = 20;
}

/* Static storage is far from any stack. */
static bool is_on_stack(const void *at)
{
	const char here = 0;
	const uintptr_t a = (uintptr_t)at, b = (uintptr_t)&here;

	return (a > b ? a - b : b - a) < STACK_BYTES;
}

void world_open(struct world *world, const struct world_options *options)
{
	const struct sip_ua_params ua_params = {
		.bind_addr = "127.0.0.1",
		.software = "offhook-test",
		.name_servers = options->name_servers,
		.calls_max = 10,
		.trace_h = trace_handler,
		.full_h = full_handler,
		.arg = world,
	};
	struct sip_account_params params = {
		.username = "1001",
		.password = options->password,
		.domain = options->domain,
		.display_name = "Test \"User\"",
		.target = {"127.0.0.1", 0, options->transport},
		.regexpire_s = options->regexpire_s,
		.headers = options->headers,
		.header_count = options->header_count,
		.account_h = account_handler,
		.incoming_h = incoming_handler,
		.arg = world,
	};

	if (is_on_stack(world))
		fail_msg("the world must be in static storage");
	memset(world, 0, sizeof(*world));
	peer_open(&world->peer);
	media_fill(&world->media);
	if (options->target_host)
		params.target.host = options->target_host;
	params.target.port =
		options->target_port ? options->target_port : world->peer.port;
	if (options->any_port)
		params.target.port = 0;
	assert_int_equal(sip_loop_init(), 0);
	assert_int_equal(sip_ua_new(&world->ua, &ua_params), 0);
	world->port = sip_ua_port(world->ua);
	assert_int_not_equal(world->port, 0);
	assert_int_equal(sip_account_new(&world->account, world->ua, &params),
			 0);
}

static void *script_thread(void *arg)
{
	struct world *world = arg;

	world->script(&world->peer);
	if (world->linger)
		mqueue_push(world->through, 0, NULL);
	return NULL;
}

static void through_handler(int id, void *data, void *arg)
{
	(void)id;
	(void)data;
	(void)arg;
	sip_loop_stop();
}

static void guard_handler(void *arg)
{
	struct world *world = arg;

	world->timed_out = true;
	sip_loop_stop();
}

void world_run(struct world *world)
{
	pthread_t thread;

	tmr_start(&world->guard, GUARD_MS, guard_handler, world);
	if (world->linger)
		assert_int_equal(
			mqueue_alloc(&world->through, through_handler, NULL),
			0);
	if (world->script)
		assert_int_equal(
			pthread_create(&thread, NULL, script_thread, world), 0);
	assert_int_equal(sip_loop_run(), 0);
	if (world->script)
		pthread_join(thread, NULL);
	tmr_cancel(&world->guard);
	world->through = mem_deref(world->through);
	if (world->peer.fail[0])
		print_error("peer: %s\nlog: %s\n", world->peer.fail,
			    world->log);
	assert_string_equal(world->peer.fail, "");
	if (world->timed_out)
		print_error("timed out, log: %s\n", world->log);
	assert_false(world->timed_out);
}

void world_close(struct world *world)
{
	struct memstat stat;

	world->call = sip_call_free(world->call);
	world->account = sip_account_free(world->account);
	world->ua = sip_ua_free(world->ua);
	peer_close(&world->peer);
	sip_loop_close();
	/* libre counts its objects only in some builds. */
	if (mem_get_stat(&stat) == 0)
		assert_int_equal(stat.blocks_cur, 0);
}

void world_dial(struct world *world)
{
	const struct sip_call_params params = {
		.uri = "1002",
		.media = &world->media,
		.options = &world->options,
		.call_h = call_handler,
		.arg = world,
	};

	assert_int_equal(sip_call_dial(&world->call, world->account, &params),
			 0);
	assert_string_equal(world->log, "");
}
