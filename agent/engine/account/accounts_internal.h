/**
 * Accounts, for the files of this folder.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_ACCOUNT_ACCOUNTS_INTERNAL_H
#define OFFHOOK_AGENT_ENGINE_ACCOUNT_ACCOUNTS_INTERNAL_H

#include "agent/engine/account/accounts.h"
#include "agent/engine/account/client_sounds.h"
#include "agent/engine/account/libre.h"

#define NAT_SERVERS_MAX 8

/* A STUN or TURN server of the job. */
struct nat_server {
	struct accounts *accounts;
	const char *text; /* as the action names it */
	bool tls;         /* its port, if none is named, is that of TLS */
	char host[256];
	struct media_addr addr;
	struct sip_lookup *lookup; /* NULL: none is under way */
};

struct accounts {
	/* constant after accounts_new() */
	const struct wire_job *job;
	const struct engine_settings *settings;
	struct report *report;
	uint32_t calls_max;
	struct nat_server nat_servers[NAT_SERVERS_MAX];
	size_t nat_server_count;
	nat_server_h *nat_h;
	void *nat_arg;

	struct accounts_handlers handlers;
	void *owner;
	struct sip_ua *ua;      /* NULL: not started */
	struct sip_ua *baresip; /* NULL: no action needs it */
	struct client_sounds sounds;
	struct list list;
	unsigned counts[ACCOUNT_STATES]; /* by their state */
};

struct account {
	struct le le;
	struct accounts *accounts;
	unsigned index; /* within its action: {{n}} of its headers */
	struct sip_account *sip;
	const struct wire_credential *credential; /* NULL: none was given */
	const struct wire_action *origin;         /* the action that made it */
	/* whose media parameters a client with media of its own (baresip)
	 * was set up with */
	const struct wire_action *media;
	const struct wire_action *answers; /* active answer action or NULL */
	enum account_state state;
};

/** Give up the lookups that are under way, before the user agents are freed. */
void nat_servers_release(struct accounts *accounts);
/** Free both user agents. */
void user_agents_free(struct accounts *accounts);
/** The user agent that carries out an action. */
struct sip_ua *user_agents_ua(const struct accounts *accounts,
			      const struct wire_action *action);
/** The action whose media parameters an account of this action is set up with. */
const struct wire_action *user_agents_media_of(
	const struct accounts *accounts, const struct wire_action *action);

#endif
