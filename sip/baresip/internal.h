/**
 * Accounts and calls of the second client, as the files of sip/baresip know them.
 * account.c       accounts, their processes and registrations
 * account_line.c  the line of baresip's file "accounts"
 * call.c          calls: list, events, end; commands for one call
 * command.c       calls: the functions of sip/call.h, as commands
 * sound.c         calls: mute, play a file
 * dialog.c        calls: their state, read from the SIP messages
 * call_media.c    calls: offer and answer, read from the SIP messages
 */
#ifndef OFFHOOK_SIP_BARESIP_INTERNAL_H
#define OFFHOOK_SIP_BARESIP_INTERNAL_H

#include <errno.h>
#include <re.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/baresip/baresip.h"
#include "sip/baresip/process.h"
#include "sip/mono_timer.h"
#include "sip/sdp/sdp.h"
#include "sip/ua/ua_ops.h"

#define BARESIP_URI_BYTES     512
#define BARESIP_ACCOUNT_BYTES 2048
#define BARESIP_CALLS_MAX     64 /* of an account: call_max_calls */
#define BARESIP_END_MS        5000

struct baresip_ua {
	struct sip_object object;
	char bind_addr[INET6_ADDRSTRLEN];
	uint16_t rtp_min;
	uint16_t rtp_max;
	sip_message_h *trace_h;
	void *arg;
	struct list accounts;
};

enum baresip_registration {
	BARESIP_UNREGISTERED,
	BARESIP_REGISTERING,
	BARESIP_REGISTERED,
	BARESIP_REMOVING,
};

struct baresip_account {
	struct sip_object object;
	struct le le;
	struct baresip_ua *ua;
	char *username;
	char aor[BARESIP_URI_BYTES]; /* sip:user@domain */
	char domain[256];
	char params[BARESIP_ACCOUNT_BYTES]; /* of its account; secret */
	bool rtcp_mux;
	uint32_t regexpire_s;
	bool accepts;
	sip_account_h *account_h;
	sip_incoming_h *incoming_h;
	void *arg;
	struct baresip_process *process; /* NULL: not running */
	int64_t heard_ns;                /* its first answer; 0: none yet */
	struct list calls;
	uint32_t call_count;
	/* registration */
	enum baresip_registration registration;
	int64_t register_sent_ns; /* first REGISTER of the attempt; 0: none */
	int64_t register_answer_ns;
	uint16_t register_code;
	char register_reason[SIP_REASON_BYTES];
	uint32_t register_expires_s;
	bool challenged;                /* once in this attempt */
	struct mono_timer tmr_register; /* bound of an attempt or a removal */
	struct sa tcp_local;            /* of its TCP connection, once known */
};

/* A re-INVITE that was asked for. */
enum baresip_change {
	BARESIP_CHANGE_NONE,
	BARESIP_CHANGE_HOLD,
	BARESIP_CHANGE_RESUME,
	BARESIP_CHANGE_REINVITE,
};

struct baresip_call {
	struct sip_object object;
	struct le le;
	struct baresip_account *account; /* NULL: it is gone */
	uint32_t number;                 /* of the account's calls */
	char id[BARESIP_ID_BYTES];       /* Call-ID; "": INVITE not seen yet */
	char *peer;
	bool outgoing;
	bool announced; /* incoming: handed to incoming_h */
	sip_call_h *handler;
	void *arg;
	struct mono_timer tmr; /* what waits for the handler */
	int64_t offered_ns;
	int64_t rang_ns; /* 180 sent before it was adopted */
	/* what was said of media */
	struct sdp *local;
	struct sdp *remote;
	bool has_local;
	bool has_remote;
	bool local_news; /* since it was settled */
	bool remote_news;
	struct media_negotiated settled;
	bool has_settled;
	/* the dialog */
	bool ringing;
	bool answered;
	bool established;
	bool hung_up;   /* by us */
	bool ending;    /* baresip let go, our BYE waits for its answer */
	int64_t bye_ns; /* it was sent; 0: it was not */
	bool bye_answered;
	bool bye_received;
	bool cancelled; /* by the peer */
	bool closed;
	uint16_t code; /* final answer that refused it, or 0 */
	char reason[SIP_REASON_BYTES];
	uint32_t invite_cseq;
	uint32_t change_cseq; /* of our re-INVITE; 0: none */
	uint32_t their_cseq;  /* of the peer's */
	enum baresip_change change;
	bool held; /* by us */
	bool held_by_peer;
	bool transferring;
	/* its sound */
	bool muted;      /* as baresip says */
	bool mute_asked; /* the answer to a command waits */
	bool mute_wanted;
	bool playing;
	int64_t play_ns; /* of the file */
	struct mono_timer tmr_play;
	bool info_digit; /* one came by INFO: its event is no other */
};

extern const struct sip_ops baresip_ops;

/* ---- account.c ---- */

int baresip_account_new(struct sip_account **ret, struct sip_ua *ua,
			const struct sip_account_params *params);
void baresip_account_accept_calls(struct sip_account *account, bool accept);
const char *baresip_account_username(const struct sip_account *account);
struct sip_account *baresip_account_free(struct sip_account *account);
/** Start its process if it does not run. @return 0; -errno */
int baresip_account_start(struct baresip_account *a);

int baresip_account_register(struct sip_account *account);
int baresip_account_unregister(struct sip_account *account);
/** A REGISTER of the account or a response to one was seen in the trace. */
void baresip_account_registers(struct baresip_account *a,
			       const struct sip_msg *msg, bool sent);

/* ---- account_line.c ---- */

/** @return 0; -EINVAL baresip cannot have such an account; p->reason says so */
int baresip_line_check(const struct sip_account_params *p);
/** Set a->domain, a->aor and a->params.
 * @return 0; -EINVAL an unknown codec; -ENAMETOOLONG; -EMSGSIZE; -ENOMEM */
int baresip_line_set(struct baresip_account *a,
		     const struct sip_account_params *p);
/** @param what  behind "client baresip "
 *  @return -EINVAL; p->reason says what */
int baresip_account_refuse(const struct sip_account_params *p,
			   const char *what);

/* ---- call.c ---- */

const char *baresip_call_id(const struct sip_call *call);
const char *baresip_call_peer(const struct sip_call *call);
struct sip_call *baresip_call_free(struct sip_call *call);
void baresip_call_hangup(struct sip_call *call);

struct baresip_call *baresip_call_make(struct baresip_account *a,
				       bool outgoing);
struct baresip_call *baresip_call_release(struct baresip_call *c);
/** By Call-ID. @return NULL: none */
struct baresip_call *baresip_call_find(const struct baresip_account *a,
				       const char *id);
/** The one that was dialled first of those whose INVITE was not seen yet.
 * @return NULL: none */
struct baresip_call *baresip_call_dialled(const struct baresip_account *a);
/** Tell the handler; info->reason may be NULL. */
void baresip_call_emit(struct baresip_call *c, enum sip_call_event event,
		       struct sip_call_info *info);
/** It is over; with a BYE of ours when that is answered, or 5 s later.
 *  @param why  what baresip says; NULL: our own reason follows
 *  from the messages */
void baresip_call_close(struct baresip_call *c, const char *why);
/** The peer has answered our BYE. */
void baresip_call_bye_answered(struct baresip_call *c);

/** A command for this call: baresip has a current one, which is chosen first.
 * @param token  for the answer; the call's number is put behind it
 * @return 0; -ENOTCONN; as baresip_process_command() */
int baresip_call_command(struct baresip_call *c, const char *name,
			 const char *params, const char *token);
/** The token begins so. */
bool baresip_token_is(const struct baresip_message *m, const char *token);
/** The call whose number the token has behind this. @return NULL: none */
struct baresip_call *baresip_token_call(const struct baresip_account *a,
					const struct baresip_message *m,
					const char *token);

/* ---- command.c ---- */

int baresip_call_dial(struct sip_call **ret, struct sip_account *account,
		      const struct sip_call_params *params);
int baresip_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg);
int64_t baresip_call_came_ns(const struct sip_call *call);
int baresip_call_answer(struct sip_call *call, const struct media_local *m);
int baresip_call_reject(struct sip_call *call, uint16_t code,
			const char *reason);
int baresip_call_hold(struct sip_call *call);
int baresip_call_resume(struct sip_call *call);
int baresip_call_reinvite(struct sip_call *call);
int baresip_call_transfer(struct sip_call *call, const char *uri, bool silent);
int baresip_call_digit(struct sip_call *call, char digit);
/** An answer to a command about calls. */
void baresip_call_answered(struct baresip_account *a,
			   const struct baresip_message *m);

/* ---- sound.c ---- */

int baresip_call_mute(struct sip_call *call, bool mute);
int baresip_call_play(struct sip_call *call, const char *path, int64_t ns);
/** An answer to a command of these. @return false: it is none */
bool baresip_sound_answered(struct baresip_account *a,
			    const struct baresip_message *m);
/** The call is over. */
void baresip_sound_end(struct baresip_call *c);

/* ---- call_media.c ---- */

/** A description in the body, if there is one.
 *  @param has, changed  set then, else unchanged */
void baresip_sdp_take(struct sdp *ret, bool *has, bool *changed,
		      const struct sip_msg *msg);
/** And tell the call of it, and of what it settled. */
void baresip_sdp_message(struct baresip_call *c, const struct sip_msg *msg,
			 bool sent, int64_t now_ns);

/* ---- dialog.c ---- */

/** One SIP message of the account's process. */
void baresip_dialog_message(struct baresip_account *a,
			    const struct sip_msg *msg, bool sent,
			    int64_t now_ns);

#endif
