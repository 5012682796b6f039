#include "sip/transaction/response.h"

#include <errno.h>
#include <string.h>

#include "sip/error.h"
#include "sip/transport/hop.h"

const char *response_phrase(uint16_t code)
{
	static const struct {
		uint16_t code;
		const char *phrase;
	} phrases[] = {
		{180, "Ringing"},
		{181, "Call Is Being Forwarded"},
		{182, "Queued"},
		{183, "Session Progress"},
		{300, "Multiple Choices"},
		{301, "Moved Permanently"},
		{302, "Moved Temporarily"},
		{305, "Use Proxy"},
		{400, "Bad Request"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{408, "Request Timeout"},
		{410, "Gone"},
		{480, "Temporarily Unavailable"},
		{481, "Call/Transaction Does Not Exist"},
		{484, "Address Incomplete"},
		{486, "Busy Here"},
		{487, "Request Terminated"},
		{488, "Not Acceptable Here"},
		{500, "Server Internal Error"},
		{503, "Service Unavailable"},
		{600, "Busy Everywhere"},
		{603, "Decline"},
		{604, "Does Not Exist Anywhere"},
		{606, "Not Acceptable"},
	};

	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		if (phrases[i].code == code)
			return phrases[i].phrase;
	}
	return code < 200 ? "Progress" : "Rejected";
}

/* RFC 3581 section 4 and RFC 3261 18.2.1 */
static int via_write(struct mbuf *mb, const struct sip_msg *msg,
		     const struct sip_hdr *hdr)
{
	const struct pl *val = &hdr->val;
	struct pl rport;
	bool asked = !msg_param_exists(&msg->via.params, "rport", &rport);
	int err;

	if (!asked) {
		err = mbuf_printf(mb, "Via: %r", val);
	} else {
		size_t before = (size_t)(rport.p - val->p);
		size_t after = before + rport.l;

		err = mbuf_printf(mb, "Via: %b%b;rport=%u", val->p, before,
				  val->p + after, val->l - after,
				  sa_port(&msg->src));
	}
	if (!err && (asked || !sa_cmp(&msg->src, &msg->via.addr, SA_ADDR)))
		err = mbuf_printf(mb, ";received=%j", &msg->src);
	return err ? err : mbuf_write_str(mb, "\r\n");
}

static int copied_write(struct mbuf *mb, const struct sip_msg *msg, bool routes,
			uint16_t code)
{
	bool first = true;
	struct le *le;
	int err = 0;

	LIST_FOREACH(&msg->hdrl, le)
	{
		const struct sip_hdr *hdr = le->data;

		if (err)
			break;
		if (hdr->id == SIP_HDR_VIA && first) {
			err = via_write(mb, msg, hdr);
			first = false;
		} else if (hdr->id == SIP_HDR_VIA) {
			err = mbuf_printf(mb, "Via: %r\r\n", &hdr->val);
		} else if (hdr->id == SIP_HDR_RECORD_ROUTE && routes) {
			err = mbuf_printf(mb, "Record-Route: %r\r\n",
					  &hdr->val);
		}
	}
	if (!err)
		err = mbuf_printf(mb, "From: %r\r\nTo: %r", &msg->from.val,
				  &msg->to.val);
	if (!err && code > 100 && !pl_isset(&msg->to.tag))
		err = mbuf_printf(mb, ";tag=%016llx", msg->tag);
	if (!err)
		err = mbuf_printf(mb, "\r\nCall-ID: %r\r\nCSeq: %u %r\r\n",
				  &msg->callid, msg->cseq.num, &msg->cseq.met);
	return err;
}

void response_hop(struct hop *hop, const struct sip_msg *msg)
{
	struct pl pl;

	*hop = (struct hop){
		.tp = msg->tp,
		.addr = msg->src,
		.conn = msg->sock,
	};
	if (msg->tp == SIP_TRANSP_UDP &&
	    !msg_param_decode(&msg->via.params, "maddr", &pl) &&
	    !sa_set(&hop->addr, &pl, 0))
		;
	else if (msg->tp == SIP_TRANSP_UDP &&
		 !msg_param_exists(&msg->via.params, "rport", &pl))
		return;
	sa_set_port(&hop->addr,
		    sip_transp_port(msg->tp, sa_port(&msg->via.addr)));
}

int response_begin(struct mbuf **ret, const char *software,
		   const struct sip_msg *msg, bool routes, uint16_t code,
		   const char *reason)
{
	struct mbuf *mb = mbuf_alloc(1024);
	int err;

	if (!mb)
		return -ENOMEM;
	err = mbuf_printf(mb, "SIP/2.0 %u %s\r\n", code, reason);
	if (!err)
		err = copied_write(mb, msg, routes, code);
	if (!err && software)
		err = mbuf_printf(mb, "Server: %s\r\n", software);
	if (err) {
		mem_deref(mb);
		return neg(err);
	}
	*ret = mb;
	return 0;
}

int response_end(struct mbuf *mb)
{
	return neg(mbuf_write_str(mb, "Content-Length: 0\r\n\r\n"));
}
