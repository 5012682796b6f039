/**
 * One user agent with one account and a scripted peer: the fixture of the tests
 * of sip/. The handlers append their events to `log`.
 */
#ifndef OFFHOOK_TESTS_SIP_WORLD_H
#define OFFHOOK_TESTS_SIP_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <re.h>

#include "peer.h"
#include "sip/ua.h"

struct world;
typedef void(world_script_h)(struct peer *peer);
typedef void(world_call_h)(struct world *world, struct sip_call *call,
			   enum sip_call_event event,
			   const struct sip_call_info *info);
typedef void(world_account_h)(struct world *world,
			      enum sip_account_event event);

/** Keep it in static storage: an assertion that fails in a handler leaves the
 * test while the script's thread still uses the peer. */
struct world {
	struct sip_ua *ua;
	struct sip_account *account;
	struct sip_call *call;
	struct peer peer;
	struct media_local media;
	struct sip_call_options options; /* for world_dial() */
	uint16_t port;                   /* the user agent's */
	world_script_h *script;
	world_call_h *call_h;
	world_account_h *account_h;
	void (*incoming_h)(struct world *world, struct sip_call *call);
	char log[1024];
	char account_reason[256];
	char full[512]; /* limits that were reported as reached */
	struct sip_account_info account_info;
	struct sip_call_info closed; /* its reason is below */
	char closed_reason[256];
	unsigned closed_count;
	struct media_negotiated negotiated; /* the last one that was reported */
	unsigned negotiated_count;
	unsigned sent, received; /* traced messages */
	int64_t times[32];       /* times of call events, indexed by event */
	bool timed_out;
	bool linger; /* continue after CLOSED until the script ends */
	struct mqueue *through;
	struct tmr guard;
};

struct world_options {
	const char *password;
	const char *domain;
	const struct sip_custom_header *headers;
	size_t header_count;
	uint32_t regexpire_s;
	enum sip_transport transport;
	uint16_t target_port;     /* 0: the peer's */
	const char *target_host;  /* NULL: the peer's */
	const char *name_servers; /* NULL: the system's */
	bool any_port;            /* none: it is asked of the name servers */
};

/** Create the user agent, its account and the peer. */
void world_open(struct world *world, const struct world_options *options);
/** Run the loop and the script until a handler stops the loop. */
void world_run(struct world *world);
/** Free everything, and check that libre has no object left. */
void world_close(struct world *world);
/** Call 1002 with world->options. */
void world_dial(struct world *world);

#endif
