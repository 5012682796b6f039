/**
 * The calls of a capture: SIP messages, put together by Call-ID. A message that
 * several hops forward is kept once: a request as it was sent, a response to the
 * caller as the caller received it.
 * Thread: one owner; pure. Ceilings below; what they exclude is counted.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_DIALOGS_H
#define OFFHOOK_CONTROL_IMPORT_DIALOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/flow.h"
#include "control/import/sip_text.h"

#define DIALOGS_CALLS_MAX    1000
#define DIALOGS_MESSAGES_MAX 256                /* of a call */
#define DIALOGS_TEXT_MAX     (64 * 1024 * 1024) /* of all messages */
#define DIALOGS_DIGITS_MAX   256                /* of a call */
#define DIALOGS_ACCOUNTS_MAX 256
#define DIALOGS_PORTS_MAX    12 /* media ports of a caller */
#define DIALOGS_METHOD_BYTES 16

/** A message as it was captured. */
struct dialogs_input {
	int64_t ns; /* Unix time */
	const char *data;
	size_t bytes;
	bool has_address; /* the destination is known */
	bool tcp;
	struct address dst;
	uint16_t dport;
};

struct dialogs_message {
	int64_t ns;
	char *text;      /* valid UTF-8 without zeros, terminated */
	unsigned status; /* 0: a request */
	uint32_t cseq;
	char method[DIALOGS_METHOD_BYTES]; /* of CSeq */
	bool of_caller;  /* the caller sent the request, or got this response */
	bool within;     /* the request has a To tag */
	uint64_t sender; /* hash of sent-by of the first Via; 0: none */
};

/** A digit by telephone-event. */
struct dialogs_digit {
	int64_t ns;
	int64_t end_ns;
	uint32_t rtp_ticks; /* RTP timestamp of the event */
	char digit;         /* 0: it was encrypted */
	bool of_caller;
};

struct dialogs_port {
	struct address address;
	uint16_t port;
};

/** What the caller received as RTP. */
struct dialogs_media {
	bool seen;
	uint64_t packets;
	double loss_pct; /* of the worst stream */
	bool has_mos;
	double mos; /* of the worst stream */
	/* the capture has more streams, which were not measured; 0: it has not */
	size_t streams_max;
};

struct dialogs_call {
	char call_id[SIP_TEXT_BYTES];
	char caller_tag[SIP_TEXT_BYTES];
	uint64_t hash; /* of call_id */
	bool has_address;
	bool tcp;
	struct address dst; /* to which the caller sent the INVITE */
	uint16_t dport;
	struct dialogs_message message[DIALOGS_MESSAGES_MAX];
	size_t messages;
	uint64_t left_out; /* messages above a ceiling */
	struct dialogs_digit digit[DIALOGS_DIGITS_MAX];
	size_t digits;
	struct dialogs_port port[DIALOGS_PORTS_MAX]; /* of the caller's media */
	size_t ports;
	uint8_t event_pt[2]; /* telephone-event; the caller's, the callee's */
	bool has_event[2];
	uint32_t event_hz;
	bool encrypted; /* the media, by the last SDP */
	bool has_offer; /* an SDP was seen */
	int64_t last_ns;
	struct dialogs_media media;
};

struct dialogs;

/** @return 0; -ENOMEM */
int dialogs_new(struct dialogs **ret);
struct dialogs *dialogs_free(struct dialogs *d);

/** Take a message. Anything that is no SIP message of a call is ignored. */
void dialogs_take(struct dialogs *d, const struct dialogs_input *in);

/** Take an RTP packet from or to a media port of a caller.
 * @param data  the payload of the packet, as far as it was captured */
struct dialogs_rtp {
	int64_t ns;
	struct address src;
	struct address dst;
	uint16_t sport;
	uint16_t dport;
	uint8_t pt;
	uint32_t rtp_ticks;
	const uint8_t *data;
	size_t bytes;
};
void dialogs_take_rtp(struct dialogs *d, const struct dialogs_rtp *rtp);

size_t dialogs_call_count(const struct dialogs *d);
/** @param i  < dialogs_call_count(), in order of their INVITEs */
struct dialogs_call *dialogs_call(struct dialogs *d, size_t i);
/** Calls and messages above a ceiling. */
uint64_t dialogs_left_out(const struct dialogs *d);
/** Whether the capture has a REGISTER of this user.
 * @param ret_challenged  it has credentials */
bool dialogs_registered(const struct dialogs *d, const char *user,
			bool *ret_challenged);

#endif
