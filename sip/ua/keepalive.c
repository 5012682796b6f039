#include "sip/ua/keepalive.h"

#include <errno.h>
#include <string.h>

#include "base/big_endian.h"
#include "base/random.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"
#include "sip/transport/conn.h"
#include "sip/transport/hop.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/register.h"
#include "sip/ua/ua_internal.h"

/* Intervals without Flow-Timer (RFC 5626 4.4), of which 80 to 100 % are
 * waited. */
#define EVERY_STREAM_S   120
#define EVERY_DATAGRAM_S 29

/* STUN over UDP (RFC 5389 7.2.1), with fewer retransmissions. */
#define STUN_RTO_MS    500
#define STUN_TRIES_MAX 5

/* RFC 5389 6, 15.2 */
#define STUN_HEADER_BYTES  20
#define STUN_ID_BYTES      12
#define STUN_SUCCESS       0x0101
#define STUN_MAPPED        0x0020 /* XOR-MAPPED-ADDRESS */
#define STUN_MAPPED_BYTES  20
#define STUN_COOKIE_OFFSET 4

struct keepalive {
	struct le le; /* of the user agent's */
	struct sip_account *account;
	struct hop hop;
	uint32_t every_s;
	struct mono_timer tmr;
	struct conn_watch watch;
	/* STUN */
	uint8_t id[STUN_ID_BYTES];
	unsigned tries; /* 0: none is under way */
	uint8_t mapped[STUN_MAPPED_BYTES];
	size_t mapped_bytes; /* 0: not known yet */
};

static void due_handler(void *arg);

static void keepalive_destructor(void *arg)
{
	struct keepalive *k = arg;

	list_unlink(&k->le);
	list_unlink(&k->watch.le);
	mono_timer_cancel(&k->tmr);
	mem_deref(k->hop.conn);
}

static void wait_start(struct keepalive *k)
{
	/* 80 to 100 %, so that the keep-alives of many accounts are spread */
	mono_timer_start(&k->tmr,
			 k->every_s * 800 + random_u32() % (k->every_s * 200),
			 due_handler, k);
}

static void lost(struct keepalive *k, const char *reason)
{
	struct sip_account *account = k->account;

	account->keepalive = mem_deref(k);
	register_flow_lost(account, reason);
}

static void closed_handler(int err, const char *reason, void *arg)
{
	(void)err;
	lost(arg, reason ? reason : "connection refused");
}

static void binding_send(struct keepalive *k)
{
	static const uint8_t head[] = {0x00, 0x01, 0x00, 0x00,
				       0x21, 0x12, 0xa4, 0x42};
	uint8_t request[STUN_HEADER_BYTES];

	memcpy(request, head, sizeof(head));
	memcpy(request + sizeof(head), k->id, sizeof(k->id));
	transport_datagram(k->account->ua->transport, &k->hop.addr, request,
			   sizeof(request));
	mono_timer_start(&k->tmr, (uint64_t)STUN_RTO_MS << k->tries,
			 due_handler, k);
	k->tries++;
}

static void due_handler(void *arg)
{
	struct keepalive *k = arg;
	char reason[REASON_BYTES];

	if (k->hop.tp != SIP_TRANSP_UDP) {
		conn_ping(k->hop.conn);
		wait_start(k);
		return;
	}
	if (k->tries == STUN_TRIES_MAX) {
		(void)re_snprintf(reason, sizeof(reason),
				  "the flow to %J is lost: STUN keep-alives "
				  "are not answered",
				  &k->hop.addr);
		lost(k, reason);
		return;
	}
	if (k->tries == 0)
		rand_bytes(k->id, sizeof(k->id));
	binding_send(k);
}

/* Copy XOR-MAPPED-ADDRESS with the XOR undone, so that the addresses of two
 * requests compare. @return bytes; 0: there is none */
static size_t mapped_read(uint8_t *dst, const uint8_t *data, size_t len)
{
	size_t at = STUN_HEADER_BYTES;

	while (at + 4 <= len) {
		uint16_t type = be16(data + at);
		size_t bytes = be16(data + at + 2);

		at += 4;
		if (bytes > len - at)
			return 0;
		if (type == STUN_MAPPED && bytes >= 8 &&
		    bytes <= STUN_MAPPED_BYTES) {
			memcpy(dst, data + at, bytes);
			for (size_t i = 0; i < 2; i++)
				dst[2 + i] ^= data[STUN_COOKIE_OFFSET + i];
			for (size_t i = 4; i < bytes; i++)
				dst[i] ^= data[STUN_COOKIE_OFFSET + i - 4];
			return bytes;
		}
		at += (bytes + 3) & ~(size_t)3;
	}
	return 0;
}

static void answered(struct keepalive *k, const uint8_t *data, size_t len)
{
	uint8_t mapped[STUN_MAPPED_BYTES];
	size_t bytes = mapped_read(mapped, data, len);
	char reason[REASON_BYTES];

	k->tries = 0;
	if (k->mapped_bytes && bytes &&
	    (bytes != k->mapped_bytes || memcmp(mapped, k->mapped, bytes))) {
		(void)re_snprintf(reason, sizeof(reason),
				  "the flow to %J is lost: our public address "
				  "changed",
				  &k->hop.addr);
		lost(k, reason);
		return;
	}
	memcpy(k->mapped, mapped, bytes);
	k->mapped_bytes = bytes;
	wait_start(k);
}

bool keepalive_stun(struct sip_ua *ua, const struct sa *src,
		    const uint8_t *data, size_t len)
{
	struct le *le;

	if (len < STUN_HEADER_BYTES || be16(data) != STUN_SUCCESS)
		return false;
	LIST_FOREACH(&ua->keepalives, le)
	{
		struct keepalive *k = le->data;

		if (k->tries == 0 || !sa_cmp(&k->hop.addr, src, SA_ALL) ||
		    memcmp(k->id, data + 8, sizeof(k->id)))
			continue;
		answered(k, data, len);
		return true;
	}
	return false;
}

int keepalive_start(struct keepalive **place, struct sip_account *account,
		    const struct sip_msg *msg, uint32_t every_s)
{
	struct keepalive *k = *place;
	struct conn *conn = msg->sock;

	if (every_s == 0)
		every_s = msg->tp == SIP_TRANSP_UDP ? EVERY_DATAGRAM_S
						    : EVERY_STREAM_S;
	if (k && k->hop.conn == conn && k->every_s == every_s &&
	    sa_cmp(&k->hop.addr, &msg->src, SA_ALL))
		return 0;
	*place = mem_deref(k);
	k = mem_zalloc(sizeof(*k), keepalive_destructor);
	if (!k)
		return -ENOMEM;
	k->account = account;
	k->every_s = every_s;
	k->hop.tp = msg->tp;
	k->hop.addr = msg->src;
	k->hop.conn = mem_ref(conn);
	k->watch.closed_h = closed_handler;
	k->watch.arg = k;
	list_append(&account->ua->keepalives, &k->le, k);
	if (conn)
		conn_watch(conn, &k->watch);
	wait_start(k);
	*place = k;
	return 0;
}
