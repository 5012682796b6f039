/**
 * The native user agent, as the files of sip/ know it.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_UA_INTERNAL_H
#define OFFHOOK_SIP_UA_UA_INTERNAL_H

#include <re.h>

#include "sip/message/text.h"
#include "sip/mono_timer.h"
#include "sip/sdp/sdp_address.h"
#include "sip/transport/ceiling.h"
#include "sip/ua.h"
#include "sip/ua/native_ua.h"

struct transport;

/* After BYE, CANCEL or the removal of a binding: report, do not wait on. */
#define END_WAIT_MS 5000

struct sip_ua {
	struct sip_object object;
	struct transport *sip;
	struct dnsc *dnsc;
	struct list tls;                    /* contexts in use */
	struct sa laddr;                    /* of all transports */
	char sent_by[INET6_ADDRSTRLEN + 9]; /* it, as Via has it */
	char *software;
	struct list accounts;
	struct hash *contacts;  /* accounts by the user of their Contact */
	struct hash *users;     /* the same ones by their user name */
	struct hash *calls;     /* by Call-ID */
	struct hash *registers; /* accounts by the Call-ID of their REGISTER */
	struct hash *clients;   /* transactions by branch */
	struct hash *calling; /* those over UDP without an answer, by address */
	struct hash *servers; /* by branch */
	struct hash *merges;  /* the same ones by Call-ID */
	struct hash *events;  /* event dialogs by Call-ID */
	struct list resolving; /* client transactions without address yet */
	struct list due;       /* see deferred.h */
	struct list keepalives;
	struct mono_timer tmr_due;
	struct ceiling ceilings[CEILINGS];
	struct sdp_route route; /* to where peers want media */
	bool closing;
	uint32_t calls_max;
	uint32_t call_count;
	uint32_t referral_count;
	uint32_t contact_count; /* makes contact users unique */
	sip_message_h *trace_h;
	sip_full_h *full_h;
	void *arg;
	int64_t sent_ns;            /* last message put on the wire */
	int64_t received_ns;        /* the message being handled came */
	bool handling;              /* there is one */
	char failure[REASON_BYTES]; /* why the last request got no answer */
};

#endif
