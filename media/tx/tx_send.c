/* Before and after a packet is sent: encryption, copies, refusals. */
#include "base/clock.h"
#include "media/tx/tx_internal.h"

#include <errno.h>

static struct session_key *key_of(const struct tx_session *s, bool rtcp)
{
	return s->keys[rtcp && s->rtcp_keyed ? SOCKET_RTCP : SOCKET_RTP];
}

bool tx_keyed(const struct tx_session *s, bool rtcp)
{
	return !s->encrypted || key_of(s, rtcp);
}

int tx_secure(struct tx_session *s, uint8_t *data, size_t *bytes, size_t room,
	      bool rtcp)
{
	const struct session_key *key = key_of(s, rtcp);

	if (!s->encrypted)
		return 0;
	if (!key)
		return -ENOKEY;
	return rtcp ? srtp_context_protect_rtcp(key->context, data, bytes, room)
		    : srtp_context_protect(key->context, data, bytes, room);
}

void tx_copy(const struct tx_session *s, bool rtcp, int64_t now_ns,
	     const uint8_t *data, size_t bytes)
{
	const struct packet_copy packet = {
		.mono_ns = now_ns,
		.sent = true,
		.rtcp = rtcp,
		.socket = rtcp && !s->rtcp_mux ? SOCKET_RTCP : SOCKET_RTP,
		.peer = rtcp ? &s->rtcp : &s->rtp,
		.data = data,
		.captured = bytes,
		.bytes = bytes,
	};

	packet_copy(&s->copies, &packet);
}

/* A firewall that drops packets at random may drop the first one. Report an
 * address only after 200 ms of 20 ms packets, or three reports. */
#define RTP_REFUSALS  10u
#define RTCP_REFUSALS 3u

/* Errors that the routes or the firewall of this host cause for an address. */
static bool is_of_address(int err)
{
	return err == EPERM || err == EACCES || err == ENETUNREACH ||
	       err == EHOSTUNREACH || err == EINVAL;
}

void tx_refused(struct tx *t, struct tx_session *s, bool rtcp, int err)
{
	bool reached = rtcp ? s->rtcp_reached : s->packets > s->packets_before;
	bool relayed = rtcp ? s->channel_rtcp : s->channel_rtp;
	const struct packet_record r = {
		.mono_ns = clock_mono_ns(),
		.ssrc = s->ssrc,
		.session = s->slot,
		.seq = (uint16_t)err,
		.marker_pt = rtcp,
		.kind = PACKET_UNREACHABLE,
	};

	if (reached || relayed || !is_of_address(err)) {
		COUNTER_ADD(&t->counters.errors, 1);
		return;
	}
	COUNTER_ADD(&t->counters.refused[rtcp], 1);
	if (++s->refusals[rtcp] % (rtcp ? RTCP_REFUSALS : RTP_REFUSALS) == 0 &&
	    ring_push(t->p.sent, &r))
		t->sent_pushed++;
}

void tx_reached(struct tx *t, struct tx_session *s, bool rtcp)
{
	if (s->refusals[rtcp] > 0) {
		COUNTER_SUB(&t->counters.refused[rtcp], s->refusals[rtcp]);
		COUNTER_ADD(&t->counters.errors, s->refusals[rtcp]);
	}
	s->refusals[rtcp] = 0;
}

void tx_refused_forget(struct tx_session *s, const struct tx_command *c)
{
	if (!media_addr_equal(&s->rtp, &c->rtp)) {
		s->refusals[SOCKET_RTP] = 0;
		s->packets_before = s->packets;
	}
	if (!media_addr_equal(&s->rtcp, &c->rtcp)) {
		s->refusals[SOCKET_RTCP] = 0;
		s->rtcp_reached = false;
	}
}
