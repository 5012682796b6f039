#include "sip/event/refer_request.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/error.h"
#include "sip/message/replaces_header.h"

bool refer_request_is_silent(const struct sip_msg *msg)
{
	const struct sip_hdr *sub = sip_msg_hdr(msg, SIP_HDR_REFER_SUB);

	return sub && !pl_strcasecmp(&sub->val, "false");
}

/* One address of printable characters: neither a list nor a control character
 * (RFC 3261 section 25.1). A comma in quotes is part of a name or parameter. */
static bool is_one_address(const struct pl *value)
{
	bool quoted = false, bracketed = false;

	for (size_t i = 0; i < value->l; i++) {
		unsigned char ch = (unsigned char)value->p[i];

		if (ch == 127 || (ch < ' ' && !strchr("\t\r\n", ch)) || !ch)
			return false;
		if (quoted && ch == '\\')
			i++;
		else if (ch == '"')
			quoted = !quoted;
		else if (!quoted && (ch == '<' || ch == '>'))
			bracketed = ch == '<';
		else if (!quoted && !bracketed && ch == ',')
			return false;
	}
	return true;
}

int refer_request_target(char **ret, char **ret_replaces,
			 const struct sip_msg *msg)
{
	const struct sip_hdr *to = sip_msg_hdr(msg, SIP_HDR_REFER_TO);
	struct sip_addr addr;

	/* Exactly one (RFC 3515 2.4.2), of a scheme we can call. */
	if (!to || sip_msg_hdr_count(msg, SIP_HDR_REFER_TO) != 1 ||
	    !is_one_address(&to->val) || sip_addr_decode(&addr, &to->val) ||
	    (pl_strcasecmp(&addr.uri.scheme, "sip") &&
	     pl_strcasecmp(&addr.uri.scheme, "sips")))
		return -EBADMSG;
	/* Headers in the URI other than Replaces are left out of our INVITE. */
	if (replaces_header_of_uri(ret_replaces, &addr.uri))
		return -EBADMSG;
	if (addr.uri.headers.l)
		addr.auri.l = (size_t)(addr.uri.headers.p - addr.auri.p);
	return neg(pl_strdup(ret, &addr.auri));
}

void refer_request_status(char headers[static REFER_HEADERS_BYTES],
			  char body[static REFER_BODY_BYTES], uint32_t seq,
			  uint16_t code, const char *reason)
{
	str_print(headers, REFER_HEADERS_BYTES,
		  "Event: refer;id=%u\r\nSubscription-State: %s\r\n", seq,
		  code < 200 ? "active;expires=180"
			     : "terminated;reason=noresource");
	str_print(body, REFER_BODY_BYTES, "SIP/2.0 %u %s\r\n", code, reason);
}
