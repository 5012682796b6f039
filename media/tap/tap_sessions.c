#include "media/tap/tap_sessions.h"

#include "base/str.h"
#include "capture/datagram.h"
#include "capture/fragments.h"
#include "capture/tap.h"
#include "media/socket.h"
#include "media/tap/tap_paths.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAPS_MAX   2 /* the interface, and loopback */
#define PORT_COUNT 65536
#define RING_BYTES (8u << 20) /* of each */

/* A datagram of a port without a session. */
struct kept {
	uint16_t port; /* of the program; 0: free */
	bool sent;
	int64_t ns;
	struct media_addr peer;
	size_t captured;
	size_t bytes;
	uint8_t data[TAP_SESSIONS_KEPT_BYTES];
};

/* A session whose port is unknown yet. */
struct pending {
	uint32_t session; /* 0: free */
	bool rtcp;
	struct media_addr address;
};

struct tap_sessions {
	struct address address; /* of the other program */
	uint16_t port_min;      /* of its RTP and RTCP */
	uint16_t port_max;
	struct fragments fragments;
	struct tap_paths paths;
	struct pending pending[TAP_SESSIONS_PENDING_MAX]; /* a ring */
	size_t pending_next;
	struct tap *taps[TAPS_MAX];
	uint64_t dropped[TAPS_MAX]; /* reported already */
	size_t tap_count;
	struct {
		uint32_t session; /* 0: none */
		bool rtcp;
	} ports[PORT_COUNT];
	struct kept kept[TAP_SESSIONS_KEPT_MAX]; /* a ring */
	size_t kept_next;
	int64_t newest_ns;      /* time of the last datagram */
	tap_session_h *handler; /* during tap_sessions_read() */
	void *arg;
};

static bool address_of(struct address *ret, const struct sockaddr *sa)
{
	if (sa && sa->sa_family == AF_INET) {
		address_set_ipv4(
			ret, (const uint8_t *)&((const struct sockaddr_in *)sa)
				     ->sin_addr);
		return true;
	}
	if (sa && sa->sa_family == AF_INET6) {
		memcpy(ret->bytes,
		       &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
		return true;
	}
	return false;
}

/* Names of the interface with the address, and of the loopback interface. */
static int interfaces_find(const struct address *want,
			   char names[TAPS_MAX][IF_NAMESIZE])
{
	struct ifaddrs *all;
	struct address a;

	names[0][0] = '\0';
	names[1][0] = '\0';
	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (i->ifa_flags & IFF_LOOPBACK)
			(void)str_copy(names[1], IF_NAMESIZE, i->ifa_name);
		if (address_of(&a, i->ifa_addr) &&
		    memcmp(&a, want, sizeof(a)) == 0)
			(void)str_copy(names[0], IF_NAMESIZE, i->ifa_name);
	}
	freeifaddrs(all);
	/* the address is the loopback interface's own: one tap sees all */
	if (strcmp(names[0], names[1]) == 0)
		names[1][0] = '\0';
	return names[0][0] ? 0 : -EADDRNOTAVAIL;
}

static int taps_open(struct tap_sessions *t, const struct filter *filter,
		     char *reason)
{
	char names[TAPS_MAX][IF_NAMESIZE];
	int err = interfaces_find(&t->address, names);

	if (err)
		snprintf(reason, TAP_REASON_BYTES,
			 "no network interface has the agent's address");
	for (size_t i = 0; !err && i < TAPS_MAX; i++) {
		const struct tap_params params = {
			.interface = names[i],
			.filter = filter,
			.ring_bytes = RING_BYTES,
		};

		if (!names[i][0])
			continue;
		err = tap_open(&t->taps[t->tap_count], &params, reason);
		if (!err)
			t->tap_count++;
	}
	return err;
}

int tap_sessions_new(struct tap_sessions **ret,
		     const struct media_addr *address, uint16_t port_min,
		     uint16_t port_max, char *reason)
{
	struct tap_sessions *t = calloc(1, sizeof(*t));
	char filter_reason[FILTER_REASON_BYTES];
	char host[ADDRESS_TEXT_BYTES];
	char text[128];
	struct filter *filter = NULL;
	int err;

	if (!t)
		return -ENOMEM;
	if (!address_of(&t->address, (const struct sockaddr *)&address->ss)) {
		free(t);
		return -EINVAL;
	}
	address_text(&t->address, host);
	t->port_min = port_min;
	/* RTCP may use the port above */
	t->port_max =
		port_max < UINT16_MAX ? (uint16_t)(port_max + 1) : port_max;
	(void)str_print(text, sizeof(text),
			"udp and host %s and portrange %u-%u", host,
			t->port_min, t->port_max);
	err = filter_new(&filter, text, filter_reason);
	if (err)
		snprintf(reason, TAP_REASON_BYTES, "filter \"%s\": %s", text,
			 strerror(-err));
	else
		err = taps_open(t, filter, reason);
	filter_free(filter);
	if (err)
		return tap_sessions_free(t), err;
	*ret = t;
	return 0;
}

struct tap_sessions *tap_sessions_free(struct tap_sessions *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->tap_count; i++)
		tap_close(t->taps[i]);
	fragments_release(&t->fragments);
	free(t);
	return NULL;
}

size_t tap_sessions_fds(const struct tap_sessions *t, int ret[2])
{
	for (size_t i = 0; i < t->tap_count; i++)
		ret[i] = tap_fd(t->taps[i]);
	return t->tap_count;
}

static void peer_set(struct media_addr *ret, const struct address *a,
		     uint16_t port, bool v4)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->ss;

	memset(ret, 0, sizeof(*ret));
	if (v4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->bytes + 12, 4);
		ret->len = sizeof(*in);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		memcpy(&in6->sin6_addr, a->bytes, 16);
		ret->len = sizeof(*in6);
	}
}

static bool is_v4(const struct address *a)
{
	struct address mapped;

	address_set_ipv4(&mapped, a->bytes + 12);
	return memcmp(&mapped, a, sizeof(mapped)) == 0;
}

static void keep(struct tap_sessions *t, const struct tap_session *r,
		 uint16_t port)
{
	struct kept *k = &t->kept[t->kept_next];

	t->kept_next = (t->kept_next + 1) % TAP_SESSIONS_KEPT_MAX;
	k->port = port;
	k->sent = r->sent;
	k->ns = r->ns;
	k->peer = r->peer;
	k->bytes = r->bytes;
	k->captured = r->captured < TAP_SESSIONS_KEPT_BYTES
			      ? r->captured
			      : TAP_SESSIONS_KEPT_BYTES;
	memcpy(k->data, r->data, k->captured);
}

/* Hand out the kept datagrams of a port in their order. */
static void claim(struct tap_sessions *t, uint16_t port)
{
	for (size_t i = 0; i < TAP_SESSIONS_KEPT_MAX; i++) {
		struct kept *k =
			&t->kept[(t->kept_next + i) % TAP_SESSIONS_KEPT_MAX];
		const struct tap_session r = {
			.session = t->ports[port].session,
			.sent = k->sent,
			.rtcp = t->ports[port].rtcp,
			.ns = k->ns,
			.peer = k->peer,
			.data = k->data,
			.captured = k->captured,
			.bytes = k->bytes,
		};

		if (k->port != port)
			continue;
		k->port = 0;
		if (k->ns > t->newest_ns - TAP_SESSIONS_KEPT_NS)
			t->handler(&r, t->arg);
	}
}

static void port_assign(struct tap_sessions *t, uint16_t port, bool rtcp,
			uint32_t session)
{
	for (size_t i = t->port_min; i <= t->port_max; i++) {
		if (t->ports[i].session == session && t->ports[i].rtcp == rtcp)
			t->ports[i].session = 0;
	}
	t->ports[port].session = session;
	t->ports[port].rtcp = rtcp;
	claim(t, port);
}

/* The port of the program with this address. @return 0: unknown */
static uint16_t port_of(const struct tap_sessions *t,
			const struct media_addr *a)
{
	struct address own;

	uint16_t port;

	if (address_of(&own, (const struct sockaddr *)&a->ss) &&
	    memcmp(&own, &t->address, sizeof(own)) == 0)
		port = media_addr_port(a);
	else
		port = tap_paths_port(&t->paths, a);
	return port >= t->port_min && port <= t->port_max ? port : 0;
}

/* A mapped address was learned: sessions may wait for it. */
static void pending_resolve(struct tap_sessions *t)
{
	for (size_t i = 0; i < TAP_SESSIONS_PENDING_MAX; i++) {
		struct pending *w = &t->pending[i];
		uint32_t session = w->session;
		uint16_t port = session ? port_of(t, &w->address) : 0;

		if (!port)
			continue;
		w->session = 0;
		port_assign(t, port, w->rtcp, session);
	}
}

void tap_sessions_assign(struct tap_sessions *t,
			 const struct media_addr *address, bool rtcp,
			 uint32_t session, tap_session_h *handler, void *arg)
{
	uint16_t port = port_of(t, address);

	for (size_t i = 0; i < TAP_SESSIONS_PENDING_MAX; i++) {
		if (t->pending[i].session == session &&
		    t->pending[i].rtcp == rtcp)
			t->pending[i].session = 0;
	}
	t->handler = handler;
	t->arg = arg;
	if (port) {
		port_assign(t, port, rtcp, session);
		return;
	}
	t->pending[t->pending_next] = (struct pending){session, rtcp, *address};
	t->pending_next = (t->pending_next + 1) % TAP_SESSIONS_PENDING_MAX;
}

void tap_sessions_release(struct tap_sessions *t, uint32_t session)
{
	for (size_t i = 0; i < TAP_SESSIONS_PENDING_MAX; i++) {
		if (t->pending[i].session == session)
			t->pending[i].session = 0;
	}
	for (size_t i = t->port_min; i <= t->port_max; i++) {
		if (t->ports[i].session == session)
			t->ports[i].session = 0;
	}
}

static bool is_own(const struct tap_sessions *t, const struct address *a)
{
	return memcmp(a, &t->address, sizeof(*a)) == 0;
}

/* The kernel passes fragments of all addresses and ports. */
static void take_end(struct tap_sessions *t, const struct datagram *d,
		     int64_t ns, bool sent)
{
	struct tap_paths_datagram w = {
		.port = sent ? d->sport : d->dport,
		.sent = sent,
		.data = d->payload,
		.captured = d->captured,
		.bytes = d->bytes,
	};
	struct tap_session r = {.sent = sent, .ns = ns};

	if (!is_own(t, sent ? &d->src : &d->dst) || w.port < t->port_min ||
	    w.port > t->port_max)
		return;
	peer_set(&w.peer, sent ? &d->dst : &d->src, sent ? d->dport : d->sport,
		 is_v4(&t->address));
	t->newest_ns = ns;
	if (tap_paths_take(&t->paths, &w))
		pending_resolve(t);
	r.session = t->ports[w.port].session;
	r.rtcp = t->ports[w.port].rtcp;
	r.peer = w.peer;
	r.data = w.data;
	r.captured = w.captured;
	r.bytes = w.bytes;
	if (r.session)
		t->handler(&r, t->arg);
	else
		keep(t, &r, w.port);
}

/* A packet between two tapped sessions belongs to both. */
static void take_datagram(struct tap_sessions *t, const struct datagram *d,
			  int64_t ns)
{
	take_end(t, d, ns, true);
	take_end(t, d, ns, false);
}

static void take_whole(enum fragments_fate fate, enum datagram_kind kind,
		       struct datagram *d, int64_t ns, void *arg)
{
	if (fate == FRAGMENTS_WHOLE && kind == DATAGRAM_IS_UDP)
		take_datagram(arg, d, ns);
}

static void take_frame(const struct frame *f, void *arg)
{
	struct tap_sessions *t = arg;
	struct datagram d;
	enum datagram_kind kind = datagram_parse(&d, f);

	if (kind == DATAGRAM_IS_FRAGMENT &&
	    (is_own(t, &d.src) || is_own(t, &d.dst)))
		fragments_take(&t->fragments, &d, f->ns, take_whole, t);
	else if (kind == DATAGRAM_IS_UDP)
		take_datagram(t, &d, f->ns);
}

void tap_sessions_read(struct tap_sessions *t, tap_session_h *handler,
		       void *arg)
{
	t->handler = handler;
	t->arg = arg;
	for (size_t i = 0; i < t->tap_count; i++)
		tap_read(t->taps[i], take_frame, t);
}

uint64_t tap_sessions_drops(struct tap_sessions *t)
{
	uint64_t more = 0;

	for (size_t i = 0; i < t->tap_count; i++) {
		struct tap_counters n;

		tap_counters(t->taps[i], &n);
		more += n.dropped - t->dropped[i];
		t->dropped[i] = n.dropped;
	}
	return more;
}
