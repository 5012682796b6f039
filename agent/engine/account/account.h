/**
 * The role's accounts, and the user agents that have them.
 * Thread: the loop's.
 *
 * accounts.c     made, removed
 * custom_headers.c      of their requests
 * user_agents.c      which user agent an action wants; client_sounds.c what one
 *                with media of its own plays
 * action_register.c  their bindings
 */
#ifndef OFFHOOK_AGENT_ENGINE_ACCOUNT_ACCOUNT_H
#define OFFHOOK_AGENT_ENGINE_ACCOUNT_ACCOUNT_H

#include "agent/engine/engine_settings.h"
#include "agent/engine/libre.h"
#include "control/wire/job.h"
#include "sip/ua.h"

struct engine;

/* ---- accounts.c ---- */

enum account_state {
	ACCOUNT_IDLE,    /* not registered, not to be */
	ACCOUNT_WAITING, /* its turn to register has not come */
	ACCOUNT_TRYING,
	ACCOUNT_REGISTERED,
	ACCOUNT_LEAVING, /* its turn to be removed has not come */
	ACCOUNT_REMOVING,
	ACCOUNT_STATES
};

struct account {
	unsigned index; /* within its action: {{n}} of its headers */
	struct le le;
	struct engine *engine;
	struct sip_account *sip;
	const struct wire_credential *credential; /* NULL: none was given */
	const struct wire_action *origin;         /* the action that made it */
	/* whose media a client with media of its own was set up for */
	const struct wire_action *media;
	const struct wire_action *answers; /* active answer action or NULL */
	enum account_state state;
	bool registers; /* made by a register action */
};

void account_set_state(struct account *a, enum account_state state);
/** "1002 at 127.0.0.1:5070 over UDP" */
void account_where(const struct account *a, char *dst, size_t size);

/* ---- custom_headers.c ---- */

struct headers {
	struct sip_custom_header *list;
	size_t count;
	size_t size;
};

/** Those of an account's requests; {{n}} and {{ROLE.username}} are those of
 * n, the number of the account or of a call. @return 0; -errno */
int custom_headers_make(struct headers *ret, const struct account *a,
			unsigned n);
/** Add those of another action of the account. @return 0; -errno */
int custom_headers_append(struct headers *h, const struct account *a,
			  const struct wire_action *action, unsigned n);
void custom_headers_free(struct headers *h);
/** Each call has its own. */
bool custom_headers_vary(const struct account *a);

/* ---- user_agents.c ---- */

/** The job wants this client somewhere. */
bool user_agents_want(const struct engine *e, enum wire_client client);
/** Set up the user agents that the job wants. @return 0; -errno: it was ended */
int user_agents_start(struct engine *e);
void user_agents_free(struct engine *e);
/** sip_trace_h of the user agents: report a SIP message, without its keys, if
 * the job records them. */
void user_agents_trace(const struct sip_trace *trace, void *arg);
struct sip_ua *user_agents_ua(const struct engine *e,
			      const struct wire_action *action);
/** The action whose media an account of this one is set up for. */
const struct wire_action *user_agents_media_of(
	const struct engine *e, const struct wire_action *action);
/** As an account's parameters say it. */
void user_agents_media(struct sip_account_media *ret,
		       const struct wire_action *action);
/** What is not in ua.h (events.h, verify.h) is of the native user agent. */
bool user_agents_native(const struct account *a);
/** An account made for one action may serve the other one's calls. */
bool user_agents_serve(const struct account *a,
		       const struct wire_action *action);

/* ---- client_sounds.c ---- */

#define CLIENT_SOUNDS_MAX       64
#define CLIENT_SOUND_PATH_BYTES 112 /* baresip takes 127 characters */

struct client_sound {
	char source[ENGINE_PATH_BYTES * 2];
	int64_t ns; /* of the prompt */
	int err;    /* it could not be made */
};

/** Files for a client with media of its own to play, in a folder of mode 0700
 * that is made with the first one. */
struct client_sounds {
	char folder[CLIENT_SOUND_PATH_BYTES - 16]; /* "": there is none */
	struct client_sound list[CLIENT_SOUNDS_MAX];
	size_t count;
};

/** Its file; made now, in 10 ms a second of it or so, if this is the first
 * time.
 * @param ret_ns  of the prompt; a silence of SIP_PLAY_TAIL_MS is behind it
 * @return 0; -E2BIG there are CLIENT_SOUNDS_MAX; -errno of open(); as
 *         prompt_wav() */
int client_sounds_get(struct client_sounds *s, const char *source,
		      char dst[static CLIENT_SOUND_PATH_BYTES],
		      int64_t *ret_ns);
/** Remove the files. */
void client_sounds_free(struct client_sounds *s);

/* ---- action_register.c ---- */

#define ENGINE_REGISTERS_MAX 100u /* REGISTERs under way at a time */

/* At most ENGINE_REGISTERS_MAX requests at a time, both ways. */
struct action_register {
	struct le *next;     /* of the accounts: where to look on */
	int64_t interval_ns; /* calls_per_second; 0: no rate */
	int64_t next_ns;     /* when the next one is due */
	bool held_up;        /* too many were under way */
	struct mono_timer tmr;
	struct le *removed; /* of the accounts: where to look on */
	const struct wire_action *unregister; /* NULL: the end of the job */
};

/** sip_account_h of every account. */
void action_register_event(struct sip_account *sip,
			   enum sip_account_event event,
			   const struct sip_account_info *info, void *arg);
/** Make the accounts of a register action and register them; steps_done()
 * when all are, engine_end() when one is refused. */
void accounts_register(struct engine *e, const struct wire_action *action);
/** Remove the bindings; steps_done() when all are gone or timed out.
 * @param action  has headers for that; NULL: the job ends */
void accounts_unregister(struct engine *e, const struct wire_action *action);
/** Bindings are still to be removed. */
bool accounts_leaving(const struct engine *e);
/** Accounts of an action itself, unregistered. @return 0; -errno */
int accounts_make(struct engine *e, const struct wire_action *action);
void accounts_free(struct engine *e);
/** @return NULL: reason was reported */
struct account *account_new(struct engine *e, const struct wire_action *action,
			    const struct wire_credential *credential,
			    unsigned index, int *ret_err);
/** One with other headers or another target than the registered one that lends
 * it the credential.
 * @param registration  it sends by the routes and the flow of that one too
 * @return NULL: reason was reported */
struct account *account_lent(const struct account *lender, bool registration,
			     const struct wire_action *action, unsigned index,
			     int *ret_err);
const char *account_name(const struct account *a);
unsigned accounts_in_state(const struct engine *e, enum account_state state);

#endif
