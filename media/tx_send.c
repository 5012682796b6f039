/* How a packet of ours leaves: encrypted, to the peer or its relay. */
#include "media/turn_frame.h"
#include "media/tx_internal.h"

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
