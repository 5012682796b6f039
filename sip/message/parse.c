#include "sip/message/parse.h"

#include <errno.h>
#include <string.h>

#include "sip/error.h"

/* The rest of a text that is read from its beginning. */
struct rest {
	const char *p;
	const char *end;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	c = lower(c);
	return c >= 'a' && c <= 'z';
}

static struct rest rest_of(const struct pl *text)
{
	return (struct rest){text->p, text->p + text->l};
}

static struct pl piece(const char *begin, const char *end)
{
	return (struct pl){begin, (size_t)(end - begin)};
}

static void spaces_skip(struct rest *r)
{
	while (r->p < r->end && is_space(*r->p))
		r->p++;
}

static struct pl digits_take(struct rest *r)
{
	const char *begin = r->p;

	while (r->p < r->end && is_digit(*r->p))
		r->p++;
	return piece(begin, r->p);
}

static bool one_of(char c, const char *chars, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (c == chars[i])
			return true;
	}
	return false;
}

/* Take the text before the first of these characters, or all. */
static struct pl until(struct rest *r, const char *stops, size_t count)
{
	const char *begin = r->p;

	while (r->p < r->end && !one_of(*r->p, stops, count))
		r->p++;
	return piece(begin, r->p);
}

static bool has(const struct pl *text, char c)
{
	return memchr(text->p, c, text->l) != NULL;
}

/* ---- parameters ---- */

/* Take a parameter's name and "=". @return whether it is this name */
static bool name_take(struct rest *r, const char *name)
{
	for (; *name; name++, r->p++) {
		if (r->p == r->end || lower(*r->p) != lower(*name))
			return false;
	}
	spaces_skip(r);
	return r->p < r->end && *r->p++ == '=';
}

int parse_param(const struct pl *params, const char *name, struct pl *ret)
{
	struct rest r;

	if (!params->p || params->l == 0)
		return -ENOENT;
	if (has(params, '"') || has(params, '\\'))
		return neg(msg_param_decode(params, name, ret));
	r = rest_of(params);
	while ((r.p = memchr(r.p, ';', (size_t)(r.end - r.p)))) {
		struct rest one = {r.p + 1, r.end};
		struct pl value;

		spaces_skip(&one);
		if (name_take(&one, name)) {
			spaces_skip(&one);
			value = until(&one, " \t\r\n;", 5);
			if (value.l > 0) {
				*ret = value;
				return 0;
			}
		}
		r.p++;
	}
	return -ENOENT;
}

/* ---- URIs ---- */

/* @return false: not in a usual form */
static bool hostport_read(struct pl *host, struct pl *port,
			  const struct pl *text)
{
	struct rest r = rest_of(text);

	if (text->l == 0 || *text->p == ':' || has(text, '['))
		return false;
	*host = until(&r, ":", 1);
	while (r.p < r.end && *r.p == ':')
		r.p++;
	*port = digits_take(&r);
	return true;
}

/* "sip:user:password@host:port;parameters?headers"; libre has a path, too */
static bool uri_read(struct uri *ret, struct pl *port, const struct pl *text)
{
	struct rest r = rest_of(text);
	struct pl hostport;

	ret->scheme = until(&r, ":", 1);
	if (ret->scheme.l == 0 || r.p == r.end)
		return false;
	r.p++;
	if (memchr(r.p, '@', (size_t)(r.end - r.p))) {
		ret->user = until(&r, "@:", 2);
		while (*r.p == ':')
			r.p++;
		ret->password = until(&r, "@", 1);
		r.p++;
	}
	hostport = until(&r, "/;? ", 4);
	ret->path = until(&r, ";? ", 3);
	ret->params = until(&r, "?", 1);
	ret->headers = piece(r.p, r.end);
	return hostport_read(&ret->host, port, &hostport);
}

int parse_uri(struct uri *ret, const struct pl *text)
{
	struct pl port;
	struct sa addr;

	memset(ret, 0, sizeof(*ret));
	if (!text->p || !uri_read(ret, &port, text))
		return neg(uri_decode(ret, text));
	ret->af = sa_set(&addr, &ret->host, 0) == 0 ? sa_af(&addr) : AF_UNSPEC;
	if (port.l > 0)
		ret->port = (uint16_t)pl_u32(&port);
	return 0;
}

/* ---- addresses ---- */

/* Take the name of "\"Bob\" <" without its quotes. @return false: another form */
static bool name_read(struct pl *ret, struct rest *r)
{
	const char *quote;

	if (r->p < r->end && *r->p == '"') {
		quote = memchr(r->p + 1, '"', (size_t)(r->end - r->p - 1));
		if (!quote || memchr(r->p, '\\', (size_t)(quote - r->p)))
			return false;
		*ret = piece(r->p + 1, quote);
		r->p = quote + 1;
		spaces_skip(r);
	}
	return r->p < r->end && *r->p++ == '<';
}

static bool addr_read(struct sip_addr *ret, const struct pl *text)
{
	struct rest r = rest_of(text);

	if (!has(text, '<')) {
		ret->auri = until(&r, ";", 1);
		ret->params = piece(r.p, r.end);
		return ret->auri.l > 0;
	}
	if (!name_read(&ret->dname, &r))
		return false;
	ret->auri = until(&r, ">", 1);
	if (ret->auri.l == 0 || r.p == r.end)
		return false;
	r.p++;
	ret->params = piece(r.p, r.end);
	if (ret->dname.l == 0)
		ret->dname.p = NULL;
	if (ret->params.l == 0)
		ret->params.p = NULL;
	return true;
}

int parse_addr(struct sip_addr *ret, const struct pl *text)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	if (!text->p || !addr_read(ret, text))
		return neg(sip_addr_decode(ret, text));
	err = parse_uri(&ret->uri, &ret->auri);
	if (err)
		memset(ret, 0, sizeof(*ret));
	return err;
}

/* ---- header fields ---- */

static enum sip_transp transport_of(const struct pl *name)
{
	if (!pl_strcmp(name, "TCP"))
		return SIP_TRANSP_TCP;
	if (!pl_strcmp(name, "TLS"))
		return SIP_TRANSP_TLS;
	return !pl_strcmp(name, "UDP") ? SIP_TRANSP_UDP : SIP_TRANSP_NONE;
}

/* "SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK1" */
static bool via_read(struct sip_via *ret, struct pl *host, struct pl *port,
		     const struct pl *text)
{
	static const char version[] = "SIP/2.0/";
	const size_t len = sizeof(version) - 1;
	struct rest r = rest_of(text);
	const char *begin;
	struct pl name;

	if (text->l < len || memcmp(r.p, version, len) != 0)
		return false;
	begin = r.p += len;
	while (r.p < r.end && is_letter(*r.p))
		r.p++;
	name = piece(begin, r.p);
	spaces_skip(&r);
	if (name.l == 0 || r.p == name.p + name.l)
		return false;
	ret->tp = transport_of(&name);
	ret->sentby = until(&r, "; \t\r\n", 5);
	spaces_skip(&r);
	ret->params = piece(r.p, r.end);
	return hostport_read(host, port, &ret->sentby);
}

int parse_via(struct sip_via *ret, const struct pl *text)
{
	struct pl host, port;

	if (!via_read(ret, &host, &port, text))
		return neg(sip_via_decode(ret, text));
	sa_init(&ret->addr, AF_INET);
	(void)sa_set(&ret->addr, &host, 0);
	if (port.l > 0)
		sa_set_port(&ret->addr, (uint16_t)pl_u32(&port));
	ret->val = *text;
	return parse_param(&ret->params, "branch", &ret->branch);
}

int parse_cseq(struct sip_cseq *ret, const struct pl *text)
{
	struct rest r = rest_of(text);
	struct pl number = digits_take(&r);
	struct pl method;

	spaces_skip(&r);
	method = until(&r, " \t\r\n", 4);
	if (number.l == 0 || method.l == 0 || method.p == number.p + number.l)
		return neg(sip_cseq_decode(ret, text));
	ret->num = pl_u32(&number);
	ret->met = method;
	return 0;
}

int parse_ctype(struct msg_ctype *ret, const struct pl *text)
{
	struct rest r = rest_of(text);
	struct pl type = until(&r, " \t\r\n;/", 6);
	struct pl subtype;

	if (type.l == 0 || r.p == r.end || *r.p != '/')
		return neg(msg_ctype_decode(ret, text));
	r.p++;
	subtype = until(&r, " \t\r\n;", 5);
	if (subtype.l == 0)
		return neg(msg_ctype_decode(ret, text));
	ret->type = type;
	ret->subtype = subtype;
	ret->params = piece(r.p, r.end);
	return 0;
}
