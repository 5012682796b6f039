#include "sip/dialog/contact.h"

#include "sip/dialog/originator_internal.h"
#include "sip/transaction/transaction_layer.h"
#include "sip/transport/transport.h"

void contact_answer(struct contact_params *contact,
		    const struct originator *origin, const struct sip_msg *msg)
{
	const struct transport *transport =
		transaction_layer_transport(origin->transactions.layer);

	*contact = (struct contact_params){origin, transport_laddr(transport),
					   msg->tp};
}

int contact_print(struct re_printf *pf, const struct contact_params *contact)
{
	return re_hprintf(pf, "Contact: <sip:%s@%J%s%s>\r\n",
			  contact->origin->contact_user, contact->addr,
			  sip_transp_param(contact->tp),
			  originator_registration(contact->origin)->outbound
				  ? ";ob"
				  : "");
}

int contact_write(struct mbuf *mb, const struct originator *origin,
		  const struct sa *src, enum sip_transp tp)
{
	const struct contact_params contact = {origin, src, tp};

	return mbuf_printf(mb, "%H", contact_print, &contact);
}
