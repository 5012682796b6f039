#include "sip/dialog/contact.h"

#include <string.h>

#include "base/sockaddr.h"
#include "base/str.h"
#include "sip/dialog/originator_internal.h"
#include "sip/message/text.h"
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
	char number[STR_DECIMAL_BYTES];
	char host[INET6_ADDRSTRLEN];
	bool v6 = sa_af(src) == AF_INET6;
	union sockaddr_ip at = {.ss_family = AF_UNSPEC};
	uint16_t port;

	memcpy(&at, &src->u, src->len < sizeof(at) ? src->len : sizeof(at));
	/* no address yet, or with a scope: as libre prints it */
	if (sockaddr_host(host, &port, &at) || sa_is_linklocal(src))
		return mbuf_printf(mb, "%H", contact_print, &contact);
	return -text_append(mb, "Contact: <sip:", origin->contact_user,
			    v6 ? "@[" : "@", host, v6 ? "]:" : ":",
			    str_decimal(number, port), sip_transp_param(tp),
			    originator_registration(origin)->outbound ? ";ob"
								      : "",
			    ">\r\n", NULL);
}
