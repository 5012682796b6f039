/**
 * Calls as the user agent sees them: it begins them, and hands them the messages
 * that belong to them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_CALL_CONTROL_H
#define OFFHOOK_SIP_CALL_CALL_CONTROL_H

#include <re.h>

struct call_table;
struct call_user;
struct sip_call;
struct sip_call_options;
struct sip_call_params;

/** sip_call_dial(). @param user  of the calling account */
int call_dial(struct sip_call **ret, const struct call_user *user,
	      const struct sip_call_params *params);
/** An INVITE outside of any dialog: a new call of the account, or a refusal. */
void call_invited(const struct call_user *user, const struct sip_msg *msg);

/** The call that a message within a dialog belongs to, by Call-ID and tags.
 * @return borrowed; NULL: none */
struct sip_call *call_find(const struct call_table *table,
			   const struct sip_msg *msg);
/** What it supports; borrowed. */
const struct sip_call_options *call_options(const struct sip_call *call);
/** A request within the dialog of the call, but ACK and CANCEL: answer it. */
void call_request(struct sip_call *call, const struct sip_msg *msg);
/** An ACK to a 2xx, of whatever call. */
void call_acknowledged(const struct call_table *table,
		       const struct sip_msg *msg);
/** A 2xx to an INVITE whose transaction has ended: a repeated one is acknowledged
 * again, the dialog of another branch is ended (RFC 3261 13.2.2.4). */
void call_answered_again(const struct call_table *table,
			 const struct sip_msg *msg);
/** An INVITE is about to be handed to the socket.
 * @param callid   of the INVITE
 * @param mono_ns  the time, monotonic */
void call_invite_sent(const struct call_table *table, const struct pl *callid,
		      int64_t mono_ns);
/** The user agent ends: no call waits for an ACK any more. */
void call_abandon_all(const struct call_table *table);

#endif
