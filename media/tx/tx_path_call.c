/* The media path with a socket a call: each packet is sent at once, to the peer or
 * through the TURN server. */
#include "base/clock.h"
#include "media/nat/turn_frame.h"
#include "media/tx/tx_internal.h"

#include <errno.h>
#include <sys/socket.h>

/* Send in a channel of the TURN server. */
static ssize_t relayed(const struct tx_session *s, unsigned socket,
		       uint16_t channel, const uint8_t *data, size_t bytes)
{
	union {
		const uint8_t *in;
		void *out; /* sendmsg() does not write there */
	} payload = {.in = data};
	uint8_t header[TURN_CHANNEL_BYTES];
	struct iovec parts[2] = {{header, sizeof(header)},
				 {payload.out, bytes}};
	union sockaddr_ip name = s->via.ss;
	int stream = s->stream_fds[socket];
	const struct msghdr message = {
		.msg_name = stream < 0 ? &name : NULL,
		.msg_namelen = stream < 0 ? s->via.len : 0,
		.msg_iov = parts,
		.msg_iovlen = 2,
	};

	turn_frame_channel(header, channel, bytes);
	return sendmsg(stream < 0 ? s->fds[socket] : stream, &message, 0);
}

ssize_t tx_transmit(const struct tx_session *s, unsigned socket,
		    const struct media_addr *to, uint16_t channel,
		    const uint8_t *data, size_t bytes)
{
	if (channel)
		return relayed(s, socket, channel, data, bytes);
	return sendto(s->fds[socket], data, bytes, 0,
		      (const struct sockaddr *)(const void *)&to->ss, to->len);
}

static void call_send(struct tx *t, const struct tx_packet *packet)
{
	const struct tx_session *s = packet->session;
	/* the system call is not counted as lateness */
	int64_t now_ns = clock_mono_ns();
	int err = 0;

	if (tx_transmit(s, SOCKET_RTP, &s->rtp, s->channel_rtp, packet->data,
			packet->bytes) < 0)
		err = errno;
	tx_rtp_left(t, packet, now_ns, err);
}

static void call_flush(struct tx *t)
{
	(void)t; /* nothing ever waits */
}

const struct tx_path tx_path_call = {
	.send = call_send,
	.flush = call_flush,
};
