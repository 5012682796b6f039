#include "sip/dialog/dialog.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/random.h"
#include "base/str.h"
#include "sip/dialog/originator_internal.h"
#include "sip/dialog/route_set.h"
#include "sip/error.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/parse.h"
#include "sip/message/text.h"
#include "sip/transaction/transaction_layer.h"
#include "sip/transport/resolve.h"

/* Room for the header fields of a request without many custom ones; more is
 * made if they are longer. */
#define REQUEST_BYTES 512

struct dialog {
	char *callid;
	char *ltag;
	char *rtag;     /* NULL: not established */
	char *local;    /* From of our requests, with the tag */
	char *remote;   /* To of our requests, with the tag if there is one */
	char *target;   /* request URI, unless `strict` is set */
	char *next_hop; /* where to send it; NULL: the first route, or target */
	char *routes;   /* Route header lines, may be NULL */
	char *route;    /* URI of the first one, may be NULL */
	char *strict;   /* that as the request URI, if it is a strict router's
			 * (12.2.1.1), else NULL */
	uint32_t lseq;  /* of the last request */
	uint32_t rseq;  /* of the peer's last request */
	struct header_list *headers; /* instead of the originator's; or NULL */
};

static void dialog_destructor(void *arg)
{
	struct dialog *dialog = arg;

	mem_deref(dialog->callid);
	mem_deref(dialog->ltag);
	mem_deref(dialog->rtag);
	mem_deref(dialog->local);
	mem_deref(dialog->remote);
	mem_deref(dialog->target);
	mem_deref(dialog->next_hop);
	mem_deref(dialog->routes);
	mem_deref(dialog->route);
	mem_deref(dialog->strict);
	mem_deref(dialog->headers);
}

/* A preloaded route set: the outbound proxy, then the Service-Route of the
 * registrar (RFC 3608 section 5). */
static int routes_preload(struct dialog *dialog,
			  const struct originator *origin)
{
	const struct originator *registered = originator_registration(origin);
	const char *proxy = origin->outbound_proxy;
	const char *routes = registered->service_routes;
	int err;

	err = text_join(&dialog->routes, proxy ? "Route: <" : "",
			proxy ? proxy : "", proxy ? ">\r\n" : "",
			routes ? routes : "", NULL);
	if (!err)
		err = text_join(&dialog->route,
				proxy ? proxy : registered->service_route,
				NULL);
	if (!err)
		err = route_set_strict_uri(&dialog->strict, dialog->route);
	return err;
}

int dialog_new(struct dialog **ret, const struct originator *origin,
	       const char *target, const char *to_uri)
{
	struct dialog *dialog = mem_zalloc(sizeof(*dialog), dialog_destructor);
	char id[STR_HEX_BYTES], more[STR_HEX_BYTES];
	int err;

	if (!dialog)
		return -ENOMEM;
	dialog->lseq = 1 + random_u16();
	err = text_join(&dialog->callid, str_hexadecimal(id, random_u64(), 16),
			str_hexadecimal(more, random_u64(), 16), NULL);
	if (!err)
		err = text_join(&dialog->ltag,
				str_hexadecimal(id, random_u64(), 16), NULL);
	if (!err)
		err = text_join(&dialog->local, origin->from,
				";tag=", dialog->ltag, NULL);
	if (!err)
		err = text_join(&dialog->remote, "<", to_uri, ">", NULL);
	if (!err)
		err = neg(str_dup(&dialog->target, target));
	if (!err && (origin->outbound_proxy ||
		     originator_registration(origin)->service_route)) {
		err = routes_preload(dialog, origin);
	} else if (!err && origin->next_hop) {
		err = text_join(&dialog->next_hop, origin->next_hop, NULL);
	}
	if (err) {
		mem_deref(dialog);
		return err;
	}
	*ret = dialog;
	return 0;
}

/* The route set is in the order of a request (12.1.1), reversed for a
 * response (12.1.2). */
static int routes_take(struct dialog *dialog, const struct sip_msg *msg)
{
	int err = route_set_read(&dialog->routes, &dialog->route, msg,
				 SIP_HDR_RECORD_ROUTE, msg->req);

	return err ? err : route_set_strict_uri(&dialog->strict, dialog->route);
}

/* The remote target (12.1, 12.2): the URI in Contact. */
static int target_take(struct dialog *dialog, const struct sip_msg *msg)
{
	const struct sip_hdr *contact = sip_msg_hdr(msg, SIP_HDR_CONTACT);
	struct sip_addr addr;
	char *target;

	if (!contact || parse_addr(&addr, &contact->val))
		return -EBADMSG;
	if (pl_strdup(&target, &addr.auri))
		return -ENOMEM;
	mem_deref(dialog->target);
	dialog->target = target;
	return 0;
}

int dialog_accept(struct dialog **ret, const struct sip_msg *msg)
{
	struct dialog *dialog = mem_zalloc(sizeof(*dialog), dialog_destructor);
	int err;

	if (!dialog)
		return -ENOMEM;
	dialog->lseq = 1 + random_u16();
	dialog->rseq = msg->cseq.num;
	err = target_take(dialog, msg);
	if (!err)
		err = routes_take(dialog, msg);
	if (!err)
		err = neg(pl_strdup(&dialog->callid, &msg->callid));
	/* server_transaction.c answers with this tag. */
	if (!err)
		err = text_print(&dialog->ltag, "%016llx", msg->tag);
	if (!err)
		err = neg(pl_strdup(&dialog->rtag, &msg->from.tag));
	if (!err)
		err = text_print(&dialog->local, "%r;tag=%s", &msg->to.val,
				 dialog->ltag);
	if (!err)
		err = text_print(&dialog->remote, "%r", &msg->from.val);
	if (err) {
		mem_deref(dialog);
		return err;
	}
	*ret = dialog;
	return 0;
}

int dialog_branch(struct dialog **ret, const struct dialog *from,
		  const struct sip_msg *msg)
{
	struct dialog *dialog = mem_zalloc(sizeof(*dialog), dialog_destructor);
	int err;

	if (!dialog)
		return -ENOMEM;
	dialog->lseq = msg->cseq.num;
	dialog->headers = mem_ref(from->headers);
	err = neg(str_dup(&dialog->callid, from->callid));
	if (!err)
		err = neg(str_dup(&dialog->ltag, from->ltag));
	if (!err)
		err = neg(str_dup(&dialog->local, from->local));
	if (!err)
		err = dialog_establish(dialog, msg);
	if (err) {
		mem_deref(dialog);
		return err;
	}
	*ret = dialog;
	return 0;
}

int dialog_establish(struct dialog *dialog, const struct sip_msg *msg)
{
	const struct sip_taddr *peer = msg->req ? &msg->from : &msg->to;
	char *remote = NULL;
	char *rtag = NULL;
	int err = 0;

	if (dialog->rtag)
		return 0;
	if (!pl_isset(&peer->tag))
		return -EBADMSG;
	if (pl_strdup(&rtag, &peer->tag) || pl_strdup(&remote, &peer->val))
		err = -ENOMEM;
	if (!err)
		err = routes_take(dialog, msg);
	if (!err)
		err = target_take(dialog, msg);
	if (err) {
		mem_deref(rtag);
		mem_deref(remote);
		return err;
	}
	mem_deref(dialog->remote);
	dialog->remote = remote;
	dialog->rtag = rtag;
	/* from now on requests follow the route set and the peer's Contact */
	dialog->next_hop = mem_deref(dialog->next_hop);
	return 0;
}

void dialog_continue(struct dialog *dialog, const struct dialog *branch)
{
	if (branch->lseq > dialog->lseq)
		dialog->lseq = branch->lseq;
	dialog->rseq = branch->rseq;
}

/* The originator's hosts resolve the user part of their own domain only. */
static int hop_set(struct dialog *dialog, const struct originator *origin,
		   const char *text)
{
	char host[256];
	struct uri uri;
	struct pl pl;

	pl_set_str(&pl, text);
	if (uri_decode(&uri, &pl))
		return -EINVAL;
	if (uri.port)
		str_print(host, sizeof(host), "%.*s:%u", (int)uri.host.l,
			  uri.host.p, uri.port);
	else
		str_print(host, sizeof(host), "%.*s", (int)uri.host.l,
			  uri.host.p);
	dialog->next_hop = mem_deref(dialog->next_hop);
	if (!origin->next_hop || origin->outbound_proxy ||
	    strcasecmp(host, origin->domain) != 0)
		return 0;
	dialog->next_hop = mem_ref(origin->next_hop);
	return 0;
}

int dialog_retarget(struct dialog *dialog, const struct originator *origin,
		    char *uri)
{
	int err = hop_set(dialog, origin, uri);

	if (err)
		return err;
	mem_deref(dialog->target);
	dialog->target = mem_ref(uri);
	return 0;
}

bool dialog_bypasses_target(const struct dialog *dialog,
			    const struct originator *origin)
{
	return !dialog->next_hop && !origin->outbound_proxy;
}

int dialog_set_headers(struct dialog *dialog,
		       const struct sip_custom_header *headers, size_t count)
{
	struct header_list *list;
	int err = headers_new(&list, headers, count);

	if (err)
		return err;
	mem_deref(dialog->headers);
	dialog->headers = list;
	return 0;
}

const char *dialog_callid(const struct dialog *dialog)
{
	return dialog->callid;
}

const char *dialog_local_tag(const struct dialog *dialog)
{
	return dialog->ltag;
}

const char *dialog_remote_tag(const struct dialog *dialog)
{
	return dialog->rtag;
}

const char *dialog_target(const struct dialog *dialog)
{
	return dialog->target;
}

void dialog_refresh(struct dialog *dialog, const struct sip_msg *msg)
{
	(void)target_take(dialog, msg); /* without a Contact the target stays */
}

bool dialog_match(const struct dialog *dialog, const struct sip_msg *msg)
{
	return dialog->rtag && !pl_strcmp(&msg->callid, dialog->callid) &&
	       !pl_strcmp(msg->req ? &msg->to.tag : &msg->from.tag,
			  dialog->ltag) &&
	       !pl_strcmp(msg->req ? &msg->from.tag : &msg->to.tag,
			  dialog->rtag);
}

bool dialog_in_order(struct dialog *dialog, const struct sip_msg *msg)
{
	if (msg->cseq.num < dialog->rseq)
		return false;
	dialog->rseq = msg->cseq.num;
	return true;
}

/* ---- requests ---- */

static const struct header_list *custom_of(const struct originator *origin,
					   const struct dialog *dialog)
{
	return dialog->headers ? dialog->headers : origin->transactions.headers;
}

static const char *request_uri(const struct dialog *dialog)
{
	return dialog->strict ? dialog->strict : dialog->target;
}

/* A strict router takes the next request URI from the first Route: the target is the
 * last one (12.2.1.1). */
static int routes_write(struct mbuf *mb, const struct dialog *dialog)
{
	if (dialog->strict)
		return text_append(mb, route_set_rest(dialog->routes),
				   "Route: <", dialog->target, ">\r\n", NULL);
	return dialog->routes ? neg(mbuf_write_str(mb, dialog->routes)) : 0;
}

/* Header fields of every request, unless custom headers replace them. */
static int common_print(struct mbuf *mb, const struct originator *origin,
			const struct dialog *dialog, unsigned scopes)
{
	const struct header_list *custom = custom_of(origin, dialog);
	const char *software =
		transaction_layer_software(origin->transactions.layer);
	const char *from = headers_find(custom, scopes, "From");
	int err = headers_write_own(mb, custom, scopes, "Max-Forwards: 70\r\n");

	if (!err)
		err = routes_write(mb, dialog);
	if (!err && from)
		err = text_append(mb, "From: ", from, ";tag=", dialog->ltag,
				  "\r\n", NULL);
	else if (!err)
		err = text_append(mb, "From: ", dialog->local, "\r\n", NULL);
	if (!err && software && !headers_find(custom, scopes, "User-Agent"))
		err = text_append(mb, "User-Agent: ", software, "\r\n", NULL);
	return err;
}

static int request_print(struct mbuf *mb, const struct originator *origin,
			 struct dialog *dialog, struct digest *digest,
			 const struct dialog_request_params *request)
{
	const struct header_list *custom = custom_of(origin, dialog);
	const char *type = request->sdp ? "application/sdp" : request->type;
	const char *text = request->sdp ? request->sdp->data : request->body;
	size_t body = request->sdp ? request->sdp->used
		      : type       ? strlen(text)
				   : 0;
	unsigned scopes = headers_scopes(request->method, dialog->rtag != NULL,
					 request->headers);
	const struct digest_request_params signing = {
		.method = request->method,
		.uri = request_uri(dialog),
		.body = text,
		.body_len = body,
	};
	uint32_t cseq = request->ack_cseq;
	char number[STR_DECIMAL_BYTES];
	int err;

	if (cseq == 0)
		cseq = ++dialog->lseq;
	err = common_print(mb, origin, dialog, scopes);
	if (!err)
		err = text_append(mb, "To: ", dialog->remote,
				  "\r\nCall-ID: ", dialog->callid,
				  "\r\nCSeq: ", str_decimal(number, cseq), " ",
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
		err = text_append(mb,
				  "Content-Length: ", str_decimal(number, body),
				  "\r\n\r\n", NULL);
	if (!err && body)
		err = neg(mbuf_write_mem(mb, (const uint8_t *)text, body));
	mb->pos = 0;
	return err;
}

/* Read the next hop from a URI (RFC 3263 section 4). */
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

/* The next hop of a dialog without next_hop. */
static int next_hop_host(struct resolve_host *ret, char *host, size_t size,
			 const struct dialog *dialog)
{
	return uri_host(ret, host, size,
			dialog->route ? dialog->route : dialog->target);
}

int dialog_tls_name(char **ret, const struct originator *origin,
		    const struct dialog *dialog)
{
	char host[256], name[256];
	struct resolve_host hop;
	int err;

	if (origin->transactions.tls_name)
		return text_join(ret, origin->transactions.tls_name, NULL);
	err = next_hop_host(&hop, host, sizeof(host), dialog);
	if (!err)
		err = resolve_plain(name, sizeof(name), host);
	return err ? err : text_join(ret, name, NULL);
}

int dialog_send(struct client_request **ret, const struct originator *origin,
		struct dialog *dialog, struct digest *digest,
		const struct dialog_request_params *request)
{
	struct client_request_params params = {
		.user = &origin->transactions,
		.method = request->method,
		.uri = request_uri(dialog),
		.hosts = origin->hosts,
		.host_count = origin->host_count,
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
		err = next_hop_host(&hop, host, sizeof(host), dialog);
		params.hosts = &hop;
		params.host_count = 1;
	}
	if (err)
		return err;
	params.mb = mbuf_alloc(REQUEST_BYTES +
			       (request->sdp ? request->sdp->used : 0));
	if (!params.mb)
		return -ENOMEM;
	err = request_print(params.mb, origin, dialog, digest, request);
	params.callid = dialog->callid;
	params.from_tag = dialog->ltag;
	params.cseq = request->ack_cseq ? request->ack_cseq : dialog->lseq;
	if (!err)
		err = client_request_send(ret, &params);
	mem_deref(params.mb);
	return err;
}
