#include "sip/call/warning.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "sip/body/multipart.h"

/* A pseudonym may stand for the host that warns (RFC 3261 20.43). */
#define AGENT      "offhook"
#define TEXT_BYTES 192

static const struct warning {
	int err;
	int code;
	const char *text;
} warnings[] = {
	{-EAFNOSUPPORT, 301,
	 "the addresses of the offer are not of our address family"},
	{-EPROTOTYPE, 302, "the profile of the audio is not RTP's"},
	{-EINVAL, 304, "the offer has no audio"},
	{-ENOENT, 305, "no codec of the offer is known here"},
	{-ENOKEY, 306, "the encryption of the offer is not known here"},
	{-EADDRNOTAVAIL, 330, "media is sent to unicast addresses only"},
	{0, 399, "the session description is not acceptable"},
};

/* 415 lists what would be taken (RFC 3261 21.4.13). */
static void type_refuse(struct server_transaction **server,
			struct transaction_layer *layer,
			const struct sip_msg *msg)
{
	bool encoded = sip_msg_hdr(msg, SIP_HDR_CONTENT_ENCODING) != NULL;

	(void)server_transaction_replyf(
		server, NULL, layer, msg, false, 415, "Unsupported Media Type",
		"Accept: " MULTIPART_ACCEPT "\r\n"
		"%sContent-Length: 0\r\n\r\n",
		encoded ? "Accept-Encoding: identity\r\n" : "");
}

void warning_refuse(struct server_transaction **server,
		    struct transaction_layer *layer, const struct sip_msg *msg,
		    int err, const char *text)
{
	const struct warning *w = warnings;
	char quoted[TEXT_BYTES];
	size_t used = 0;

	if (err == -EPROTONOSUPPORT) {
		type_refuse(server, layer, msg);
		return;
	}
	while (w->err && w->err != err)
		w++;
	if (!text)
		text = w->text;
	/* what would end the quoted string or the line */
	for (; *text && used + 1 < sizeof(quoted); text++) {
		bool plain = (unsigned char)*text >= ' ' && *text != 0x7f &&
			     *text != '"' && *text != '\\';

		quoted[used++] = plain ? *text : '\'';
	}
	quoted[used] = '\0';
	(void)server_transaction_replyf(server, NULL, layer, msg, false, 488,
					"Not Acceptable Here",
					"Warning: %d " AGENT " \"%s\"\r\n"
					"Content-Length: 0\r\n\r\n",
					w->code, quoted);
}

/* @return behind the word and the blanks after it; end: there is no other */
static const char *word_skip(const char *p, const char *end)
{
	while (p < end && *p != ' ' && *p != '\t' && *p != '"')
		p++;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

void warning_parse(char *dst, size_t size, const char *value, size_t len)
{
	const char *end = value + len;
	const char *p = word_skip(value, end);
	const char *text = word_skip(p, end); /* behind the agent */
	size_t used;

	dst[0] = '\0';
	if (len < 4 || !isdigit((unsigned char)value[0]) ||
	    !isdigit((unsigned char)value[1]) ||
	    !isdigit((unsigned char)value[2]) || value[3] != ' ' ||
	    text == end || *text != '"' || size < sizeof("305 x"))
		return;
	memcpy(dst, value, 4);
	used = 4;
	for (text++; text < end && *text != '"' && used + 1 < size; text++) {
		if (*text == '\\' && text + 1 < end)
			text++;
		dst[used++] = (unsigned char)*text >= ' ' && *text != 0x7f
				      ? *text
				      : '?';
	}
	dst[used] = '\0';
}

void warning_read(char *dst, size_t size, const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_WARNING);

	dst[0] = '\0';
	if (hdr && hdr->val.l)
		warning_parse(dst, size, hdr->val.p, hdr->val.l);
}
