/**
 * The native user agent; for the files of sip/ua.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_UA_INTERNAL_H
#define OFFHOOK_SIP_UA_UA_INTERNAL_H

#include <re.h>

#include "sip/ua.h"
#include "sip/ua/native_ua.h"

struct call_table;
struct event_table;
struct transaction_layer;
struct transport;

struct sip_ua {
	struct sip_object object;
	struct transport *transport;
	struct transaction_layer *sip;
	struct call_table *calls;
	struct list tls; /* contexts in use */
	struct list accounts;
	struct hash *contacts;  /* accounts by the user of their Contact */
	struct hash *users;     /* the same ones by their user name */
	struct hash *registers; /* accounts by the Call-ID of their REGISTER */
	struct event_table *events;
	struct list keepalives;
	uint32_t contact_count; /* makes contact users unique */
	sip_message_h *trace_h;
	sip_full_h *full_h;
	void *arg;
};

#endif
