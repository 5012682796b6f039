#include "sip/dialog/dialog.h"

#include <errno.h>
#include <string.h>

#include "sip/message/digest.h"
#include "sip/message/error.h"
#include "sip/message/headers.h"
#include "sip/message/parse.h"
#include "sip/message/text.h"
#include "sip/transport/resolve.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

static const struct header_list *custom_of(const struct sip_account *account,
					   const struct dialog *dialog)
{
	return dialog->headers ? dialog->headers : &account->headers;
}

/* What every request has, but for what custom headers replace. */
static int common_print(struct mbuf *mb, const struct sip_account *account,
			const struct dialog *dialog, unsigned scopes)
{
	const struct header_list *custom = custom_of(account, dialog);
	const char *from = headers_find(custom, scopes, "From");
	int err = headers_write_own(mb, custom, scopes, "Max-Forwards: 70\r\n");

	if (!err && dialog->routes)
		err = neg(mbuf_write_str(mb, dialog->routes));
	if (!err && from)
		err = text_append(mb, "From: ", from, ";tag=", dialog->ltag,
				  "\r\n", NULL);
	else if (!err)
		err = text_append(mb, "From: ", dialog->local, "\r\n", NULL);
	if (!err && account->ua->software &&
	    !headers_find(custom, scopes, "User-Agent"))
		err = text_append(mb, "User-Agent: ", account->ua->software,
				  "\r\n", NULL);
	return err;
}

static int request_print(struct mbuf *mb, struct sip_account *account,
			 struct dialog *dialog, struct digest *digest,
			 const struct request *request)
{
	const struct header_list *custom = custom_of(account, dialog);
	const char *type = request->sdp ? "application/sdp" : request->type;
	const char *text = request->sdp ? request->sdp->data : request->body;
	size_t body = request->sdp ? request->sdp->used
		      : type       ? strlen(text)
				   : 0;
	unsigned scopes = headers_scopes(request->method, dialog->rtag != NULL,
					 request->headers);
	const struct digest_request signing = {
		.method = request->method,
		.uri = dialog->target,
		.body = text,
		.body_len = body,
	};
	uint32_t cseq = request->ack_cseq;
	char number[TEXT_NUMBER_BYTES];
	int err;

	if (cseq == 0)
		cseq = ++dialog->lseq;
	err = common_print(mb, account, dialog, scopes);
	if (!err)
		err = text_append(mb, "To: ", dialog->remote,
				  "\r\nCall-ID: ", dialog->callid,
				  "\r\nCSeq: ", text_decimal(number, cseq), " ",
				  request->method, "\r\n", NULL);
	if (!err && digest)
		err = digest_write(mb, digest, &signing);
	if (!err)
		err = headers_write(mb, custom, scopes);
	if (!err)
		err = headers_write_own(mb, custom, scopes, request->headers);
	if (!err && type)
		err = text_append(mb, "Content-Type: ", type, "\r\n", NULL);
	if (!err)
		err = text_append(mb, "Content-Length: ",
				  text_decimal(number, body), "\r\n\r\n", NULL);
	if (!err && body)
		err = neg(mbuf_write_mem(mb, (const uint8_t *)text, body));
	mb->pos = 0;
	return err;
}

/* The next hop a URI names (RFC 3263 4). */
static int uri_host(struct resolve_host *ret, char *host, size_t size,
		    const char *text)
{
	struct uri uri;
	struct pl pl;

	pl_set_str(&pl, text);
	if (parse_uri(&uri, &pl))
		return -EINVAL;
	*ret = (struct resolve_host){
		.host = host,
		.port = uri.port,
		.tp = SIP_TRANSP_NONE,
		.secure = !pl_strcasecmp(&uri.scheme, "sips"),
	};
	if (!ret->secure && pl_strcasecmp(&uri.scheme, "sip"))
		return -EPROTONOSUPPORT;
	if (!parse_param(&uri.params, "transport", &pl)) {
		ret->tp = resolve_transport(&pl);
		if (ret->tp == SIP_TRANSP_NONE)
			return -EPROTONOSUPPORT;
	}
	if (parse_param(&uri.params, "maddr", &pl))
		pl = uri.host;
	return neg(pl_strcpy(&pl, host, size));
}

int dialog_send(struct client_request **ret, struct sip_account *account,
		struct dialog *dialog, struct digest *digest,
		const struct request *request)
{
	struct client_request_params params = {
		.account = account,
		.method = request->method,
		.uri = dialog->target,
		.hosts = account->hosts,
		.host_count = account->host_count,
		.key = hash_joaat_str(dialog->callid),
		.scopes = headers_scopes(request->method, dialog->rtag != NULL,
					 request->headers),
		.headers = dialog->headers,
		.sendh = request->sendh,
		.resph = request->resph,
		.arg = request->arg,
	};
	struct resolve_host hop;
	char host[256];
	int err = 0;

	if (!dialog->next_hop) {
		err = uri_host(&hop, host, sizeof(host),
			       dialog->route ? dialog->route : dialog->target);
		params.hosts = &hop;
		params.host_count = 1;
	}
	if (err)
		return err;
	params.mb = mbuf_alloc(2048);
	if (!params.mb)
		return -ENOMEM;
	err = request_print(params.mb, account, dialog, digest, request);
	params.callid = dialog->callid;
	params.from_tag = dialog->ltag;
	params.cseq = request->ack_cseq ? request->ack_cseq : dialog->lseq;
	if (!err)
		err = client_request_send(ret, &params);
	mem_deref(params.mb);
	return err;
}
