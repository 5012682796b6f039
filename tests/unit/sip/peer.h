/**
 * A scripted SIP peer for the tests: raw UDP on 127.0.0.1, no SIP library, so
 * that what it accepts and sends is not judged by the code under test. A
 * script runs in its own thread; the first thing that does not hold is noted
 * and ends it.
 */
#ifndef OFFHOOK_TESTS_SIP_PEER_H
#define OFFHOOK_TESTS_SIP_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_WAIT_MS 8000

struct peer {
	int fd;
	uint16_t port;
	struct sockaddr_in from; /* of the last message, or set by the script */
	char in[65536];
	char fail[256];
	char tag[16];        /* of our To or From */
	char callid[64];     /* of calls we begin */
	char remote_to[272]; /* To of our dialog, with the other's tag */
	char target[256];    /* request URI of our dialog */
	unsigned cseq;
	unsigned invite_branch;
};

void peer_open(struct peer *peer);
void peer_close(struct peer *peer);

/** Wait for a message that begins so; others are skipped. */
bool peer_expect(struct peer *peer, const char *start);
/** True if nothing that begins so comes for a while. */
bool peer_silence(struct peer *peer, const char *start, int wait_ms);
/** Value of a header of the last message; "" and failure if absent. */
bool peer_header(struct peer *peer, const char *name, char *dst, size_t size);
bool peer_has(struct peer *peer, const char *text);
bool peer_has_not(struct peer *peer, const char *text);
/** Answer the last message. extra: header lines or NULL; body or NULL */
bool peer_reply(struct peer *peer, int code, const char *reason,
		const char *extra, const char *body);
/** Send a request outside (tag of To empty) or inside the dialog. */
bool peer_request(struct peer *peer, const char *method, const char *extra,
		  const char *body);
/** Take To tag and Contact of the last response: the dialog stands. */
bool peer_dialog_from_response(struct peer *peer);
/** Take the To tag alone, for the ACK of a refusal. */
bool peer_tag_from_response(struct peer *peer);
/** We were called (the last message is the INVITE): send requests back. */
bool peer_dialog_from_request(struct peer *peer);
bool peer_send_raw(struct peer *peer, const char *text, size_t len);
/** Where our own requests go. */
void peer_aim(struct peer *peer, uint16_t port);

extern const char peer_sdp[];      /* PCMU, PCMA at 127.0.0.1:40000 */
extern const char peer_sdp_g729[]; /* nothing we know */

#endif
