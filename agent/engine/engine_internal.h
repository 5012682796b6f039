/**
 * What the files of agent/engine share. Everything here belongs to the loop
 * thread.
 *
 * engine.c         boot, socket, the second's tick, the end of the process
 * engine_end.c     the orderly end of the job
 * engine_report.c  figures of the whole engine
 *
 * engine_settings.h, account.h, steps.h, call.h, call_media.h and call_script.h
 * have the rest.
 */
#ifndef OFFHOOK_AGENT_ENGINE_ENGINE_INTERNAL_H
#define OFFHOOK_AGENT_ENGINE_ENGINE_INTERNAL_H

#include "agent/engine/account/account.h"
#include "agent/engine/call/call.h"
#include "agent/engine/engine_settings.h"
#include "agent/engine/job/call_starts.h"
#include "agent/engine/job/duration_draw.h"
#include "agent/engine/job/session_count.h"
#include "agent/engine/job/steps.h"
#include "agent/engine/libre.h"
#include "agent/engine/report/report.h"
#include "base/clock.h"
#include "base/state.h"
#include "control/wire/frame.h"
#include "media/media.h"
#include "sip/digest_server.h"
#include "sip/events.h"
#include "sip/ua.h"

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

struct engine {
	struct wire_channel *channel;
	bool peer_gone;
	struct wire_job *job;
	struct report *report;
	struct engine_settings settings;
	struct media_addr bind;
	struct media_engine *media;
	struct sip_ua *ua;
	struct sip_ua *baresip; /* NULL: no action wants it */
	struct client_sounds sounds;
	enum engine_phase phase;

	struct steps steps;
	struct action_call calling;
	struct call_starts starts; /* of all generators of the job */
	struct action_options asking;
	struct action_subscribe watching;
	bool notifying; /* a notify action is under way */
	struct action_register registering;
	struct list accounts;
	unsigned account_counts[ACCOUNT_STATES]; /* by their state */
	struct list calls;                       /* until accounted for */
	uint32_t calls_listed;                   /* length of `calls` */
	uint32_t sessions_max;                   /* ceiling of calls */
	unsigned call_count;                     /* names */
	uint32_t calls_taken;    /* by the active answer action */
	uint32_t calls_ended;    /* of those taken */
	uint32_t calls_up[2];    /* taken, placed: begun and not closed */
	uint32_t calls_begun[2]; /* since the last tick */
	const struct wire_action *answering;
	struct nat_server nat_servers[ENGINE_NAT_SERVERS_MAX];
	size_t nat_server_count;
	struct duration_draw draw;

	int64_t tick_ns; /* of the last tick */

	struct mono_timer tmr_media; /* media_engine_flush() */
	struct mono_timer tmr_tick;
	struct mono_timer tmr_max; /* max_duration_s */
	struct mono_timer tmr_end; /* bounds of the end; also defers it */
	int64_t accounts_end_ns;   /* bindings are removed until then */
	bool abandoned;            /* a call was never accounted for */
	int signal_fd;
	int exit_code;
};

/** Write to the supervisor what waits for it, as far as it takes it. */
void engine_flush(struct engine *e);

/* ---- engine_end.c ---- */

/** report_ended_h: begin the orderly end, in a turn of the loop of its own.
 * @param arg  struct engine */
void engine_end_soon(void *arg);
/** A call or an account is gone: the end may go on. */
void engine_end_check(struct engine *e);
/** The same of a binding. @param answered  the registrar said so */
void engine_account_removed(struct engine *e, bool answered);

/* ---- engine_report.c ---- */

/** Once a second: figures of calls, live line, progress, closed intervals. */
void engine_report_second(struct engine *e, int64_t now_ns);
/** Everything that is left; flaws and the evidence of the engine last. */
void engine_report_rest(struct engine *e);

#endif
