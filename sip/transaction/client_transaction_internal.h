/**
 * What the files of the client transactions share: client_transaction.c (the attempts of
 * one), client_transaction_derive.c (CANCEL, and the ACK to a refusal) and
 * client_transaction_response.c (responses, ICMP errors and the end of all).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_CLIENT_TRANSACTION_INTERNAL_H
#define OFFHOOK_SIP_TRANSACTION_CLIENT_TRANSACTION_INTERNAL_H

#include <re.h>

#include "sip/mono_timer.h"
#include "sip/transaction/client_transaction.h"
#include "sip/transport/resolve.h"
#include "sip/transport/transport.h"

/* RFC 3261 17.1: timers B and F */
#define CLIENT_TIMEOUT_MS (64 * SIP_T1)

#define BRANCH_BYTES 32

enum client_transaction_state {
	CLIENT_RESOLVING,
	CLIENT_CALLING, /* sent; for other methods than INVITE: trying */
	CLIENT_PROCEEDING,
	CLIENT_COMPLETED, /* told; repetitions are taken */
};

/* The transaction itself; it owns itself and lives in ua->clients. */
struct client_transaction {
	struct le he;
	struct le he_calling; /* in ua->calling */
	struct sip_ua *ua;
	struct sip_account *account;
	struct header_list *headers;   /* instead of the account's; or NULL */
	struct client_request *handle; /* NULL: nobody listens */
	char *method;
	char *uri;
	struct mbuf *mb;
	char *callid;
	char *from_tag;
	uint32_t cseq;
	bool invite;
	bool stateful;
	unsigned scopes;
	bool cancelled;
	bool cancel_sent;
	sip_send_h *sendh;
	sip_resp_h *resph;
	void *arg;

	struct le le; /* in ua->resolving */
	struct resolve *resolve;
	struct destinations to;
	size_t next; /* of `to` */

	/* the attempt under way */
	enum client_transaction_state state;
	struct hop hop;
	char branch[BRANCH_BYTES];
	struct mbuf *wire;
	struct mbuf *ack;      /* of a refused INVITE */
	const char *discarded; /* why a response was; static, or NULL */
	int64_t launched_ns;   /* first transmission */
	unsigned sent;         /* transmissions */
	struct mono_timer tmr;
	struct mono_timer tmr_again;
	struct conn_watch watch;
};

/* ---- client_transaction.c ---- */

/** One of an account; the rest of it is zero. @return NULL: no memory */
struct client_transaction *client_transaction_new(struct sip_account *account);
/** It was sent to t->hop: responses find it, timers A, B, E and F run. */
void client_transaction_launched(struct client_transaction *t,
				 uint32_t timeout_ms);
/** The next host. @return 0 sent; -errno none is left: why the last failed */
int client_transaction_attempt_next(struct client_transaction *t);
/** This host is of no use: the next one, or the end of it. err positive. */
void client_transaction_attempt_failed(struct client_transaction *t, int err,
				       const char *reason);
/** Why, for who asks the user agent. @param reason  or NULL */
void client_transaction_failure_note(struct client_transaction *t, int err,
				     const char *reason);
/** Tell the end of it to who listens, once. */
void client_transaction_terminate(struct client_transaction *t, int err,
				  const struct sip_msg *msg);
/** Its timer: the end of an attempt, or of waiting for repetitions. */
void client_transaction_timeout(void *arg);
/** Nothing more is repeated or waited for in this attempt. */
void client_transaction_attempt_stop(struct client_transaction *t);
/** The custom headers of its requests. */
const struct header_list *client_transaction_headers(
	const struct client_transaction *t);

/* ---- client_transaction_derive.c ---- */

/** RFC 3261 9.1 and 17.1.1.3: a request with what it takes over from the
 * INVITE. @param answer  the refusal, of an ACK; else NULL @return 0; -errno */
int client_transaction_derive(struct mbuf **ret,
			      const struct client_transaction *t,
			      const char *method, const struct sip_msg *answer);
/** Nobody wants the call: CANCEL, when a provisional response came. */
void client_transaction_give_up(struct client_transaction *t);

#endif
