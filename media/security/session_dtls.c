#include "media/security/session_dtls.h"

#include "base/clock.h"
#include "media/wake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DTLS_RECORD_BYTES      13 /* its header */
#define DTLS_CONTENT_HANDSHAKE 22
#define DTLS_CLIENT_HELLO      1

/* ---- the list of sessions with a handshake under way ---- */

static void list_remove(struct session_dtls *d)
{
	struct dtls_sessions *all = d->all;

	for (struct session_dtls **link = &all->first; *link;
	     link = &(*link)->next) {
		if (*link != d)
			continue;
		*link = d->next;
		break;
	}
	d->listed = false;
	/* relaxed: at worst the analysis thread wakes the loop once too often */
	atomic_fetch_sub_explicit(all->ticking, 1, memory_order_relaxed);
}

static void list_add(struct session_dtls *d)
{
	struct dtls_sessions *all = d->all;

	d->listed = true;
	d->next = all->first;
	all->first = d;
	atomic_fetch_add_explicit(all->ticking, 1, memory_order_relaxed);
}

/* Put it into the list, or take it out, as its associations want. */
static void list_review(struct session_dtls *d)
{
	bool wanted = false;

	for (int i = 0; i < SOCKET_COUNT; i++)
		wanted |= d->associations[i].under_way && !d->stopped;
	if (wanted && !d->listed)
		list_add(d);
	else if (!wanted && d->listed)
		list_remove(d);
}

/* ---- its beginning ---- */

void dtls_sessions_free(struct dtls_sessions *all)
{
	all->identity = dtls_identity_free(all->identity);
}

int session_dtls_open(struct session_dtls *d,
		      const struct session_dtls_params *params,
		      struct media_fingerprint *ret)
{
	struct dtls_sessions *all = params->all;
	size_t count = params->suite_count ? params->suite_count
					   : MEDIA_SRTP_SUITE_COUNT;
	/* One certificate an engine process: a job is short. */
	int err = all->identity ? 0 : dtls_identity_new(&all->identity);

	if (err)
		return err;
	d->all = all;
	d->handlers = params->handlers;
	d->session = params->session;
	d->settled = params->settled;
	for (size_t i = 0; i < count; i++)
		d->suites[i] = params->suite_count ? params->suites[i]
						   : (enum media_srtp_suite)i;
	d->suite_count = count;
	for (unsigned i = 0; i < SOCKET_COUNT; i++) {
		d->associations[i].owner = d;
		d->associations[i].socket = i;
	}
	*ret = *dtls_identity_fingerprint(all->identity);
	return 0;
}

/* ---- an association ---- */

/* Is it from the peer? Before ICE has selected a pair it may come from any of
 * its candidates (RFC 8445 section 12.2). */
static bool from_peer(const struct dtls_association *a,
		      const struct handover *datagram)
{
	const struct media_negotiated *n = a->owner->settled;
	const struct media_ice *ice = &n->ice_peer;
	bool known = media_addr_equal(&a->peer, &datagram->source);

	for (size_t i = 0; !known && n->ice && i < ice->candidate_count; i++)
		known = media_addr_equal(&ice->candidates[i].addr,
					 &datagram->source);
	return known;
}

static void send_datagram(const uint8_t *data, size_t bytes, void *arg)
{
	const struct dtls_association *a = arg;
	const struct session_dtls *d = a->owner;

	d->handlers->send(d->session, a->socket, &a->peer, data, bytes);
}

static void input(struct dtls_association *a, const struct handover *datagram)
{
	a->owner->all->refused +=
		dtls_input(a->dtls, datagram->data, datagram->bytes);
}

static void early_free(struct dtls_association *a)
{
	free(a->early);
	a->early = NULL;
	a->early_count = 0;
}

static int begin(struct dtls_association *a, bool active)
{
	struct session_dtls *d = a->owner;
	const struct dtls_params params = {
		.client = active,
		.peer = a->fingerprint,
		.suites = d->suites,
		.suite_count = d->suite_count,
		.send = send_datagram,
		.arg = a,
	};
	int err = dtls_new(&a->dtls, d->all->identity, &params);

	if (err)
		return err;
	a->active = active;
	a->expects = false;
	a->under_way = true;
	a->until_ns = clock_mono_ns() + DTLS_PATIENCE_NS;
	list_review(d);
	for (size_t i = 0; i < a->early_count; i++) {
		if (from_peer(a, &a->early[i]))
			input(a, &a->early[i]);
	}
	early_free(a);
	wake_fd_signal(d->all->loop_fd);
	return 0;
}

static bool same_fingerprint(const struct media_fingerprint *a,
			     const struct media_fingerprint *b)
{
	return a->len == b->len && strcmp(a->hash, b->hash) == 0 &&
	       memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* Drop the association: its keys are no longer in force. */
static void drop(struct dtls_association *a)
{
	a->dtls = dtls_free(a->dtls);
	a->under_way = false;
	a->secured = false;
	a->expects = false;
	list_review(a->owner);
}

/* Do offer and answer leave the association in force? */
static bool goes_on(struct dtls_association *a,
		    const struct media_negotiated *n)
{
	bool turned = n->dtls_active != a->active;

	if (!a->dtls || !same_fingerprint(&a->fingerprint, &n->fingerprint) ||
	    (turned && (n->dtls_active || !a->secured)))
		return false;
	a->expects = turned;
	return true;
}

int session_dtls_settle(struct session_dtls *d,
			const struct media_negotiated *n,
			const bool waits[static SOCKET_COUNT])
{
	int err = 0;

	if (!d->all)
		return -EINVAL;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &d->associations[i];
		bool unused = i == SOCKET_RTCP && n->rtcp_mux;

		if (unused)
			early_free(a);
		if (unused || !goes_on(a, n))
			drop(a);
		a->peer = i == SOCKET_RTCP ? n->rtcp : n->rtp;
		a->fingerprint = n->fingerprint;
	}
	for (int i = 0; !err && i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &d->associations[i];

		if (!a->dtls && a->peer.len > 0 && !waits[i] &&
		    !(i == SOCKET_RTCP && n->rtcp_mux))
			err = begin(a, n->dtls_active);
	}
	return err;
}

bool session_dtls_keys(const struct session_dtls *d, unsigned socket,
		       const struct media_crypto **ret_rx,
		       const struct media_crypto **ret_tx)
{
	const struct dtls_association *a = &d->associations[socket];

	if (!a->secured)
		return false;
	*ret_rx = &a->rx;
	*ret_tx = &a->tx;
	return true;
}

void session_dtls_stop(struct session_dtls *d)
{
	if (!d->all)
		return;
	d->stopped = true;
	list_review(d);
}

void session_dtls_release(struct session_dtls *d)
{
	if (!d->all)
		return;
	session_dtls_stop(d);
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &d->associations[i];

		early_free(a);
		drop(a);
		explicit_bzero(&a->tx, sizeof(a->tx));
		explicit_bzero(&a->rx, sizeof(a->rx));
	}
}

static void keep_early(struct dtls_association *a,
		       const struct handover *datagram)
{
	if (!a->early)
		a->early = calloc(DTLS_EARLY_MAX, sizeof(*datagram));
	if (a->early && a->early_count < DTLS_EARLY_MAX)
		a->early[a->early_count++] = *datagram;
}

/* A record of epoch 0 that begins with a ClientHello (RFC 6347 4.1, 4.2.2) */
static bool is_hello(const struct handover *datagram)
{
	const uint8_t *data = datagram->data;

	return datagram->bytes > DTLS_RECORD_BYTES &&
	       data[0] == DTLS_CONTENT_HANDSHAKE && data[3] == 0 &&
	       data[4] == 0 && data[DTLS_RECORD_BYTES] == DTLS_CLIENT_HELLO;
}

/* The peer begins a new handshake. Nothing is sent until it has given keys. */
static void begin_anew(struct dtls_association *a)
{
	struct session_dtls *d = a->owner;

	drop(a);
	/* if begin() fails for want of memory, the peer's handshake times out */
	if (begin(a, d->settled->dtls_active) == 0)
		(void)d->handlers->apply(d->session);
}

void session_dtls_input(struct session_dtls *d, const struct handover *datagram)
{
	struct dtls_association *a =
		&d->associations[datagram->rtcp ? SOCKET_RTCP : SOCKET_RTP];

	if (!d->all)
		return;
	if (a->expects && from_peer(a, datagram) && is_hello(datagram))
		begin_anew(a);
	if (!a->dtls)
		keep_early(a, datagram);
	else if (from_peer(a, datagram))
		input(a, datagram);
	else
		d->all->dropped++;
}

/* ---- its end ---- */

static void finish(struct dtls_association *a, struct media_record *r)
{
	struct session_dtls *d = a->owner;
	int err = dtls_keys(a->dtls, &a->tx, &a->rx);

	if (!err) {
		a->secured = true;
		err = d->handlers->apply(d->session);
	}
	if (err) {
		r->u.secured.reason = strerror(-err);
		return;
	}
	r->u.secured.suite = media_srtp_suite_name(a->tx.suite);
}

/* @return the handshake has ended: *r reports it */
static bool review(struct dtls_association *a, int64_t now_ns,
		   struct media_record *r)
{
	struct session_dtls *d = a->owner;

	dtls_tick(a->dtls);
	memset(r, 0, sizeof(*r));
	r->kind = MEDIA_RECORD_SECURED;
	r->session = d->session;
	r->mono_ns = now_ns;
	if (!d->settled->rtcp_mux)
		r->u.secured.port = a->socket == SOCKET_RTCP ? "RTCP" : "RTP";
	if (now_ns >= a->until_ns)
		dtls_give_up(a->dtls);
	if (dtls_state(a->dtls) == DTLS_DONE)
		finish(a, r);
	else if (dtls_state(a->dtls) == DTLS_FAILED)
		r->u.secured.reason = dtls_reason(a->dtls);
	else
		return false;
	a->under_way = false;
	list_review(d);
	return true;
}

/* @return one of its handshakes has ended: *r reports it */
static bool session_review(struct session_dtls *d, int64_t now_ns,
			   struct media_record *r)
{
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &d->associations[i];

		if (a->under_way && review(a, now_ns, r))
			return true;
	}
	return false;
}

void session_dtls_poll(struct dtls_sessions *all, media_record_h *handler,
		       void *arg)
{
	struct session_dtls *d = all->first;
	int64_t now_ns = clock_mono_ns();

	while (d) {
		struct session_dtls *next = d->next;
		struct media_record r;

		if (session_review(d, now_ns, &r)) {
			handler(&r, arg);
			/* The handler may have stopped or freed any of them,
			 * and the other port's handshake may have ended too. */
			next = all->first;
		}
		d = next;
	}
}
