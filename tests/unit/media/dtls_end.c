#include "dtls_end.h"

#include "media_rig.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PAYLOAD 160
#define LARGE   2048 /* largest datagram that is read: HANDOVER_BYTES */

static void send_h(const uint8_t *data, size_t bytes, void *arg)
{
	struct dtls_end *e = arg;
	/* a record of an epoch that does not exist; it is skipped */
	uint8_t large[LARGE] = {0};
	uint8_t *more = large + bytes;
	size_t left = LARGE - bytes;

	if (!e->large) {
		peer_send(&e->peer, &e->to, data, bytes);
		return;
	}
	memcpy(large, data, bytes);
	memcpy(more, "\x17\xfe\xfd\0\x09\0\0\0\0\0\x01", 11);
	more[11] = (uint8_t)((left - 13) >> 8);
	more[12] = (uint8_t)(left - 13);
	peer_send(&e->peer, &e->to, large, LARGE);
}

void dtls_end_open(struct dtls_end *e, const struct media_addr *to)
{
	peer_open(&e->peer);
	e->to = *to;
}

static void forget(struct dtls_end *e)
{
	e->dtls = dtls_free(e->dtls);
	e->tx = e->tx ? srtp_context_free(e->tx) : NULL;
	e->rx = e->rx ? srtp_context_free(e->rx) : NULL;
}

void dtls_end_close(struct dtls_end *e)
{
	forget(e);
	peer_close(&e->peer);
}

void dtls_end_begin(struct dtls_end *e, const struct dtls_identity *id,
		    const struct media_fingerprint *theirs, bool client)
{
	const enum media_srtp_suite suite = MEDIA_SRTP_AEAD_AES_128_GCM;
	const struct dtls_params params = {
		.client = client,
		.peer = *theirs,
		.suites = &suite,
		.suite_count = 1,
		.send = send_h,
		.arg = e,
	};

	forget(e);
	assert_int_equal(dtls_new(&e->dtls, id, &params), 0);
}

void dtls_end_run(struct dtls_end *e)
{
	uint8_t data[2048];
	int len;

	if (!e->dtls)
		return;
	while ((len = peer_receive(&e->peer, data, sizeof(data))) > 0) {
		if (data[0] >= 20 && data[0] <= 63)
			dtls_input(e->dtls, data, (size_t)len);
	}
	dtls_tick(e->dtls);
}

void dtls_end_keys(struct dtls_end *e)
{
	struct media_crypto tx, rx;

	assert_int_equal(dtls_state(e->dtls), DTLS_DONE);
	assert_int_equal(dtls_keys(e->dtls, &tx, &rx), 0);
	assert_int_equal(
		srtp_context_new(&e->tx, &tx, MEDIA_SRTP_LIBRARY_BUILTIN), 0);
	assert_int_equal(
		srtp_context_new(&e->rx, &rx, MEDIA_SRTP_LIBRARY_BUILTIN), 0);
}

/*
 * Fragments of messages that never become complete, with contradicting lengths.
 */
static size_t piece_make(uint8_t data[static 125], unsigned i)
{
	memset(data, 0x5a, 125);
	memcpy(data, "\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x70", 13);
	if (i % 3 == 0)
		data[5] = 0x7f; /* a sequence number far ahead of all others */
	data[10] = (uint8_t)i;
	data[13] = (uint8_t)(i % 24); /* the handshake message type */
	data[14] = 0;                 /* the message length, up to 2 kB */
	data[15] = (uint8_t)(i % 8);
	data[16] = (uint8_t)(7 * i);
	data[17] = 0; /* message_seq */
	data[18] = (uint8_t)(i % 5);
	data[19] = 0; /* fragment_offset */
	data[20] = (uint8_t)(i % 3);
	data[21] = (uint8_t)(11 * i);
	data[22] = data[23] = 0; /* and fragment_length */
	data[24] = (uint8_t)(i % 4 ? 100 : 255);
	return i % 7 ? 125 : 1 + i % 125;
}

void dtls_end_spoil(const struct dtls_end *e, unsigned first, unsigned count)
{
	/*
	 * an alert without a level, a ChangeCipherSpec without a cipher,
	 * application data in plain text, and first fragments of expected
	 * messages with another length
	 */
	static const struct {
		const char *data;
		size_t bytes;
	} records[] = {
		{"\x15\xfe\xfd\0\0\0\0\0\0\0\x01\0\x02\x05\x28", 15},
		{"\x14\xfe\xfd\0\0\0\0\0\0\0\x02\0\x01\x02", 14},
		{"\x17\xfe\xfd\0\0\0\0\0\0\0\x03\0\x01z", 14},
		{"\x16\xfe\xfd\0\0\0\0\0\0\0\x04\0\x0e\x01\0\x09\0\0\0\0\0"
		 "\0\0\0\x02zz",
		 27},
		{"\x16\xfe\xfd\0\0\0\0\0\0\0\x05\0\x0e\x0b\0\x02\0\0\x01\0"
		 "\0\0\0\0\x02zz",
		 27},
		{"\x16\xfe\xfd\0\0\0\0\0\0\0\x06\0\x0e\x02\0\x01\0\0\0\0\0"
		 "\0\0\0\x02zz",
		 27},
	};
	const unsigned kinds = sizeof(records) / sizeof(records[0]);

	for (unsigned i = first; i < first + count; i++) {
		uint8_t piece[125];
		size_t bytes = piece_make(piece, i);
		unsigned k = i / 2 % kinds;

		if (i % 2)
			peer_send(&e->peer, &e->to, piece, bytes);
		else
			peer_send(&e->peer, &e->to, records[k].data,
				  records[k].bytes);
	}
}

void dtls_end_send_rtp(struct dtls_end *e, uint16_t seq)
{
	uint8_t data[512] = {0x80, 8, (uint8_t)(seq >> 8), (uint8_t)seq};
	size_t len = 12 + PAYLOAD;

	data[6] = (uint8_t)(seq * 160u >> 8);
	data[7] = (uint8_t)(seq * 160u);
	memcpy(data + 8, "\x11\x22\x33\x44", 4);
	assert_int_equal(srtp_context_protect(e->tx, data, &len, sizeof(data)),
			 0);
	peer_send(&e->peer, &e->to, data, len);
}

struct dtls_end_media dtls_end_media(struct dtls_end *e)
{
	struct dtls_end_media m = {0};
	uint8_t data[2048];
	int len;

	while ((len = peer_receive(&e->peer, data, sizeof(data))) > 0) {
		size_t bytes = (size_t)len;
		bool rtcp = data[1] >= 192 && data[1] <= 223;
		int err;

		if (data[0] < 128)
			continue;
		if (!e->rx)
			err = -1;
		else if (rtcp)
			err = srtp_context_unprotect_rtcp(e->rx, data, &bytes);
		else
			err = srtp_context_unprotect(e->rx, data, &bytes);
		m.wrong += err != 0;
		m.rtcp += !err && rtcp;
		m.rtp += !err && !rtcp;
	}
	return m;
}
