#include "media_peer.h"

#include "media_rig.h"

#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void peer_open(struct peer *p)
{
	int bytes = 1 << 20;

	p->at = rig_loopback();
	p->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(p->fd >= 0);
	setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	assert_int_equal(
		bind(p->fd, (struct sockaddr *)(void *)&p->at.ss, p->at.len),
		0);
	assert_int_equal(getsockname(p->fd,
				     (struct sockaddr *)(void *)&p->at.ss,
				     &p->at.len),
			 0);
}

void peer_close(struct peer *p)
{
	close(p->fd);
}

void peer_send(const struct peer *p, const struct media_addr *to,
	       const void *data, size_t bytes)
{
	ssize_t sent =
		sendto(p->fd, data, bytes, 0,
		       (const struct sockaddr *)(const void *)&to->ss, to->len);

	assert_int_equal(sent, bytes);
}

void peer_send_rtp(const struct peer *p, const struct media_addr *to,
		   uint32_t ssrc, uint16_t seq)
{
	uint8_t data[12 + PEER_PAYLOAD_BYTES] = {0x80, 8};
	uint32_t ts = seq * 160u;

	data[2] = (uint8_t)(seq >> 8);
	data[3] = (uint8_t)seq;
	for (int i = 0; i < 4; i++) {
		data[4 + i] = (uint8_t)(ts >> (24 - 8 * i));
		data[8 + i] = (uint8_t)(ssrc >> (24 - 8 * i));
	}
	memset(data + 12, 0xd5, PEER_PAYLOAD_BYTES);
	peer_send(p, to, data, sizeof(data));
}

int peer_receive(const struct peer *p, uint8_t *data, size_t size)
{
	return (int)recv(p->fd, data, size, 0);
}
