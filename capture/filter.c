#include "capture/filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define WORD_BYTES  64
#define MAPPED_BITS 96 /* an IPv4 address has so many bits before it */

struct parser {
	const char *text;
	const char *at;   /* behind the word */
	const char *from; /* where the word begins */
	char word[WORD_BYTES];
	unsigned depth;
	int err;
	struct filter filter;
	char *reason;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* The next word, "" at the end. One that is too long keeps its beginning, which
 * is no word of the language either. */
static void next(struct parser *p)
{
	size_t n = 0;

	while (is_blank(*p->at))
		p->at++;
	p->from = p->at;
	if (*p->at == '(' || *p->at == ')') {
		p->word[n++] = *p->at++;
	} else {
		for (; *p->at && !is_blank(*p->at) && *p->at != '(' &&
		       *p->at != ')';
		     p->at++) {
			if (n < WORD_BYTES - 1)
				p->word[n++] = *p->at;
		}
	}
	p->word[n] = '\0';
}

static bool is(const struct parser *p, const char *word)
{
	return strcmp(p->word, word) == 0;
}

/* @return -1, the first reason stands */
static int fail(struct parser *p, int err, const char *what)
{
	if (p->err)
		return -1;
	p->err = err;
	snprintf(p->reason, FILTER_REASON_BYTES, "column %zu: %s%s%s%s",
		 (size_t)(p->from - p->text) + 1, what,
		 p->word[0] ? ", not \"" : "", p->word, p->word[0] ? "\"" : "");
	return -1;
}

/* @return its place; -1 */
static int add(struct parser *p, const struct filter_node *node)
{
	if (p->filter.count == FILTER_NODES_MAX)
		return fail(p, -E2BIG, "at most 64 conditions are possible");
	p->filter.nodes[p->filter.count] = *node;
	return (int)p->filter.count++;
}

static int join(struct parser *p, enum filter_kind kind, int left, int right)
{
	const struct filter_node node = {
		.kind = kind, .left = (uint16_t)left, .right = (uint16_t)right};

	return left < 0 || right < 0 ? -1 : add(p, &node);
}

static int parse_host(struct parser *p, struct filter_node *node)
{
	char *slash = strchr(p->word, '/');
	uint8_t four[4];
	uint64_t bits;
	bool v4;

	if (slash)
		*slash = '\0';
	v4 = inet_pton(AF_INET, p->word, four) == 1;
	if (v4)
		address_set_ipv4(&node->address, four);
	else if (inet_pton(AF_INET6, p->word, node->address.bytes) != 1)
		return fail(p, -EINVAL, "host takes an IPv4 or IPv6 address");
	bits = v4 ? 32 : 128;
	if (slash && str_to_u64(slash + 1, bits, &bits))
		return fail(p, -EINVAL,
			    v4 ? "the bits of a network are 0 to 32"
			       : "the bits of a network are 0 to 128");
	node->bits = (uint8_t)(bits + (v4 ? MAPPED_BITS : 0));
	return 0;
}

static int parse_port(struct parser *p, struct filter_node *node)
{
	char *dash = strchr(p->word, '-');
	uint64_t first = 0;
	uint64_t last = 0;

	if (dash)
		*dash = '\0';
	if (str_to_u64(p->word, UINT16_MAX, &first) ||
	    (dash && str_to_u64(dash + 1, UINT16_MAX, &last)) ||
	    (dash && last < first))
		return fail(p, -EINVAL, "port takes N or N-M, up to 65535");
	node->first = (uint16_t)first;
	node->last = dash ? (uint16_t)last : (uint16_t)first;
	return 0;
}

static int parse_condition(struct parser *p, bool negated)
{
	struct filter_node node = {.negated = negated};
	int err = 0;

	if (is(p, "udp") || is(p, "tcp")) {
		node.kind = is(p, "udp") ? FILTER_UDP : FILTER_TCP;
		next(p);
		return add(p, &node);
	}
	if (is(p, "src") || is(p, "dst")) {
		node.side = is(p, "src") ? FILTER_SRC : FILTER_DST;
		next(p);
	}
	if (is(p, "host")) {
		node.kind = FILTER_HOST;
		next(p);
		err = parse_host(p, &node);
	} else if (is(p, "port")) {
		node.kind = FILTER_PORT;
		next(p);
		err = parse_port(p, &node);
	} else {
		return fail(p, -EINVAL,
			    node.side != FILTER_EITHER
				    ? "expected host or port"
				    : "expected host, port, src, dst, udp, "
				      "tcp, not or (");
	}
	next(p);
	return err ? -1 : add(p, &node);
}

static int parse_any(struct parser *p, bool negated);

static int parse_one(struct parser *p, bool negated)
{
	int at;

	while (is(p, "not")) {
		negated = !negated;
		next(p);
	}
	if (!is(p, "("))
		return parse_condition(p, negated);
	if (++p->depth > FILTER_DEPTH_MAX)
		return fail(p, -E2BIG, "too many parentheses");
	next(p);
	at = parse_any(p, negated);
	p->depth--;
	if (at < 0)
		return -1;
	if (!is(p, ")"))
		return fail(p, -EINVAL, "expected and, or, )");
	next(p);
	return at;
}

/* not (a and b) is (not a or not b): a negation ends at the conditions, where
 * what a fragment does not tell can be let through either way. */
static int parse_all(struct parser *p, bool negated)
{
	int left = parse_one(p, negated);

	while (left >= 0 && is(p, "and")) {
		next(p);
		left = join(p, negated ? FILTER_OR : FILTER_AND, left,
			    parse_one(p, negated));
	}
	return left;
}

static int parse_any(struct parser *p, bool negated)
{
	int left = parse_all(p, negated);

	while (left >= 0 && is(p, "or")) {
		next(p);
		left = join(p, negated ? FILTER_AND : FILTER_OR, left,
			    parse_all(p, negated));
	}
	return left;
}

int filter_parse(struct filter *ret, const char *text, char *reason)
{
	struct parser p = {.text = text, .at = text, .reason = reason};

	next(&p);
	if (parse_any(&p, false) < 0)
		return p.err;
	if (p.word[0]) {
		fail(&p, -EINVAL, "expected and, or");
		return p.err;
	}
	*ret = p.filter;
	return 0;
}

/* ---- exactly ---- */

static bool host_is(const struct filter_node *n, const struct address *a)
{
	size_t whole = n->bits / 8;
	uint8_t mask = (uint8_t)(0xff00 >> n->bits % 8);

	return memcmp(a->bytes, n->address.bytes, whole) == 0 &&
	       (n->bits % 8 == 0 ||
		((a->bytes[whole] ^ n->address.bytes[whole]) & mask) == 0);
}

static bool port_is(const struct filter_node *n, uint16_t port)
{
	return port >= n->first && port <= n->last;
}

static bool condition(const struct filter_node *n, const struct datagram *d,
		      bool tcp)
{
	bool src = false;
	bool dst = false;

	switch (n->kind) {
	case FILTER_UDP:
		return !tcp;
	case FILTER_TCP:
		return tcp;
	case FILTER_HOST:
		src = host_is(n, &d->src);
		dst = host_is(n, &d->dst);
		break;
	case FILTER_PORT:
		src = port_is(n, d->sport);
		dst = port_is(n, d->dport);
		break;
	case FILTER_AND:
	case FILTER_OR:
		break;
	}
	return (src && n->side != FILTER_DST) || (dst && n->side != FILTER_SRC);
}

/* Nodes follow what they join: one pass. */
bool filter_matches(const struct filter *f, const struct datagram *d, bool tcp)
{
	bool is_so[FILTER_NODES_MAX];

	for (size_t i = 0; i < f->count; i++) {
		const struct filter_node *n = &f->nodes[i];

		if (n->kind == FILTER_AND)
			is_so[i] = is_so[n->left] && is_so[n->right];
		else if (n->kind == FILTER_OR)
			is_so[i] = is_so[n->left] || is_so[n->right];
		else
			is_so[i] = condition(n, d, tcp) != n->negated;
	}
	return f->count == 0 || is_so[f->count - 1];
}
