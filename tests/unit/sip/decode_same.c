#include "tests/unit/sip/decode_same.h"

#include <string.h>

#include "sip/message/decode.h"
#include "sip/message/parse.h"

/*
 * Position of a piece, in our text and in its copy for libre. Empty pieces are
 * equal wherever they are.
 */
static bool pl_same(const struct pl *a, const char *from_a, const struct pl *b,
		    const char *from_b)
{
	if (a->l != b->l || !a->p != !b->p)
		return false;
	return a->l == 0 || a->p - from_a == b->p - from_b;
}

struct texts {
	const char *ours, *libres;
};

#define SAME(field) pl_same(&a->field, t->ours, &b->field, t->libres)

static bool uri_same(const struct texts *t, const struct uri *a,
		     const struct uri *b)
{
	return SAME(scheme) && SAME(user) && SAME(password) && SAME(host) &&
	       SAME(path) && SAME(params) && SAME(headers) && a->af == b->af &&
	       a->port == b->port;
}

static bool addr_same(const struct texts *t, const struct sip_addr *a,
		      const struct sip_addr *b)
{
	return SAME(dname) && SAME(auri) && SAME(params) &&
	       uri_same(t, &a->uri, &b->uri);
}

static bool taddr_same(const struct texts *t, const struct sip_taddr *a,
		       const struct sip_taddr *b)
{
	return SAME(dname) && SAME(auri) && SAME(params) && SAME(tag) &&
	       SAME(val) && uri_same(t, &a->uri, &b->uri);
}

static bool via_same(const struct texts *t, const struct sip_via *a,
		     const struct sip_via *b)
{
	return SAME(sentby) && SAME(params) && SAME(branch) && SAME(val) &&
	       a->tp == b->tp &&
	       (!pl_isset(&a->val) || sa_cmp(&a->addr, &b->addr, SA_ALL));
}

static bool ctype_same(const struct texts *t, const struct msg_ctype *a,
		       const struct msg_ctype *b)
{
	return SAME(type) && SAME(subtype) && SAME(params);
}

static bool start_same(const struct texts *t, const struct sip_msg *a,
		       const struct sip_msg *b)
{
	return a->req == b->req && a->scode == b->scode && SAME(ver) &&
	       SAME(met) && SAME(ruri) && SAME(reason) &&
	       uri_same(t, &a->uri, &b->uri);
}

static bool common_same(const struct texts *t, const struct sip_msg *a,
			const struct sip_msg *b)
{
	return SAME(callid) && SAME(maxfwd) && SAME(expires) && SAME(clen) &&
	       SAME(cseq.met) && a->cseq.num == b->cseq.num;
}

static bool hdr_same(const struct texts *t, const struct sip_hdr *a,
		     const struct sip_hdr *b)
{
	return a->id == b->id && SAME(name) && SAME(val);
}

static bool list_same(const struct texts *t, const struct list *a,
		      const struct list *b)
{
	struct le *la = list_head(a), *lb = list_head(b);

	for (; la && lb; la = la->next, lb = lb->next) {
		if (!hdr_same(t, la->data, lb->data))
			return false;
	}
	return !la && !lb;
}

static bool tables_same(const struct texts *t, const struct sip_msg *a,
			const struct sip_msg *b)
{
	if (hash_bsize(a->hdrht) != hash_bsize(b->hdrht))
		return false;
	for (uint32_t i = 0; i < hash_bsize(a->hdrht); i++) {
		if (!list_same(t, hash_list(a->hdrht, i),
			       hash_list(b->hdrht, i)))
			return false;
	}
	return true;
}

static const char *msg_differs(const struct texts *t, const struct sip_msg *a,
			       const struct sip_msg *b)
{
	if (!start_same(t, a, b))
		return "start line";
	if (!via_same(t, &a->via, &b->via))
		return "Via";
	if (!taddr_same(t, &a->to, &b->to))
		return "To";
	if (!taddr_same(t, &a->from, &b->from))
		return "From";
	if (!common_same(t, a, b))
		return "common header fields";
	if (!ctype_same(t, &a->ctyp, &b->ctyp))
		return "Content-Type";
	if (!list_same(t, &a->hdrl, &b->hdrl))
		return "header lines";
	if (!tables_same(t, a, b))
		return "header elements";
	if (a->mb->pos != b->mb->pos)
		return "begin of the body";
	return NULL;
}

static struct mbuf *copy_of(const uint8_t *data, size_t len)
{
	struct mbuf *mb = mbuf_alloc(len ? len : 1);

	if (mb) {
		(void)mbuf_write_mem(mb, data, len);
		mb->pos = 0;
	}
	return mb;
}

/*
 * libre allocates each header field separately; decode_message() puts them in
 * one block.
 */
static bool is_ours(const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = list_ledata(list_head(&msg->hdrl));
	size_t gap = (size_t)((const char *)hdr - (const char *)msg);

	return hdr && (const char *)hdr > (const char *)msg &&
	       gap < sizeof(*msg) + 64 * sizeof(*hdr) &&
	       (gap - sizeof(*msg)) % sizeof(*hdr) == 0;
}

const char *decode_same(const uint8_t *data, size_t len, bool *ret_taken)
{
	struct mbuf *mb = copy_of(data, len), *libres_mb = copy_of(data, len);
	struct sip_msg *msg = NULL, *libres = NULL;
	const char *differs = "no memory";
	int err, libres_err;

	if (mb && libres_mb) {
		const struct texts t = {(const char *)mb->buf,
					(const char *)libres_mb->buf};

		err = decode_message(&msg, mb);
		libres_err = sip_msg_decode(&libres, libres_mb);
		differs = err != -libres_err ? "result"
			  : err              ? NULL
					     : msg_differs(&t, msg, libres);
	}
	if (ret_taken)
		*ret_taken = msg && is_ours(msg);
	mem_deref(msg);
	mem_deref(libres);
	mem_deref(mb);
	mem_deref(libres_mb);
	return differs;
}

static bool param_differs(const struct texts *t, const struct pl *text,
			  const char *name)
{
	struct pl a, b;

	if (parse_param(text, name, &a) != -msg_param_decode(text, name, &b))
		return true;
	return parse_param(text, name, &a) == 0 &&
	       !pl_same(&a, t->ours, &b, t->libres);
}

const char *parse_same(const char *text, size_t len)
{
	const struct texts t = {text, text};
	const struct pl pl = {text, len};
	struct sip_addr addr, libres_addr;
	struct sip_via via = {.tp = 0}, libres_via = {.tp = 0};
	struct msg_ctype ctype, libres_ctype;
	struct sip_cseq cseq, libres_cseq;
	struct uri uri, libres_uri;
	int err = parse_uri(&uri, &pl);

	if (err != -uri_decode(&libres_uri, &pl) ||
	    (!err && !uri_same(&t, &uri, &libres_uri)))
		return "URI";
	err = parse_addr(&addr, &pl);
	if (err != -sip_addr_decode(&libres_addr, &pl) ||
	    (!err && !addr_same(&t, &addr, &libres_addr)))
		return "address";
	err = parse_via(&via, &pl);
	if (err != -sip_via_decode(&libres_via, &pl) ||
	    (!err && !via_same(&t, &via, &libres_via)))
		return "Via";
	err = parse_cseq(&cseq, &pl);
	if (err != -sip_cseq_decode(&libres_cseq, &pl) ||
	    (!err && (cseq.num != libres_cseq.num ||
		      !pl_same(&cseq.met, text, &libres_cseq.met, text))))
		return "CSeq";
	err = parse_ctype(&ctype, &pl);
	if (err != -msg_ctype_decode(&libres_ctype, &pl) ||
	    (!err && !ctype_same(&t, &ctype, &libres_ctype)))
		return "Content-Type";
	if (param_differs(&t, &pl, "tag") || param_differs(&t, &pl, "branch") ||
	    param_differs(&t, &pl, "transport"))
		return "parameter";
	return NULL;
}
