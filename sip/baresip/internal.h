/**
 * Accounts and calls of the second client, for the files of sip/baresip.
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

/* The addresses of a message. */
struct baresip_way {
	enum sip_transport transport;
	struct media_addr local; /* len 0: unknown */
	struct media_addr peer;
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
	int64_t heard_ns; /* first answer to a command; 0: none */
	struct list calls;
	uint32_t call_count;
	/* registration */
	enum baresip_registration registration;
	int64_t register_sent_ns; /* first REGISTER of the attempt; 0: none */
	int64_t register_answer_ns;
	uint16_t register_code;
	char register_reason[SIP_REASON_BYTES];
	uint32_t register_expires_s;
	bool challenged;                /* 401 or 407 came in this attempt */
	struct mono_timer tmr_register; /* bound of an attempt or a removal */
	struct sa tcp_local;            /* of its TCP connection, if known */
	struct baresip_way last;        /* of the last message with addresses */
};

/* The re-INVITE that a command asked for. */
enum baresip_change {
	BARESIP_CHANGE_NONE,
	BARESIP_CHANGE_HOLD,
	BARESIP_CHANGE_RESUME,
	BARESIP_CHANGE_REINVITE,
};

struct baresip_call {
	struct sip_object object;
	struct le le;
	struct baresip_account *account; /* NULL: it was freed */
	uint32_t number;                 /* of the account's calls */
	char id[BARESIP_ID_BYTES];       /* Call-ID; "": INVITE not seen yet */
	char *peer;
	bool outgoing;
	bool announced; /* incoming: handed to incoming_h */
	sip_call_h *handler;
	void *arg;
	struct mono_timer tmr; /* a deferred call of the handler */
	int64_t offered_ns;
	int64_t rang_ns; /* 180 sent before it was adopted */
	/* offer and answer */
	struct sdp *local;
	struct sdp *remote;
	bool has_local;
	bool has_remote;
	bool local_news; /* changed since it was settled */
	bool remote_news;
	struct media_negotiated settled;
	bool has_settled;
	/* the dialog */
	bool ringing;
	bool answered;
	bool established;
	bool hung_up;   /* by us */
	bool ending;    /* closed by baresip; our BYE is not answered yet */
	int64_t bye_ns; /* when it was sent; 0: it was not */
	bool bye_answered;
	bool bye_received;
	bool cancelled; /* by the peer */
	bool closed;
	uint16_t code; /* final response that refused it, or 0 */
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
	bool mute_asked; /* the command is not answered yet */
	bool mute_wanted;
	bool playing;
	int64_t play_ns; /* length of the file */
	struct mono_timer tmr_play;
	bool info_digit; /* a digit came by INFO: ignore its event */
};

extern const struct sip_ops baresip_ops;

/* Functions without a comment are those of baresip_ops: see sip/ua.h, sip/account.h
 * and sip/call.h. */

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
/** The trace has a REGISTER of the account or a response to one. */
void baresip_account_registers(struct baresip_account *a,
			       const struct sip_msg *msg, bool sent);

/* ---- account_line.c ---- */

/** Check that baresip can have the account. @return 0; -EINVAL, and p->reason */
int baresip_line_check(const struct sip_account_params *p);
/** Set a->domain, a->aor and a->params.
 * @return 0; -EINVAL an unknown codec; -ENAMETOOLONG; -EMSGSIZE; -ENOMEM */
int baresip_line_set(struct baresip_account *a,
		     const struct sip_account_params *p);
/** Set p->reason to "client baresip WHAT". @return -EINVAL */
int baresip_account_refuse(const struct sip_account_params *p,
			   const char *what);

/* ---- call.c ---- */

const char *baresip_call_id(const struct sip_call *call);
const char *baresip_call_peer(const struct sip_call *call);
struct sip_call *baresip_call_free(struct sip_call *call);
void baresip_call_hangup(struct sip_call *call);

/** Make a call and list it. @return NULL: out of memory, or there are
 * BARESIP_CALLS_MAX */
struct baresip_call *baresip_call_make(struct baresip_account *a,
				       bool outgoing);
/** Remove it from the list and free it. @return NULL */
struct baresip_call *baresip_call_release(struct baresip_call *c);
/** Find a call by its Call-ID. @return NULL: none */
struct baresip_call *baresip_call_find(const struct baresip_account *a,
				       const char *id);
/** The oldest outgoing call whose INVITE was not seen in the trace yet.
 * @return NULL: none */
struct baresip_call *baresip_call_dialled(const struct baresip_account *a);
/** Call the handler; info->reason may be NULL. */
void baresip_call_emit(struct baresip_call *c, enum sip_call_event event,
		       struct sip_call_info *info);
/** baresip has closed the call: report CLOSED, after our BYE only when it is
 * answered, or 5 s later.
 * @param why  baresip's reason; NULL: take it from the SIP messages */
void baresip_call_close(struct baresip_call *c, const char *why);
/** The peer has answered our BYE. */
void baresip_call_bye_answered(struct baresip_call *c);

/** Send a command for this call: first makes it baresip's current call.
 * @param token  for the answer; the call's number is appended
 * @return 0; -ENOTCONN; as baresip_process_command() */
int baresip_call_command(struct baresip_call *c, const char *name,
			 const char *params, const char *token);
/** Whether the message's token begins with this one. */
bool baresip_token_is(const struct baresip_message *m, const char *token);
/** The call whose number follows this text in the token. @return NULL: none */
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
/** Handle the answer to a command about calls. */
void baresip_call_answered(struct baresip_account *a,
			   const struct baresip_message *m);

/* ---- sound.c ---- */

int baresip_call_mute(struct sip_call *call, bool mute);
int baresip_call_play(struct sip_call *call, const char *path, int64_t ns);
/** Handle the answer to a mute or play command. @return false: it is another one */
bool baresip_sound_answered(struct baresip_account *a,
			    const struct baresip_message *m);
/** The call has ended: stop its timer. */
void baresip_sound_end(struct baresip_call *c);

/* ---- call_media.c ---- */

/** Read the description in the body, if there is one.
 * @param has, changed  set to true then, else unchanged */
void baresip_sdp_take(struct sdp *ret, bool *has, bool *changed,
		      const struct sip_msg *msg);
/** Read the description of a message of the call, and report it and the media that
 * it settled. */
void baresip_sdp_message(struct baresip_call *c, const struct sip_msg *msg,
			 bool sent, int64_t now_ns);

/* ---- dialog.c ---- */

/** Handle one SIP message in the trace of the account's process. */
void baresip_dialog_message(struct baresip_account *a,
			    const struct sip_msg *msg, bool sent,
			    int64_t now_ns);

#endif
