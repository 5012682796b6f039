#include "sip/dialog/route_set.h"

#include <errno.h>

#include "sip/error.h"
#include "sip/message/parse.h"

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
	routes->err = mbuf_printf(routes->mb, "Route: %r\r\n", &hdr->val);
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
