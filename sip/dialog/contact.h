/**
 * The Contact of requests and responses that make or refresh dialogs.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_CONTACT_H
#define OFFHOOK_SIP_DIALOG_CONTACT_H

#include <re.h>

struct originator;

/** What its line says; filled by contact_answer(). */
struct contact_params {
	const struct originator *origin;
	const struct sa *addr;
	enum sip_transp tp;
};

/**
 * The Contact of the response to a request.
 * @param contact  filled; valid as long as the originator
 * @param origin   whose Contact it is
 * @param msg      the request
 */
void contact_answer(struct contact_params *contact,
		    const struct originator *origin, const struct sip_msg *msg);
/** Print the line, for %H. @return 0, or libre's error */
int contact_print(struct re_printf *pf, const struct contact_params *contact);
/**
 * Append the line to a request, from a sip_send_h.
 * @param src, tp  its local address and transport
 * @return 0, or libre's error
 */
int contact_write(struct mbuf *mb, const struct originator *origin,
		  const struct sa *src, enum sip_transp tp);

#endif
