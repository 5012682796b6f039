#include "sip/dialog.h"

#include <errno.h>
#include <string.h>

#include "sip/account_internal.h"
#include "sip/digest.h"
#include "sip/error.h"
#include "sip/headers.h"
#include "sip/resolve.h"
#include "sip/text.h"
#include "sip/ua_internal.h"

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
	mem_deref(dialog->headers);
}

/* The outbound proxy, then what the registrar said (RFC 3608 5). */
static int routes_preload(struct dialog *dialog,
			  const struct sip_account *account)
{
	const struct sip_account *registered = account_registration(account);
	const char *proxy = account->outbound_proxy;
	const char *routes = registered->service_routes;
	int err;

	err = text_print(&dialog->routes, "%s%s%s%s", proxy ? "Route: <" : "",
			 proxy ? proxy : "", proxy ? ">\r\n" : "",
			 routes ? routes : "");
	if (!err)
		err = text_print(&dialog->route, "%s",
				 proxy ? proxy : registered->service_route);
	return err;
}

int dialog_new(struct dialog **ret, const struct sip_account *account,
	       const char *target, const char *to_uri)
{
	struct dialog *dialog = mem_zalloc(sizeof(*dialog), dialog_destructor);
	int err;

	if (!dialog)
		return -ENOMEM;
	dialog->lseq = 1 + rand_u16();
	err = text_print(&dialog->callid, "%016llx%016llx", rand_u64(),
			 rand_u64());
	if (!err)
		err = text_print(&dialog->ltag, "%016llx", rand_u64());
	if (!err)
		err = text_print(&dialog->local, "%s;tag=%s", account->from,
				 dialog->ltag);
	if (!err)
		err = text_print(&dialog->remote, "<%s>", to_uri);
	if (!err)
		err = text_print(&dialog->target, "%s", target);
	if (!err && (account->outbound_proxy ||
		     account_registration(account)->service_route)) {
		err = routes_preload(dialog, account);
	} else if (!err && account->next_hop) {
		err = text_print(&dialog->next_hop, "%s", account->next_hop);
	}
	if (err) {
		mem_deref(dialog);
		return err;
	}
	*ret = dialog;
	return 0;
}

struct routes {
	struct mbuf *mb;
	char *first;
	int err;
};

static bool route_handler(const struct sip_hdr *hdr, const struct sip_msg *msg,
			  void *arg)
{
	struct routes *routes = arg;
	struct sip_addr addr;
	(void)msg;

	routes->err = mbuf_printf(routes->mb, "Route: %r\r\n", &hdr->val);
	if (!routes->err && !routes->first)
		routes->err = sip_addr_decode(&addr, &hdr->val)
				      ? EBADMSG
				      : pl_strdup(&routes->first, &addr.auri);
	return routes->err != 0;
}

int routes_read(char **ret_lines, char **ret_first, const struct sip_msg *msg,
		enum sip_hdrid id, bool forward)
{
	struct routes routes = {.mb = mbuf_alloc(256)};
	char *text = NULL;
	int err;

	if (!routes.mb)
		return -ENOMEM;
	sip_msg_hdr_apply(msg, forward, id, route_handler, &routes);
	err = routes.err;
	routes.mb->pos = 0;
	if (!err && routes.first)
		err = mbuf_strdup(routes.mb, &text, mbuf_get_left(routes.mb));
	mem_deref(routes.mb);
	if (err) {
		mem_deref(routes.first);
		return neg(err);
	}
	mem_deref(*ret_lines);
	mem_deref(*ret_first);
	*ret_lines = text;
	*ret_first = routes.first;
	return 0;
}

/* The route set (12.1.1, 12.1.2): as it stands in a request, reversed of a
 * response. */
static int routes_take(struct dialog *dialog, const struct sip_msg *msg)
{
	return routes_read(&dialog->routes, &dialog->route, msg,
			   SIP_HDR_RECORD_ROUTE, msg->req);
}

/* The remote target (12.1, 12.2): the URI in Contact. */
static int target_take(struct dialog *dialog, const struct sip_msg *msg)
{
	const struct sip_hdr *contact = sip_msg_hdr(msg, SIP_HDR_CONTACT);
	struct sip_addr addr;
	struct uri uri;
	char *target;

	if (!contact || sip_addr_decode(&addr, &contact->val) ||
	    uri_decode(&uri, &addr.auri))
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
	dialog->lseq = 1 + rand_u16();
	dialog->rseq = msg->cseq.num;
	err = target_take(dialog, msg);
	if (!err)
		err = routes_take(dialog, msg);
	if (!err)
		err = neg(pl_strdup(&dialog->callid, &msg->callid));
	/* server.c answers with this tag. */
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
	err = text_print(&dialog->callid, "%s", from->callid);
	if (!err)
		err = text_print(&dialog->ltag, "%s", from->ltag);
	if (!err)
		err = text_print(&dialog->local, "%s", from->local);
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
	/* From now on the route set and the peer's Contact lead. */
	dialog->next_hop = mem_deref(dialog->next_hop);
	return 0;
}

void dialog_refresh(struct dialog *dialog, const struct sip_msg *msg)
{
	(void)target_take(dialog, msg); /* without a Contact it stays */
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
		err = neg(mbuf_printf(mb, "From: %s;tag=%s\r\n", from,
				      dialog->ltag));
	else if (!err)
		err = neg(mbuf_printf(mb, "From: %s\r\n", dialog->local));
	if (!err && account->ua->software &&
	    !headers_find(custom, scopes, "User-Agent"))
		err = neg(mbuf_printf(mb, "User-Agent: %s\r\n",
				      account->ua->software));
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
	int err;

	if (cseq == 0)
		cseq = ++dialog->lseq;
	err = common_print(mb, account, dialog, scopes);
	if (!err)
		err = mbuf_printf(
			mb, "To: %s\r\nCall-ID: %s\r\nCSeq: %u %s\r\n",
			dialog->remote, dialog->callid, cseq, request->method);
	if (!err && digest)
		err = digest_write(mb, digest, &signing);
	if (!err)
		err = headers_write(mb, custom, scopes);
	if (!err)
		err = headers_write_own(mb, custom, scopes, request->headers);
	if (!err && type)
		err = mbuf_printf(mb, "Content-Type: %s\r\n", type);
	if (!err)
		err = mbuf_printf(mb, "Content-Length: %zu\r\n\r\n", body);
	if (!err && body)
		err = mbuf_write_mem(mb, (const uint8_t *)text, body);
	mb->pos = 0;
	return neg(err);
}

/* The next hop a URI names (RFC 3263 4). */
static int uri_host(struct resolve_host *ret, char *host, size_t size,
		    const char *text)
{
	struct uri uri;
	struct pl pl;

	pl_set_str(&pl, text);
	if (uri_decode(&uri, &pl))
		return -EINVAL;
	*ret = (struct resolve_host){
		.host = host,
		.port = uri.port,
		.tp = SIP_TRANSP_NONE,
		.secure = !pl_strcasecmp(&uri.scheme, "sips"),
	};
	if (!ret->secure && pl_strcasecmp(&uri.scheme, "sip"))
		return -EPROTONOSUPPORT;
	if (!msg_param_decode(&uri.params, "transport", &pl)) {
		ret->tp = resolve_transport(&pl);
		if (ret->tp == SIP_TRANSP_NONE)
			return -EPROTONOSUPPORT;
	}
	if (msg_param_decode(&uri.params, "maddr", &pl))
		pl = uri.host;
	return neg(pl_strcpy(&pl, host, size));
}

int dialog_send(struct client **ret, struct sip_account *account,
		struct dialog *dialog, struct digest *digest,
		const struct request *request)
{
	struct client_params params = {
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
	if (!err)
		err = client_send(ret, &params);
	mem_deref(params.mb);
	return err;
}
