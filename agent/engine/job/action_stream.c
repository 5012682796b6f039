/* Media without signalling: a call that is up from its first moment. */
#include "agent/engine/call/call_media.h"
#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PEER_BYTES (INET6_ADDRSTRLEN + sizeof("rtp:[]:65535"))

/* As if both sides had offered the same: our first codec is sent. */
static void settle(struct media_negotiated *n, const struct media_local *local,
		   const struct wire_stream *to)
{
	*n = (struct media_negotiated){
		.codec = local->codecs[0],
		.ptime_ms = local->ptime_ms,
		.direction = MEDIA_SENDRECV,
	};
	(void)engine_address(&n->rtp, to->host, to->port);
	(void)engine_address(&n->rtcp, to->host, (uint16_t)(to->port + 1));
	memcpy(n->accepted, local->codecs,
	       local->codec_count * sizeof(local->codecs[0]));
	n->accepted_count = local->codec_count;
}

static int start(struct call *c)
{
	const struct wire_stream *to = &c->action->stream;
	struct media_negotiated negotiated;
	char peer[PEER_BYTES];
	int64_t now_ns;

	snprintf(peer, sizeof(peer),
		 strchr(to->host, ':') ? "rtp:[%s]:%u" : "rtp:%s:%u", to->host,
		 to->port);
	c->dial_uri = strdup(peer);
	if (!c->dial_uri)
		return -ENOMEM;
	settle(&negotiated, media_session_local(c->media), to);
	if (negotiated.rtp.ss.ss_family != c->engine->bind.ss.ss_family)
		return -EAFNOSUPPORT;
	call_begun(c);
	now_ns = clock_mono_ns();
	call_media_apply(c, &negotiated, now_ns);
	call_is_up(c, now_ns);
	return 0;
}

int action_stream_place(struct engine *e, const struct wire_action *action,
			unsigned n)
{
	struct call *c = call_make(e, action, NULL, true);
	int err;

	if (!c) {
		report_end_job(e->report, "error", "role %s: out of memory",
			       e->job->role);
		return -ENOMEM;
	}
	c->number = n;
	err = call_media_new(c);
	if (!err)
		err = start(c);
	if (err == -EADDRINUSE && !action->stream.local_port) {
		call_unmake(c);
	} else if (err) {
		call_fault(c, "its stream cannot be set up", err);
		call_release(c);
	}
	return err;
}

void action_stream_end(struct call *c)
{
	const struct sip_call_info info = {
		.mono_ns = clock_mono_ns(),
		.local = true,
		.reason = "the stream was ended",
		.end = SIP_END_LOCAL,
	};

	c->hangup_ns = info.mono_ns;
	call_closed(c, &info, NULL);
}
