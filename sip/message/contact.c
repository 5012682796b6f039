#include "sip/message/contact.h"

#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

void contact_answer(struct contact *contact, const struct sip_account *account,
		    const struct sip_msg *msg)
{
	*contact = (struct contact){account, &account->ua->laddr, msg->tp};
}

int contact_print(struct re_printf *pf, const struct contact *contact)
{
	return re_hprintf(
		pf, "Contact: <sip:%s@%J%s%s>\r\n",
		contact->account->contact_user, contact->addr,
		sip_transp_param(contact->tp),
		account_registration(contact->account)->outbound ? ";ob" : "");
}

int contact_write(struct mbuf *mb, const struct sip_account *account,
		  const struct sa *src, enum sip_transp tp)
{
	const struct contact contact = {account, src, tp};

	return mbuf_printf(mb, "%H", contact_print, &contact);
}
