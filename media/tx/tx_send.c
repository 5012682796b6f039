/* How a packet of ours leaves: encrypted, to the peer or its relay. */
#include "base/clock.h"
#include "media/nat/turn_frame.h"
#include "media/tx/tx_internal.h"

#include <errno.h>
#include <sys/socket.h>

static struct session_key *key_of(const struct tx_session *tx, bool rtcp)
{
	return tx->keys[rtcp && tx->rtcp_keyed ? SOCKET_RTCP : SOCKET_RTP];
}

bool tx_keyed(const struct tx_session *tx, bool rtcp)
{
	return !tx->encrypted || key_of(tx, rtcp);
}

int tx_secure(struct tx_session *tx, uint8_t *data, size_t *bytes, size_t room,
	      bool rtcp)
{
	const struct session_key *key = key_of(tx, rtcp);

	if (!tx->encrypted)
		return 0;
	if (!key)
		return -ENOKEY;
	return rtcp ? srtp_context_protect_rtcp(key->context, data, bytes, room)
		    : srtp_context_protect(key->context, data, bytes, room);
}

/* In a channel of the TURN server. */
static ssize_t relayed(const struct media_session *s, unsigned socket,
		       uint16_t channel, const uint8_t *data, size_t bytes)
{
	union {
		const uint8_t *in;
		void *out; /* sendmsg() does not write there */
	} payload = {.in = data};
	uint8_t header[TURN_CHANNEL_BYTES];
	struct iovec parts[2] = {{header, sizeof(header)},
				 {payload.out, bytes}};
	struct sockaddr_storage name = s->tx.via.ss;
	int stream = s->rx.streams[socket].fd;
	const struct msghdr message = {
		.msg_name = stream < 0 ? &name : NULL,
		.msg_namelen = stream < 0 ? s->tx.via.len : 0,
		.msg_iov = parts,
		.msg_iovlen = 2,
	};

	turn_frame_channel(header, channel, bytes);
	return sendmsg(stream < 0 ? s->rx.sockets[socket].fd : stream, &message,
		       0);
}

ssize_t tx_transmit(const struct media_session *s, unsigned socket,
		    const struct media_addr *to, uint16_t channel,
		    const uint8_t *data, size_t bytes)
{
	if (channel)
		return relayed(s, socket, channel, data, bytes);
	return sendto(s->rx.sockets[socket].fd, data, bytes, 0,
		      (const struct sockaddr *)(const void *)&to->ss, to->len);
}

/* A firewall that drops some packets at random may take the first one: an address
 * is refused after 200 ms of 20 ms packets, or three reports. */
#define RTP_REFUSALS  10u
#define RTCP_REFUSALS 3u

/* What the routes and the firewall of this host say of an address. */
static bool is_of_address(int err)
{
	return err == EPERM || err == EACCES || err == ENETUNREACH ||
	       err == EHOSTUNREACH || err == EINVAL;
}

void tx_refused(struct media_engine *e, struct media_session *s, bool rtcp,
		int err)
{
	struct tx_session *tx = &s->tx;
	bool reached =
		rtcp ? tx->rtcp_reached : tx->packets > tx->packets_before;
	bool relayed = rtcp ? tx->channel_rtcp : tx->channel_rtp;
	const struct packet_record r = {
		.mono_ns = clock_mono_ns(),
		.ssrc = s->ssrc,
		.session = s->slot,
		.seq = (uint16_t)err,
		.marker_pt = rtcp,
		.kind = PACKET_UNREACHABLE,
	};

	if (reached || relayed || !is_of_address(err)) {
		COUNTER_ADD(&e->tx.errors, 1);
		return;
	}
	COUNTER_ADD(&e->tx.refused[rtcp], 1);
	if (++tx->refusals[rtcp] % (rtcp ? RTCP_REFUSALS : RTP_REFUSALS) == 0 &&
	    ring_push(e->sent, &r))
		e->sent_pushed++;
}

void tx_reached(struct media_engine *e, struct tx_session *tx, bool rtcp)
{
	if (tx->refusals[rtcp] > 0) {
		COUNTER_SUB(&e->tx.refused[rtcp], tx->refusals[rtcp]);
		COUNTER_ADD(&e->tx.errors, tx->refusals[rtcp]);
	}
	tx->refusals[rtcp] = 0;
}

void tx_refused_forget(struct tx_session *tx, const struct command *c)
{
	if (!media_addr_equal(&tx->rtp, &c->rtp)) {
		tx->refusals[SOCKET_RTP] = 0;
		tx->packets_before = tx->packets;
	}
	if (!media_addr_equal(&tx->rtcp, &c->rtcp)) {
		tx->refusals[SOCKET_RTCP] = 0;
		tx->rtcp_reached = false;
	}
}
