#include "sip/sdp/sdp_ice.h"

#include <errno.h>
#include <string.h>

#include "base/sockaddr.h"

static const char *const types[MEDIA_CANDIDATE_TYPES] = {
	[MEDIA_CANDIDATE_HOST] = "host",
	[MEDIA_CANDIDATE_SRFLX] = "srflx",
	[MEDIA_CANDIDATE_PRFLX] = "prflx",
	[MEDIA_CANDIDATE_RELAY] = "relay",
};

/* ---- reading ---- */

static bool addr_parse(struct media_addr *ret, struct span host,
		       struct span port)
{
	char text[INET6_ADDRSTRLEN];
	uint64_t number;

	return span_copy(text, sizeof(text), host) &&
	       span_number(port, UINT16_MAX, &number) && number != 0 &&
	       !sockaddr_parse(&ret->ss, &ret->len, text, (uint16_t)number) &&
	       !sockaddr_is_any(&ret->ss);
}

static bool type_parse(enum media_candidate_type *ret, struct span word)
{
	for (unsigned i = 0; i < MEDIA_CANDIDATE_TYPES; i++) {
		if (span_is(word, types[i])) {
			*ret = (enum media_candidate_type)i;
			return true;
		}
	}
	return false;
}

/* Parse: foundation component transport priority address port "typ" type ... */
static void candidate_parse(struct media_ice *ice, struct span s)
{
	struct media_candidate c = {.component = 0};
	struct span foundation = span_word(&s);
	struct span component = span_word(&s);
	struct span transport = span_word(&s);
	struct span priority = span_word(&s);
	struct span host = span_word(&s);
	struct span port = span_word(&s);
	struct span typ = span_word(&s);
	uint64_t number;

	if (ice->candidate_count == MEDIA_CANDIDATES_MAX ||
	    foundation.p == foundation.end || !span_is(transport, "UDP") ||
	    !span_is(typ, "typ") || !type_parse(&c.type, span_word(&s)) ||
	    !span_number(component, MEDIA_ICE_COMPONENTS, &number) ||
	    number == 0)
		return;
	c.component = (uint8_t)number;
	if (!span_number(priority, INT32_MAX, &number) ||
	    !addr_parse(&c.addr, host, port))
		return;
	c.priority = (uint32_t)number;
	ice->candidates[ice->candidate_count++] = c;
}

/* Copy `least` or more ice-char (RFC 8839 5.4). */
static void secret_parse(char *dst, size_t size, size_t least, struct span s)
{
	struct span word = span_word(&s);

	for (const char *p = word.p; p < word.end; p++) {
		bool good = (*p >= 'a' && *p <= 'z') ||
			    (*p >= 'A' && *p <= 'Z') ||
			    (*p >= '0' && *p <= '9') || *p == '+' || *p == '/';

		if (!good)
			return;
	}
	if ((size_t)(word.end - word.p) >= least)
		(void)span_copy(dst, size, word);
}

void sdp_ice_parse(struct media_ice *ice, struct span name, struct span value)
{
	if (span_is(name, "candidate"))
		candidate_parse(ice, value);
	else if (span_is(name, "ice-ufrag"))
		secret_parse(ice->ufrag, sizeof(ice->ufrag), 4, value);
	else if (span_is(name, "ice-pwd"))
		secret_parse(ice->pwd, sizeof(ice->pwd), 22, value);
	else if (span_is(name, "ice-lite"))
		ice->lite = true;
}

void sdp_ice_inherit(struct media_ice *ice, const struct media_ice *session)
{
	if (!ice->ufrag[0])
		memcpy(ice->ufrag, session->ufrag, sizeof(ice->ufrag));
	if (!ice->pwd[0])
		memcpy(ice->pwd, session->pwd, sizeof(ice->pwd));
	ice->lite |= session->lite;
}

/* ---- writing ---- */

static int candidate_write(struct buf *b, const struct media_candidate *c)
{
	char host[INET6_ADDRSTRLEN];
	uint16_t port;
	int err =
		c->addr.len ? sockaddr_host(host, &port, &c->addr.ss) : -EINVAL;

	/* one base and one server per type, so the type is the foundation */
	if (!err)
		err = buf_print(b, "a=candidate:%u %u UDP %u %s %u typ %s",
				(unsigned)c->type + 1, c->component,
				c->priority, host, port, types[c->type]);
	if (!err && c->related.len > 0) {
		err = sockaddr_host(host, &port, &c->related.ss);
		if (!err)
			err = buf_print(b, " raddr %s rport %u", host, port);
	}
	return err ? err : buf_print(b, "\r\n");
}

int sdp_ice_write_session(struct buf *b, const struct media_ice *ice)
{
	int err = ice->lite ? buf_print(b, "a=ice-lite\r\n") : 0;

	return err ? err : buf_print(b, "a=ice-options:ice2\r\n");
}

int sdp_ice_write(struct buf *b, const struct media_ice *ice,
		  unsigned components)
{
	int err = buf_print(b, "a=ice-ufrag:%s\r\na=ice-pwd:%s\r\n", ice->ufrag,
			    ice->pwd);

	for (size_t i = 0; !err && i < ice->candidate_count; i++) {
		if (ice->candidates[i].component <= components)
			err = candidate_write(b, &ice->candidates[i]);
	}
	return err;
}

/* ---- offer and answer ---- */

static bool addr_same(const struct media_addr *a, const struct media_addr *b)
{
	const struct sockaddr_in *a4 = (const void *)&a->ss;
	const struct sockaddr_in *b4 = (const void *)&b->ss;
	const struct sockaddr_in6 *a6 = (const void *)&a->ss;
	const struct sockaddr_in6 *b6 = (const void *)&b->ss;

	if (a->len == 0 || b->len == 0 || a->ss.ss_family != b->ss.ss_family)
		return a->len == b->len;
	if (a->ss.ss_family == AF_INET)
		return a4->sin_port == b4->sin_port &&
		       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

static bool is_candidate(const struct media_ice *ice,
			 const struct media_addr *addr)
{
	for (size_t i = 0; i < ice->candidate_count; i++) {
		if (addr_same(&ice->candidates[i].addr, addr))
			return true;
	}
	return false;
}

void sdp_ice_settle(struct media_negotiated *ret, const struct media_ice *peer,
		    const struct media_ice *local, bool ours)
{
	if (!local->ufrag[0] || !peer->ufrag[0] || !peer->pwd[0])
		return;
	/* candidates, but none is the default address: an intermediary
	 * without ICE has changed the SDP */
	if (ret->rtp.len > 0 && peer->candidate_count > 0 &&
	    !is_candidate(peer, &ret->rtp)) {
		ret->ice_mismatch = true;
		return;
	}
	ret->ice = true;
	ret->ice_controlling = ours;
	ret->ice_peer = *peer;
}

bool sdp_ice_same(const struct media_negotiated *a,
		  const struct media_negotiated *b)
{
	return a->ice == b->ice && a->ice_mismatch == b->ice_mismatch &&
	       (!a->ice || (strcmp(a->ice_peer.ufrag, b->ice_peer.ufrag) == 0 &&
			    strcmp(a->ice_peer.pwd, b->ice_peer.pwd) == 0 &&
			    a->ice_peer.lite == b->ice_peer.lite));
}
