/**
 * Dialogs (RFC 3261 section 12), and the requests sent within them. A request
 * outside of dialogs is the first one of a dialog that it does not make.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_DIALOG_H
#define OFFHOOK_SIP_DIALOG_DIALOG_H

#include <re.h>

#include "base/buf.h"
#include "sip/transaction/client_transaction.h"

struct digest;
struct header_list;
struct originator;

struct dialog {
	char *callid;
	char *ltag;
	char *rtag;     /* NULL: not established */
	char *local;    /* From of our requests, with the tag */
	char *remote;   /* To of our requests, with the tag if there is one */
	char *target;   /* request URI */
	char *next_hop; /* where to send it; NULL: the first route, or target */
	char *routes;   /* Route header lines, may be NULL */
	char *route;    /* URI of the first one, may be NULL */
	uint32_t lseq;  /* of the last request */
	uint32_t rseq;  /* of the peer's last request */
	struct header_list *headers; /* instead of the originator's; or NULL */
};

int dialog_new(struct dialog **ret, const struct originator *origin,
	       const char *target, const char *to_uri);
int dialog_accept(struct dialog **ret, const struct sip_msg *msg);
/** The dialog a branch of our INVITE made with this response; its CSeq goes
 * on from that of the INVITE (12.1.2). */
int dialog_branch(struct dialog **ret, const struct dialog *dialog,
		  const struct sip_msg *msg);
/**
 * Route lines of all headers of this kind, and the URI of the first; what was
 * there is released. Both NULL: there are none.
 */
int routes_read(char **ret_lines, char **ret_first, const struct sip_msg *msg,
		enum sip_hdrid id, bool forward);
/** The 2xx to our INVITE came, or a NOTIFY to our SUBSCRIBE. */
int dialog_establish(struct dialog *dialog, const struct sip_msg *msg);
/** Target refresh (12.2). */
void dialog_refresh(struct dialog *dialog, const struct sip_msg *msg);
bool dialog_match(const struct dialog *dialog, const struct sip_msg *msg);
/** True and remembered if the request is not older than the last one. */
bool dialog_in_order(struct dialog *dialog, const struct sip_msg *msg);

struct request {
	const char *method;
	uint32_t ack_cseq;     /* ACK: of the INVITE; else 0 */
	const char *headers;   /* more header lines, may be NULL */
	const struct buf *sdp; /* may be NULL */
	const char *type;      /* of another body; NULL: there is none */
	const char *body;
	sip_send_h *sendh;
	sip_resp_h *resph;
	void *arg;
};
/** Send a request of the originator within (or beginning) the dialog. */
int dialog_send(struct client_request **ret, const struct originator *origin,
		struct dialog *dialog, struct digest *digest,
		const struct request *request);

#endif
