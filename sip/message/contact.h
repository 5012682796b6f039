/**
 * The Contact of requests and responses that make or refresh dialogs.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_CONTACT_H
#define OFFHOOK_SIP_MESSAGE_CONTACT_H

#include <re.h>

struct sip_account;

struct contact {
	const struct sip_account *account;
	const struct sa *addr;
	enum sip_transp tp;
};

/** That of the answer to a request. */
void contact_answer(struct contact *contact, const struct sip_account *account,
		    const struct sip_msg *msg);
/** Print the line (%H). */
int contact_print(struct re_printf *pf, const struct contact *contact);
/** Append the line to a request, from a sip_send_h. @return 0, or libre's */
int contact_write(struct mbuf *mb, const struct sip_account *account,
		  const struct sa *src, enum sip_transp tp);

#endif
