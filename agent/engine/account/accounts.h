/**
 * The accounts of a role, and their user agents. An account is one SIP identity: a
 * credential of the test, or an unregistered one without a name.
 * Thread: the loop's, all of it.
 */
#ifndef OFFHOOK_AGENT_ENGINE_ACCOUNT_ACCOUNTS_H
#define OFFHOOK_AGENT_ENGINE_ACCOUNT_ACCOUNTS_H

#include "agent/engine/account/engine_settings.h"
#include "agent/engine/report/report.h"
#include "control/wire/job.h"
#include "sip/events.h"
#include "sip/ua.h"

struct account;
struct accounts;
struct client_sounds;

enum account_state {
	ACCOUNT_IDLE,    /* not registered, and nothing is under way */
	ACCOUNT_WAITING, /* waits for its turn to register */
	ACCOUNT_TRYING,
	ACCOUNT_REGISTERED,
	ACCOUNT_LEAVING, /* waits for its turn to unregister */
	ACCOUNT_REMOVING,
	ACCOUNT_STATES
};

/* ---- the list ---- */

/* All borrowed for the life of the accounts. */
struct accounts_params {
	const struct wire_job *job;
	const struct engine_settings *settings;
	struct report *report;
	uint32_t calls_max; /* of the native user agent */
};

/** Make an empty list. @return 0; -ENOMEM */
int accounts_new(struct accounts **ret, const struct accounts_params *params);
/** Free the accounts and the user agents. @param accounts  NULL is allowed */
struct accounts *accounts_free(struct accounts *accounts);

/** What the user agent reports. The arg of each is the struct account. */
struct accounts_handlers {
	sip_account_h *account_h;
	sip_incoming_h *incoming_h;
	sip_mwi_h *mwi_h;
};

/** Set the handlers, before the first account is made.
 * @param owner  what account_owner() returns */
void accounts_handle(struct accounts *accounts,
		     const struct accounts_handlers *handlers, void *owner);
/** How many accounts are in a state. */
unsigned accounts_in_state(const struct accounts *accounts,
			   enum account_state state);
/** The oldest account. @return NULL: there is none */
struct account *accounts_first(const struct accounts *accounts);
/** The account made last. @return NULL: there is none */
struct account *accounts_last(const struct accounts *accounts);
/** The account that was made after this one. @return NULL: there is none */
struct account *account_next(const struct account *a);

/**
 * Make an account. A failure is reported and ends the job.
 * @param credential  NULL: an account without a name
 * @param index       within its action: {{n}} of its headers
 * @return NULL: *ret_err has the -errno
 */
struct account *accounts_add(struct accounts *accounts,
			     const struct wire_action *action,
			     const struct wire_credential *credential,
			     unsigned index, int *ret_err);
/**
 * Make an account with the credential of a registered one, for an action with
 * other headers or another target.
 * @param registration  its requests also use the lender's Service-Route and flow
 * @return as accounts_add()
 */
struct account *accounts_lend(const struct account *lender, bool registration,
			      const struct wire_action *action, unsigned index,
			      int *ret_err);
/** Make unregistered accounts of the action's own credentials. @return 0; -errno,
 * and the job was ended */
int accounts_make(struct accounts *accounts, const struct wire_action *action);

/* ---- one account ---- */

/** The owner of accounts_handle(). */
void *account_owner(const struct account *a);
/** Its account in the user agent; borrowed. */
struct sip_account *account_sip(const struct account *a);
/** Its user name, or "offhook". */
const char *account_name(const struct account *a);
/** Whether the accounts of two actions are of one user: a name may be that of several,
 * in different domains. */
bool account_is_same(const struct account *a, const struct account *b);
/** Write name, target and transport: "1002 at 127.0.0.1:5070 over UDP" */
void account_where(const struct account *a, char *dst, size_t size);
/** Its number within its action, from 0. */
unsigned account_index(const struct account *a);
/** The action that made it. */
const struct wire_action *account_action(const struct account *a);
enum account_state account_state(const struct account *a);
/** Set the state, and count it in accounts_in_state(). */
void account_set_state(struct account *a, enum account_state state);
/** The answer action that takes its calls. @return NULL: they are refused */
const struct wire_action *account_answers(const struct account *a);
/** @param action  borrowed; NULL: refuse its calls */
void account_set_answers(struct account *a, const struct wire_action *action);

/* ---- custom_headers.c ---- */

struct custom_headers {
	struct sip_custom_header *list;
	size_t count;
	size_t size;
};

/**
 * Make the header fields of an account's requests, with placeholders replaced.
 * @param n  number of the account or of a call: {{n}}, {{ROLE.username}}
 * @return 0, to be released by custom_headers_free(); -errno
 */
int custom_headers_make(struct custom_headers *ret, const struct account *a,
			unsigned n);
/** Add the headers of another action. @return 0; -errno (h stays valid) */
int custom_headers_append(struct custom_headers *h, const struct account *a,
			  const struct wire_action *action, unsigned n);
/** Free its list. */
void custom_headers_free(struct custom_headers *h);
/** Whether its headers have placeholders, so that each call needs its own. */
bool custom_headers_vary(const struct account *a);

/* ---- user_agents.c ---- */

/** Whether an action of the job has this client. */
bool user_agents_want(const struct wire_job *job, enum wire_client client);
/** Start baresip, if an action needs it. @return 0; -errno, and the job was ended */
int user_agents_start_baresip(struct accounts *accounts);
/** Start the native user agent. @return 0; -errno: the job was ended */
int user_agents_start_native(struct accounts *accounts);
/** The trace of a client that is started elsewhere: sip_message_h.
 * @param accounts  struct accounts */
void user_agents_traced(const struct sip_trace *trace, void *accounts);
/** As sip_ua_receive_drops() of the native user agent. @return also -ENOENT: it was not
 * started */
int user_agents_receive_drops(const struct accounts *accounts, uint64_t *ret);
/** Whether the native user agent was started. */
bool user_agents_started(const struct accounts *accounts);
/** The media parameters of an action, as a user agent takes them. */
void user_agents_media(struct sip_account_media *ret,
		       const struct wire_action *action);
/** Whether the account is of the native user agent, which alone has the functions
 * of sip/events.h and sip/digest_server.h. */
bool user_agents_native(const struct account *a);
/** Whether an account made for one action may serve another one's calls. */
bool user_agents_serve(const struct account *a,
		       const struct wire_action *action);
/** The files that baresip plays; borrowed. */
struct client_sounds *user_agents_sounds(struct accounts *accounts);

/* ---- nat_servers.c ---- */

/** The address of a server was found. */
typedef void(nat_server_h)(void *arg);

/**
 * Look up the names of all STUN and TURN servers of the job, after the native user
 * agent was started. Never blocks; a name without an address, or without an answer of
 * the name servers, ends the job.
 * @param handler  called for each name that a name server answered, after the return
 * @return 0; -errno: the job was ended
 */
int nat_servers_resolve(struct accounts *accounts, nat_server_h *handler,
			void *arg);
/** Whether no lookup is under way for the servers that an action needs.
 * @param action  NULL: for those of any action */
bool nat_servers_known(const struct accounts *accounts,
		       const struct wire_action *action);
/** The NAT parameters of an action, with the addresses of its servers as far as
 * they are known. */
void nat_servers_params(struct media_nat_params *ret,
			const struct accounts *accounts,
			const struct wire_action *action);

#endif
