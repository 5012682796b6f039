#include "sip/dialog/route_set.h"

#include <errno.h>
#include <string.h>

#include "sip/error.h"
#include "sip/message/parse.h"

#define LINE_NAME "Route: "

struct routes {
	struct mbuf *mb; /* NULL: no line yet */
	char *first;
	int err;
};

static bool route_handler(const struct sip_hdr *hdr, const struct sip_msg *msg,
			  void *arg)
{
	struct routes *routes = arg;
	struct sip_addr addr;
	(void)msg;

	if (!routes->mb)
		routes->mb = mbuf_alloc(256);
	if (!routes->mb) {
		routes->err = ENOMEM;
		return true;
	}
	routes->err = mbuf_printf(routes->mb, LINE_NAME "%r\r\n", &hdr->val);
	if (!routes->err && !routes->first)
		routes->err = parse_addr(&addr, &hdr->val)
				      ? EBADMSG
				      : pl_strdup(&routes->first, &addr.auri);
	return routes->err != 0;
}

int route_set_read(char **ret_lines, char **ret_first,
		   const struct sip_msg *msg, enum sip_hdrid id, bool forward)
{
	struct routes routes = {.mb = NULL};
	char *text = NULL;
	int err;

	sip_msg_hdr_apply(msg, forward, id, route_handler, &routes);
	err = routes.err;
	if (!err && routes.first) {
		routes.mb->pos = 0;
		err = mbuf_strdup(routes.mb, &text, mbuf_get_left(routes.mb));
	}
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

/* Take the next parameter of a URI, ";name=value". @return false: none is left */
static bool param_take(struct pl *ret, struct pl *name, struct pl *rest)
{
	const char *next;

	if (rest->l == 0)
		return false;
	next = memchr(rest->p + 1, ';', rest->l - 1);
	*ret = *rest;
	if (next)
		ret->l = (size_t)(next - rest->p);
	pl_advance(rest, (ssize_t)ret->l);
	*name = (struct pl){ret->p + 1, ret->l - 1};
	next = memchr(name->p, '=', name->l);
	if (next)
		name->l = (size_t)(next - name->p);
	return true;
}

static bool is_loose(const struct uri *uri)
{
	struct pl param, name, rest = uri->params;

	while (param_take(&param, &name, &rest)) {
		if (!pl_strcasecmp(&name, "lr"))
			return true;
	}
	return false;
}

/* Remove the parameter method and the headers. @param text  that `uri` was read of */
static void request_uri_make(char *dst, const char *text, const struct uri *uri)
{
	struct pl param, name, rest = uri->params;
	size_t used = uri->params.l    ? (size_t)(uri->params.p - text)
		      : uri->headers.l ? (size_t)(uri->headers.p - text)
				       : strlen(text);

	memcpy(dst, text, used);
	while (param_take(&param, &name, &rest)) {
		if (!pl_strcasecmp(&name, "method"))
			continue;
		memcpy(dst + used, param.p, param.l);
		used += param.l;
	}
	dst[used] = '\0';
}

int route_set_strict_uri(char **ret, const char *first)
{
	struct pl text = PL_INIT;
	char *strict = NULL;
	struct uri uri;

	if (first)
		pl_set_str(&text, first);
	if (first && !parse_uri(&uri, &text) && !is_loose(&uri)) {
		strict = mem_alloc(text.l + 1, NULL);
		if (!strict)
			return -ENOMEM;
		request_uri_make(strict, first, &uri);
	}
	mem_deref(*ret);
	*ret = strict;
	return 0;
}

const char *route_set_rest(const char *lines)
{
	/* a value may be folded over several lines */
	const char *end = strstr(lines, "\n" LINE_NAME);

	return end ? end + 1 : "";
}
