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
struct originator;
struct sip_custom_header;

/** Released and shared with mem_deref() and mem_ref(). */
struct dialog;

/**
 * A dialog that the originator begins with its first request.
 * @param target  request URI
 * @param to_uri  of To
 * @return 0; -ENOMEM
 */
int dialog_new(struct dialog **ret, const struct originator *origin,
	       const char *target, const char *to_uri);
/** The dialog that a request of the peer begins (12.1.1).
 * @return 0; -EBADMSG: it has no usable Contact; -ENOMEM */
int dialog_accept(struct dialog **ret, const struct sip_msg *msg);
/** The dialog a branch of our INVITE made with this response; its CSeq goes
 * on from that of the INVITE (12.1.2). */
int dialog_branch(struct dialog **ret, const struct dialog *dialog,
		  const struct sip_msg *msg);
/** The 2xx to our INVITE came, or a NOTIFY to our SUBSCRIBE: take remote tag,
 * route set and target of it; an established dialog stays as it is.
 * @return 0; -EBADMSG: no tag or no usable Contact; -ENOMEM */
int dialog_establish(struct dialog *dialog, const struct sip_msg *msg);
/** The early dialog of a branch is confirmed: CSeq numbers go on from those of
 * its requests, both ways. */
void dialog_continue(struct dialog *dialog, const struct dialog *branch);
/** Target refresh (12.2). */
void dialog_refresh(struct dialog *dialog, const struct sip_msg *msg);
/**
 * Send further requests to the target of a redirection (8.1.3.4): by the
 * originator's hosts if it is in the originator's domain, else to its own host.
 * @param uri  a reference is kept
 * @return 0; -EINVAL
 */
int dialog_retarget(struct dialog *dialog, const struct originator *origin,
		    char *uri);
/** Its requests go to the target's own host, neither to the originator's hosts
 * nor to its outbound proxy. */
bool dialog_bypasses_target(const struct dialog *dialog,
			    const struct originator *origin);
/** Custom headers of its requests, instead of the originator's; copied.
 * @return 0; -EINVAL one may not be set; -ENOMEM */
int dialog_set_headers(struct dialog *dialog,
		       const struct sip_custom_header *headers, size_t count);

/* Borrowed. */
const char *dialog_callid(const struct dialog *dialog);
const char *dialog_local_tag(const struct dialog *dialog);
/** NULL: the dialog is not established. */
const char *dialog_remote_tag(const struct dialog *dialog);
/** The request URI of its requests, unless they go to a strict router. */
const char *dialog_target(const struct dialog *dialog);
/** The message has Call-ID and tags of the dialog. */
bool dialog_match(const struct dialog *dialog, const struct sip_msg *msg);
/** True and remembered if the request is not older than the last one. */
bool dialog_in_order(struct dialog *dialog, const struct sip_msg *msg);

/* After BYE, CANCEL or a request that ends a binding, a subscription or a
 * publication the response is waited for no longer. */
#define DIALOG_END_WAIT_MS 5000

struct dialog_request_params {
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
		const struct dialog_request_params *request);

/**
 * The name that the requests of an established dialog verify their next hop by (RFC
 * 5922): the originator's own, else the host of the URI that they are sent to.
 * @param ret  the caller's
 * @return 0; -ENOMEM; -EINVAL, -EPROTONOSUPPORT: no request can be sent
 */
int dialog_tls_name(char **ret, const struct originator *origin,
		    const struct dialog *dialog);

#endif
