#include "sip/call/extensions.h"

#include <strings.h>

#include "sip/body/multipart.h"
#include "sip/call.h"
#include "sip/call/session_timer.h"
#include "sip/message/text.h"
#include "sip/transaction/server_transaction.h"

/* Option tags (RFC 3262, RFC 4028). */
#define TAG_100REL "100rel"
#define TAG_TIMER  "timer"

bool extensions_has(const struct sip_msg *msg, enum sip_hdrid id,
		    const char *tag)
{
	return sip_msg_hdr_has_value(msg, id, tag);
}

static const char *supported_line(const struct sip_call_options *options)
{
	static const char *const lines[2][2] = {
		{"Supported: replaces, norefersub\r\n",
		 "Supported: replaces, norefersub, " TAG_TIMER "\r\n"},
		{"Supported: replaces, norefersub, " TAG_100REL "\r\n",
		 "Supported: replaces, norefersub, " TAG_100REL ", " TAG_TIMER
		 "\r\n"}};

	return lines[options->prack != SIP_PRACK_NONE]
		    [options->session_timer_s > 0];
}

int extensions_request(char **ret, const struct sip_call_options *options,
		       const struct session_timer *timer,
		       const struct extensions_invite_params *first)
{
	bool requires = first && options->prack == SIP_PRACK_REQUIRED;
	char timer_lines[SESSION_TIMER_BYTES];

	session_timer_request(timer_lines, timer);
	return text_join(ret, ALLOW_HEADER, supported_line(options),
			 requires ? "Require: " TAG_100REL "\r\n" : "",
			 first && first->replaces_line ? first->replaces_line
						       : "",
			 timer_lines, NULL);
}

int extensions_response(char **ret, const struct sip_call_options *options)
{
	return text_join(ret, ALLOW_HEADER, supported_line(options), NULL);
}

void extensions_reply(struct transaction_layer *layer,
		      const struct sip_msg *msg,
		      const struct sip_call_options *options)
{
	static const struct sip_call_options none;

	(void)server_transaction_replyf(
		NULL, NULL, layer, msg, false, 200, "OK",
		ALLOW_HEADER "%sAccept: " MULTIPART_ACCEPT "\r\n"
			     "Accept-Encoding: identity\r\n"
			     "Content-Length: 0\r\n\r\n",
		supported_line(options ? options : &none));
}

struct refusal {
	const struct sip_call_options *options;
	struct mbuf *mb;
};

static bool known(const struct sip_call_options *options, const struct pl *tag)
{
	if (!pl_strcasecmp(tag, "replaces") ||
	    !pl_strcasecmp(tag, "norefersub"))
		return true;
	if (!pl_strcasecmp(tag, TAG_100REL))
		return options && options->prack != SIP_PRACK_NONE;
	if (!pl_strcasecmp(tag, TAG_TIMER))
		return options && options->session_timer_s;
	return false;
}

static bool require_handler(const struct sip_hdr *hdr,
			    const struct sip_msg *msg, void *arg)
{
	struct refusal *refusal = arg;
	(void)msg;

	return !known(refusal->options, &hdr->val) &&
	       mbuf_printf(refusal->mb, "Unsupported: %r\r\n", &hdr->val) != 0;
}

/* Refuse option tags in Require that we do not support (8.2.2.3). */
static bool refuse_420(struct transaction_layer *layer,
		       const struct sip_msg *msg,
		       const struct sip_call_options *options)
{
	struct refusal refusal = {.options = options, .mb = mbuf_alloc(128)};
	bool refused = true;

	if (!refusal.mb)
		return true;
	sip_msg_hdr_apply(msg, true, SIP_HDR_REQUIRE, require_handler,
			  &refusal);
	refused = refusal.mb->end > 0;
	if (refused)
		(void)server_transaction_replyf(
			NULL, NULL, layer, msg, false, 420, "Bad Extension",
			"%bContent-Length: 0\r\n\r\n", refusal.mb->buf,
			refusal.mb->end);
	mem_deref(refusal.mb);
	return refused;
}

/* Methods of the SIP registry that we know and do not support: 405 for them, 501
 * for the rest (RFC 3261 8.2.1, 21.5.2). */
static const char *const unsupported_methods[] = {
	"REGISTER",
	"SUBSCRIBE",
	"PUBLISH",
};

void extensions_refuse_method(struct transaction_layer *layer,
			      const struct sip_msg *msg)
{
	bool known_method = false;

	for (size_t i = 0;
	     i < sizeof(unsupported_methods) / sizeof(unsupported_methods[0]);
	     i++)
		known_method |= !pl_strcmp(&msg->met, unsupported_methods[i]);
	(void)server_transaction_replyf(
		NULL, NULL, layer, msg, false, known_method ? 405 : 501,
		known_method ? "Method Not Allowed" : "Not Implemented",
		ALLOW_HEADER "Content-Length: 0\r\n\r\n");
}

bool extensions_refuse(struct transaction_layer *layer,
		       const struct sip_msg *msg,
		       const struct sip_call_options *options)
{
	if (sip_msg_hdr_count(msg, SIP_HDR_REQUIRE) &&
	    refuse_420(layer, msg, options))
		return true;
	/* RFC 3262 section 3: we require reliable provisional responses, the
	 * peer does not support them. */
	if (!options || options->prack != SIP_PRACK_REQUIRED ||
	    pl_strcmp(&msg->met, "INVITE") || pl_isset(&msg->to.tag) ||
	    extensions_has(msg, SIP_HDR_SUPPORTED, TAG_100REL) ||
	    extensions_has(msg, SIP_HDR_REQUIRE, TAG_100REL))
		return false;
	(void)server_transaction_replyf(NULL, NULL, layer, msg, false, 421,
					"Extension Required",
					"Require: " TAG_100REL "\r\n"
					"Content-Length: 0\r\n\r\n");
	return true;
}
