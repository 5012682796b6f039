/**
 * What a call's script does by signalling, and what its peer does.
 * Thread: the loop's.
 *
 * call_script.c  the script's view of the call
 * call_events.c  what the user agent reports of it
 * script_actions.c       script actions that are signalling, and being transferred
 * attended_transfer.c   attended transfer
 */
#ifndef OFFHOOK_AGENT_ENGINE_CALL_CALL_SCRIPT_H
#define OFFHOOK_AGENT_ENGINE_CALL_CALL_SCRIPT_H

#include "agent/engine/call/call.h"
#include "agent/engine/call/script.h"
#include "base/state.h"

/* ---- call_script.c ---- */

extern const struct script_ops call_script_ops;
/**
 * Fill in the placeholders of the script's arguments, before it begins.
 * @param n  {{n}}: the number of a call that is placed, of one that is taken
 *           its account's
 * @return 0; -ENOMEM; as of wire_expand_dial()
 */
int call_script_fill(struct call *c, unsigned n);
void call_state(struct call *c, int64_t mono_ns, enum ua_state state,
		const char *text);
/** Let the script go on, now and when it wants to. */
void call_go_on(struct call *c);
/** For mono_timer_start(): whole milliseconds, rounded up. */
uint64_t call_ms_until(int64_t at_ns, int64_t now_ns);

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

/* ---- script_actions.c ---- */

/** The act of script_ops. */
int script_actions_do(const struct wire_client_action *action, void *arg);
/** The script rejects or redirects: the call is not answered by itself. */
bool script_actions_refuses(const struct wire_action *action);
/** Answers to what script_actions_do() sent. */
void script_actions_answered(struct call *c, enum sip_call_event event,
			     const struct sip_call_info *info,
			     const char *text);
/** The peer wants a transfer. */
void script_actions_referred(struct call *c, const struct sip_call_info *info);
/** sip_refer_h of the accounts of an answer action with accept_refer. */
void script_actions_refer_outside(struct sip_account *sip,
				  struct sip_referral *referral,
				  const struct sip_refer_info *info,
				  void *account);
/** A call placed for a transfer came this far. */
void script_actions_progress(struct call *c, uint16_t code, const char *reason);

/* ---- attended_transfer.c ---- */

/** transfer_attended. @return as the act of script_ops */
int attended_transfer_do(struct call *c, const char *argument);
/** Our hold or resume ended. @param refusal  NULL: accepted */
void attended_transfer_reinvited(struct call *c, const char *refusal);
/** Our REFER ended. @param refusal  NULL: the peers are connected */
void attended_transfer_transferred(struct call *c, const char *refusal);
void attended_transfer_established(struct call *second);
/** Either call is over. */
void attended_transfer_closed(struct call *closed, const char *text);

#endif
