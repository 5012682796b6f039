/**
 * One user agent with one account against a scripted peer: everything a test
 * of sip/ needs. What the handlers report is written down in `log`.
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

struct world {
	struct sip_ua *ua;
	struct sip_account *account;
	struct sip_call *call;
	struct peer peer;
	struct media_local media;
	struct sip_call_options options; /* of world_dial() */
	uint16_t port;                   /* of the user agent */
	world_script_h *script;
	world_call_h *call_h;
	world_account_h *account_h;
	void (*incoming_h)(struct world *world, struct sip_call *call);
	char log[1024];
	char account_reason[256];
	char full[512]; /* what the user agent keeps no more of */
	struct sip_account_info account_info;
	struct sip_call_info closed; /* reason below */
	char closed_reason[256];
	unsigned closed_count;
	struct media_negotiated negotiated; /* the last one reported */
	unsigned negotiated_count;
	unsigned sent, received; /* traced messages */
	int64_t times[32];       /* of call events, by event */
	bool timed_out;
	bool linger; /* go on after CLOSED until the script is through */
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
	uint16_t target_port; /* 0: the peer's */
};

void world_open(struct world *world, const struct world_options *options);
/** Run loop and script until a handler stops the loop. */
void world_run(struct world *world);
void world_close(struct world *world);
void world_dial(struct world *world);

#endif
