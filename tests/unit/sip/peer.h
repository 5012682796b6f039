/**
 * A scripted SIP peer: raw UDP on 127.0.0.1 without a SIP library, so that the
 * code under test does not judge what the peer accepts and sends. A script runs
 * in its own thread. The first failed expectation is recorded and ends it.
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
	struct sockaddr_in from; /* source of the last message, or set by the
				  * script */
	char in[65536];
	char fail[256];
	char tag[16];        /* our tag in To or From */
	char callid[64];     /* of calls that we initiate */
	char remote_to[272]; /* To header of our dialog, with the remote tag */
	char target[256];    /* Request-URI of our dialog */
	unsigned cseq;
	unsigned invite_branch;
};

void peer_open(struct peer *peer);
void peer_close(struct peer *peer);

/** Wait for a message that begins with this text; others are skipped. */
bool peer_expect(struct peer *peer, const char *start);
/** Return true if no message that begins with this text arrives for a while. */
bool peer_silence(struct peer *peer, const char *start, int wait_ms);
/**
 * Return the value of a header of the last message; "" and a failure if it is
 * absent.
 */
bool peer_header(struct peer *peer, const char *name, char *dst, size_t size);
bool peer_has(struct peer *peer, const char *text);
bool peer_has_not(struct peer *peer, const char *text);
/**
 * Respond to the last message.
 * @param extra  header lines or NULL
 * @param body   NULL: none
 */
bool peer_reply(struct peer *peer, int code, const char *reason,
		const char *extra, const char *body);
/** Send a request, within the dialog or (no tag in To) outside of one. */
bool peer_request(struct peer *peer, const char *method, const char *extra,
		  const char *body);
/**
 * Take the To tag and Contact of the last response: the dialog is established.
 */
bool peer_dialog_from_response(struct peer *peer);
/** Take only the To tag, for the ACK of a failure response. */
bool peer_tag_from_response(struct peer *peer);
/**
 * Take the dialog of the last message, an INVITE to us, to send requests back.
 */
bool peer_dialog_from_request(struct peer *peer);
bool peer_send_raw(struct peer *peer, const char *text, size_t len);
/** Set the port that our own requests go to. */
void peer_aim(struct peer *peer, uint16_t port);

extern const char peer_sdp[];      /* PCMU, PCMA at 127.0.0.1:40000 */
extern const char peer_sdp_g729[]; /* no codec that we support */

#endif
