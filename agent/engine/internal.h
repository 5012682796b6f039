/**
 * What the files of agent/engine share. Everything here belongs to the loop
 * thread.
 *
 * engine.c    boot, socket, the second's tick, the end of the process;
 *             engine_end.c the orderly end of the job; engine_settings.c
 * steps.c     which step and action is under way, when it is ready
 * accounts.c  the role's accounts: made, registered, removed
 * answering.c incoming calls while an answer action is active
 * calling.c   the call generator of a call action
 * call.c      one call: its life, its end, its figures; call_place.c and
 *             call_take.c how it begins
 * call_script.c, call_media.c, call_audio.c, call_record.c, call_dtmf.c,
 * call_events.c  its script's view, its media, what it sounds like, its
 *             recordings, its digits, what the user agent reports of it
 * consulting.c  attended transfer
 * call_nat.c  its way through NATs
 * call_security.c  its encryption; redact.c  no key leaves the process
 * acting.c    script actions that are signalling, and being transferred
 * asking.c    the message and options actions
 * watching.c  the subscribe and publish actions
 * serving.c   what an answer action tells subscribers, whom it lets call
 * artifact.c  files for the run
 * report.c    what goes to the supervisor
 */
#ifndef OFFHOOK_AGENT_ENGINE_INTERNAL_H
#define OFFHOOK_AGENT_ENGINE_INTERNAL_H

#include "agent/engine/call.h"
#include "agent/engine/collect.h"
#include "agent/engine/draw.h"
#include "agent/engine/live.h"
#include "agent/engine/loop.h"
#include "agent/engine/outbox.h"
#include "agent/engine/sessions.h"
#include "base/clock.h"
#include "base/state.h"
#include "control/wire/event.h"
#include "control/wire/frame.h"
#include "control/wire/job.h"
#include "media/media.h"
#include "sip/events.h"
#include "sip/ua.h"
#include "sip/verify.h"

#include <netinet/in.h>

#define ENGINE_PATH_BYTES    1024
#define ENGINE_REGISTERS_MAX 100u /* REGISTERs under way at a time */

/* Bounds of an orderly end. The user agent gives up on a BYE or on the removal
 * of a binding after 5 s: these leave it the time to say so. */
#define ENGINE_REMOTE_END_MS   500 /* the peers' BYEs, before ours */
#define ENGINE_CALLS_END_MS    7000
#define ENGINE_MEDIA_END_MS    3000
#define ENGINE_ACCOUNTS_END_MS 6000 /* without an answer to a removal */
/* All of them when the run was stopped: the supervisor kills after cancel_s. */
#define ENGINE_ACCOUNTS_STOP_MS 12000
#define ENGINE_WRITE_MS         10000

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

/* ---- headers.c ---- */

struct headers {
	struct sip_custom_header *list;
	size_t count;
	size_t size;
};

/** Those of an account's requests; {{n}} and {{ROLE.username}} are those of
 * n, the number of the account or of a call. @return 0; -errno */
int headers_make(struct headers *ret, const struct account *a, unsigned n);
/** Add those of another action of the account. @return 0; -errno */
int headers_append(struct headers *h, const struct account *a,
		   const struct wire_action *action, unsigned n);
void headers_free(struct headers *h);
/** Each call has its own. */
bool headers_vary(const struct account *a);

/* ---- clients.c ---- */

/** The job wants this client somewhere. */
bool clients_want(const struct engine *e, enum wire_client client);
/** Set up the user agents that the job wants. @return 0; -errno: it was ended */
int clients_start(struct engine *e);
void clients_free(struct engine *e);
struct sip_ua *clients_ua(const struct engine *e,
			  const struct wire_action *action);
/** The action whose media an account of this one is set up for. */
const struct wire_action *clients_media_of(const struct engine *e,
					   const struct wire_action *action);
/** As an account's parameters say it. */
void clients_media(struct sip_account_media *ret,
		   const struct wire_action *action);
/** What is not in ua.h (events.h, verify.h) is of the native user agent. */
bool clients_native(const struct account *a);
/** An account made for one action may serve the other one's calls. */
bool clients_serve(const struct account *a, const struct wire_action *action);

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
 * @return 0; -ENOSPC there are CLIENT_SOUNDS_MAX; -errno of open(); as
 *         prompt_wav() */
int client_sounds_get(struct client_sounds *s, const char *source,
		      char dst[static CLIENT_SOUND_PATH_BYTES],
		      int64_t *ret_ns);
/** Remove the files. */
void client_sounds_free(struct client_sounds *s);

/* ---- registering.c ---- */

/* At most ENGINE_REGISTERS_MAX requests at a time, both ways. */
struct registering {
	struct le *next;     /* of the accounts: where to look on */
	int64_t interval_ns; /* calls_per_second; 0: no rate */
	int64_t next_ns;     /* when the next one is due */
	bool held_up;        /* too many were under way */
	struct tmr tmr;
	struct le *removed; /* of the accounts: where to look on */
	const struct wire_action *unregister; /* NULL: the end of the job */
};

/** sip_account_h of every account. */
void registering_event(struct sip_account *sip, enum sip_account_event event,
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

/* ---- answering.c ---- */

void answering_start(struct engine *e, const struct wire_action *action);
/** No call is taken any more. */
void answering_stop(struct engine *e);
/** sip_incoming_h of every account. */
void answering_incoming(struct sip_account *account, struct sip_call *call,
			void *arg);

/* ---- calling.c ---- */

struct calling {
	const struct wire_action *action; /* NULL: no generator runs */
	struct account **accounts;        /* to call from, in turn */
	size_t account_count;
	uint32_t placed;
	uint32_t ended;
	uint32_t active; /* SIP calls placed and not closed */
	int64_t begin_ns;
	int64_t next_ns; /* when the next one is due */
	struct tmr tmr;
};

/** Fill e->calling.accounts. @return 0; -errno: the job was ended */
int calling_gather(struct engine *e, const struct wire_action *action);
void calling_start(struct engine *e, const struct wire_action *action);
/** Place no more; calls that are up stay. */
void calling_stop(struct engine *e);
/** The SIP call is closed: another one may be placed. */
void calling_closed(struct engine *e);
/** A call of the generator is fully accounted for. */
void calling_ended(struct engine *e);
/** 0..1 of the action under way. */
double calling_progress(const struct engine *e, int64_t now_ns);

/* ---- streaming.c ---- */

/** Begin a stream, number n of its action; it is a call that is up at once.
 * @return 0; -errno: the job was ended */
int stream_place(struct engine *e, const struct wire_action *action,
		 unsigned n);
void stream_end(struct call *c);

/* ---- call_script.c ---- */

extern const struct script_ops call_script_ops;
void call_state(struct call *c, int64_t mono_ns, enum ua_state state,
		const char *text);
/** Let the script go on, now and when it wants to. */
void call_go_on(struct call *c);
/** For tmr_start(): whole milliseconds, rounded up. */
uint64_t call_ms_until(int64_t at_ns, int64_t now_ns);

/* ---- call_media.c ---- */

struct call_media_files {
	char prompt[ENGINE_PATH_BYTES * 2];
	char expected[ENGINE_PATH_BYTES * 2];
};
/** What the sessions of an action have in common: all but NATs and encryption.
 * @param files  what *ret points to, as long as that
 * @return 0; -errno as of engine_prompt() */
int call_media_params(const struct engine *e, const struct wire_action *a,
		      struct call_media_files *files,
		      struct media_session_params *ret);
/** @return 0; -errno as of media_session_new() and engine_prompt() */
int call_media_new(struct call *c);
/** Where the client of the call receives, if its media are its own. */
void call_media_tap(struct call *c, const struct sip_call_info *info);
/** What offer and answer settled. */
/** @param at_ns  what settled it was sent, or came */
void call_media_apply(struct call *c, const struct media_negotiated *negotiated,
		      int64_t at_ns);
/** The planned end of an established call with a duration. */
int64_t call_end_ns(const struct call *c);
/** Send until the planned end, to the packet. */
void call_media_deadline(struct call *c);
void call_media_record(struct call *c, const struct media_record *record);
/** CALL_ESTABLISHED was reported: report what waited for it. */
void call_media_established(struct call *c);
/** The call ends: report what still waits. */
void call_media_closed(struct call *c);

/* ---- call_audio.c ---- */

/** What the media of an action's calls is to be decoded for: enum media_audio. */
unsigned call_audio_wanted(const struct engine *e,
			   const struct wire_action *action);
/** MEDIA_RECORD_AUDIO_... */
void call_audio_record(struct call *c, const struct media_record *record);
/** The assert_audio action. @return as the act of script_ops */
int call_audio_assert(struct call *c, const char *argument);
/** All totals are there: join them. */
void call_audio_end(struct call *c);

/* ---- call_play.c ---- */

/* Where a prompt may come from. */
#define ENGINE_NO_PROMPT                                                \
	"not on this agent: neither in its prompt_dir nor an uploaded " \
	"audio file"

/** Path of a prompt that a script plays. @return as engine_prompt() */
int engine_play(const struct engine *e, const struct wire_action *action,
		const char *name, char *dst, size_t size);
/** The play action. @return as the act of script_ops */
int call_play(struct call *c, const char *name);
/** The mute and unmute actions. @return as the act of script_ops */
int call_mute(struct call *c, bool mute);
/** MEDIA_RECORD_PLAYED */
void call_played(struct call *c, const struct media_record *record);

/* ---- preparing.c ---- */

/** Load and encode what the job's calls play; steps_prepared() follows. */
/** @return 0; -ENOENT: a file has no place, and the job ends */
int preparing_start(struct engine *e);
/** Whether a file could not be loaded: the job ends, and says which and why. */
bool preparing_failed(struct engine *e);

/* ---- call_record.c ---- */

/** The action, or the job, wants every call recorded. */
bool call_record_wanted(const struct engine *e,
			const struct wire_action *action);
/** Begin where that is so; what is not to be had is said to the run. */
void call_record_begin_all(struct call *c);
/** The record_start action. @return 0; -errno */
int call_record_begin(struct call *c);
/** And record_stop. */
int call_record_end(struct call *c);
/** A file is closed. */
void call_recorded(struct call *c, const struct media_record *record);
/** With store_artifacts: keep the call's event as CALL.json, or say that it is
 * lost. @param figures  borrowed; NULL: out of memory */
void call_record_figures(struct call *c, const json_t *figures);

/* ---- call_security.c ---- */

/** @return 0; -EINVAL */
int call_security_params(const struct call *c,
			 struct media_session_params *params);
/** Before a re-INVITE: new keys, if the call is encrypted. @return 0; -errno */
int call_security_rekey(struct call *c);
/** Offer and answer settled: CALL_MENC where encryption is new. */
void call_security_applied(struct call *c,
			   const struct media_negotiated *negotiated,
			   int64_t at_ns);
/** A client with media of its own has keys. */
void call_security_client(struct call *c, const struct sip_call_info *info);
/** The DTLS handshake ended: CALL_MENC, or the end of the call. */
void call_security_dtls(struct call *c, const struct media_record *record);

/* ---- call_nat.c ---- */

/** Find the addresses of all STUN and TURN servers of the job; may block, so
 * before anything else. @return 0; -errno: the job was ended */
int call_nat_servers(struct engine *e);
/** We ask servers for addresses of its calls before there is SDP. */
bool call_nat_asks(const struct wire_action *action);
/** They have answered. */
void call_nat_gathered(struct call *c, const struct media_record *record);
/** What the action says, with the servers' addresses. */
void call_nat_of(struct media_nat_params *ret, const struct engine *e,
		 const struct wire_action *a);
/** ICE selected pairs: a path event; or failed: the end of the call. */
void call_nat_path(struct call *c, const struct media_record *record);

/* ---- redact.c ---- */

/** Overwrite the keys of a=crypto lines (RFC 4568) and the passwords of
 * a=ice-pwd lines (RFC 8839) with asterisks, in place;
 * the length stays. */
void redact_keys(char *text, size_t len);

/* ---- call_dtmf.c ---- */

/** The dtmf action. @return as the act of script_ops */
int call_dtmf_send(struct call *c, const char *argument);
/** An INFO of it was answered. @param refusal  NULL: 2xx */
void call_dtmf_answered(struct call *c, const char *refusal);
/** A digit in the audio stream, either way. */
void call_dtmf_media(struct call *c, const struct media_record *record);
/** A digit by INFO. */
void call_dtmf_info(struct call *c, const struct sip_call_info *info);

/* ---- call_events.c ---- */

/** sip_call_h of every call. */
void call_handler(struct sip_call *sip, enum sip_call_event event,
		  const struct sip_call_info *info, void *arg);
/** It is up: its duration begins. */
void call_is_up(struct call *c, int64_t mono_ns);
/** The SIP call is over, for the reason in info. */
void call_closed(struct call *c, const struct sip_call_info *info,
		 const char *text);
/** call_finish() in a turn of its own, when SIP and media are over. */
void call_finish_soon(struct call *c);

/* ---- consulting.c ---- */

/** transfer_attended. @return as the act of script_ops */
int consult_do(struct call *c, const char *argument);
/** Our hold or resume ended. @param refusal  NULL: accepted */
void consult_reinvited(struct call *c, const char *refusal);
/** Our REFER ended. @param refusal  NULL: the peers are connected */
void consult_transferred(struct call *c, const char *refusal);
void consult_established(struct call *second);
/** Either call is over. */
void consult_closed(struct call *closed, const char *text);

/* ---- acting.c ---- */

/** The act of script_ops. */
int acting_do(const struct wire_client_action *action, void *arg);
/** The script rejects or redirects: the call is not answered by itself. */
bool acting_refuses(const struct wire_action *action);
/** Answers to what acting_do() sent. */
void acting_answered(struct call *c, enum sip_call_event event,
		     const struct sip_call_info *info, const char *text);
/** The peer wants a transfer. */
void acting_referred(struct call *c, const struct sip_call_info *info);
/** sip_refer_h of the accounts of an answer action with accept_refer. */
void acting_refer_outside(struct sip_account *sip,
			  struct sip_referral *referral,
			  const struct sip_refer_info *info, void *account);
/** A call placed for a transfer came this far. */
void acting_progress(struct call *c, uint16_t code, const char *reason);

/* ---- asking.c ---- */

struct asking {
	const struct wire_action *action; /* NULL: none is under way */
	size_t asked;
	size_t answered;
};

/** One request an account, ENGINE_REGISTERS_MAX at a time; steps_done(). */
void asking_start(struct engine *e, const struct wire_action *action);

/* ---- watching.c ---- */

struct watching {
	const struct wire_action *action; /* NULL: none is under way */
	size_t asked;
	size_t settled;
	struct list list; /* what lasts: subscriptions, publications */
	struct tmr tmr;
};

/** sip_mwi_h of every account. */
void watching_mwi(struct sip_account *sip,
		  const struct sip_subscription_info *info, void *account);
/** One subscription or publication an account, or the end of it;
 * ENGINE_REGISTERS_MAX at a time; steps_done(). */
void watching_start(struct engine *e, const struct wire_action *action);
/** End them all; engine_end_check() when they have. */
void watching_end(struct engine *e);
bool watching_ended(const struct engine *e);
void watching_free(struct engine *e);

/* ---- serving.c ---- */

struct serving_state {
	struct sip_event_state state; /* points to what follows */
	struct sip_presence presence;
	struct sip_mwi mwi;
};

/** What an action says of presence and messages, for the user agent. */
void serving_state(struct serving_state *dst, const struct wire_action *a);
/** Those that answer with this action: subscriptions are taken, callers are
 * challenged, as it says. @return 0; -errno: the job was ended */
int serving_start(struct engine *e, const struct wire_action *action);
void serving_stop(struct account *a);
/** A notify action; steps_done() when every watcher has answered. */
void serving_notify(struct engine *e, const struct wire_action *action);

/* ---- steps.c ---- */

enum steps_phase {
	STEPS_WAITING,   /* for the go of step `next` */
	STEPS_DELAYED,   /* go received, its delay runs */
	STEPS_PREPARING, /* it is over, prompts are still being encoded */
	STEPS_RUNNING,
};

struct steps {
	enum steps_phase phase;
	size_t step;         /* the one that waits or runs */
	size_t action;       /* within it */
	struct tmr tmr;      /* the delay of a go; a wait action */
	struct tmr tmr_done; /* breaks the recursion action by action */
};

/** More prompts are ready, perhaps all. */
void steps_prepared(struct engine *e);
/** @return 0; -EPROTO out of turn */
int steps_go(struct engine *e, uint64_t step, uint64_t in_ms);
/** The action under way is ready. */
void steps_done(struct engine *e);
void steps_stop(struct engine *e);
/** "step 1, action 0 (call)" or "the go of step 1". */
void steps_where(const struct engine *e, char *dst, size_t size);
double steps_progress(const struct engine *e);

/* ---- report.c ---- */

void report_state(struct engine *e, int64_t mono_ns, enum ua_state state,
		  const char *account, const char *call, const char *text);
void report_event(struct engine *e, json_t *event);
struct wire_time report_time(const struct engine *e, int64_t mono_ns);
void report_sample(struct engine *e, bool outgoing, enum measure m,
		   int64_t mono_ns, double value);
void report_sip(const struct sip_trace *trace, void *arg);
/** Once a second: live line, progress, closed intervals, batches. */
void report_tick(struct engine *e, int64_t now_ns);
/** Everything that is left, evidence last. */
void report_rest(struct engine *e);
void report_send(struct engine *e, json_t *message); /* takes it over */

/* ---- engine.c ---- */

enum engine_phase {
	ENGINE_IDLE, /* no job yet */
	ENGINE_WORKING,
	ENGINE_ENDING_CALLS,
	ENGINE_ENDING_ACCOUNTS,
	ENGINE_WRITING, /* finish is queued */
};

#define ENGINE_NAT_SERVERS_MAX 8

/* A STUN or TURN server of the job. */
struct nat_server {
	const char *text; /* as the action names it */
	bool tls;         /* its port, if none is named, is that of TLS */
	char host[256];
	struct media_addr addr;
};

struct engine_settings {
	char bind[INET6_ADDRSTRLEN];
	uint16_t sip_port;
	uint16_t rtp_min;
	uint16_t rtp_max;
	char prompt_dir[ENGINE_PATH_BYTES];
	char prompt_cache[ENGINE_PATH_BYTES];   /* by hash; "": none */
	char artifact_dir[ENGINE_PATH_BYTES];   /* "": none are wanted */
	char default_prompt[ENGINE_PATH_BYTES]; /* "": built-in tone */
	struct emodel_declarations declarations;
	char media_scheduling
		[16]; /* realtime, normal; else: if it is allowed */
	/* PEM files of ours for TLS; "": none */
	char tls_certificate[ENGINE_PATH_BYTES];
	char tls_key[ENGINE_PATH_BYTES];
	char tls_certificates[ENGINE_PATH_BYTES]; /* a directory */
	char name_servers[ENGINE_PATH_BYTES];     /* "": those of the system */
};

struct engine {
	struct wire_channel *channel;
	bool peer_gone;
	struct wire_job *job;
	struct engine_settings settings;
	struct media_addr bind;
	struct media_engine *media;
	struct sip_ua *ua;
	struct sip_ua *baresip; /* NULL: no action wants it */
	struct client_sounds sounds;
	enum engine_phase phase;
	const char *outcome;
	char reason[WIRE_REASON_BYTES];

	struct steps steps;
	struct calling calling;
	struct asking asking;
	struct watching watching;
	bool notifying; /* a notify action is under way */
	struct registering registering;
	struct list accounts;
	unsigned account_counts[ACCOUNT_STATES]; /* by their state */
	struct list calls;                       /* until accounted for */
	uint32_t sessions_max;                   /* ceiling of calls */
	unsigned call_count;                     /* names */
	uint32_t calls_taken;    /* by the active answer action */
	uint32_t calls_up[2];    /* taken, placed: begun and not closed */
	uint32_t calls_begun[2]; /* since the last tick */
	const struct wire_action *answering;
	struct nat_server nat_servers[ENGINE_NAT_SERVERS_MAX];
	size_t nat_server_count;
	struct draw draw;

	int64_t wall_offset_ns; /* taken once: one time line for the job */
	int64_t tick_ns;        /* of the last tick */
	struct collect *collect;
	struct outbox *outbox;
	struct live live;
	double progress_sent;

	struct tmr tmr_tick;
	struct tmr tmr_max;      /* max_duration_s */
	struct tmr tmr_end;      /* bounds of the end; also defers it */
	int64_t accounts_end_ns; /* bindings are removed until then */
	bool abandoned;          /* a call was never accounted for */
	int signal_fd;
	int exit_code;
};

/* ---- artifact.c ---- */

/**
 * Where to write a file that the run is to keep (docs/wire.md, "artifact"):
 * a recording, a capture. Whoever writes bounds its size; what is not given
 * when the engine ends is deleted.
 * @param name  wire_artifact_name_valid(), of its own within the job; begins
 *              with the call's name where it is of one: "caller-1-in.wav"
 * @return 0; -ENOTSUP nobody takes artifacts; -EINVAL name; -ENAMETOOLONG
 */
int artifact_path(const struct engine *e, const char *name, char *dst,
		  size_t size);
/**
 * The file is written and closed: hand it over, before `finish`. It may be
 * gone from its path at once.
 * @return 0; -ENOTSUP; -EINVAL; -ENOMEM; as wire_channel_send()
 */
int artifact_give(struct engine *e, const char *name);

/**
 * Begin the orderly end; a later call changes nothing.
 * @param outcome  static: completed, failed, error, stopped
 */
void engine_end(struct engine *e, const char *outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static inline bool engine_working(const struct engine *e)
{
	return e->phase == ENGINE_WORKING;
}
/** Write to the supervisor what waits for it, as far as it takes it. */
void engine_flush(struct engine *e);

/* ---- engine_end.c ---- */

/** A call or an account is gone: the end may go on. */
void engine_end_check(struct engine *e);
/** The same of a binding. @param answered  the registrar said so */
void engine_account_removed(struct engine *e, bool answered);

/* ---- engine_settings.c ---- */

/** Those of a job message. @return 0; -EINVAL */
int engine_settings_read(struct engine *e, json_t *object);
/** An IPv4 or IPv6 address. @return 0; -EINVAL */
int engine_address(struct media_addr *ret, const char *text, uint16_t port);
/** A file of the agent's, or with a hash an upload. @return 0; -ENOENT;
 * -ENAMETOOLONG */
int engine_prompt_path(const struct engine *e, const char *name,
		       const char *sha256, char *dst, size_t size);
/** Prompt of an action. @return 0 (dst "" for the built-in one); -errno */
int engine_prompt(const struct engine *e, const struct wire_action *action,
		  char *dst, size_t size);
/** The prompt that should be heard. @return as engine_prompt(); "": none */
int engine_expected(const struct engine *e, const struct wire_action *action,
		    char *dst, size_t size);

#endif
