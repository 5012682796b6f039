#include "media/engine/session_dtls.h"

#include "base/clock.h"
#include "media/engine/media_engine.h"
#include "media/engine/media_session.h"
#include "media/security/srtp_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DTLS_RECORD_BYTES      13 /* its header */
#define DTLS_CONTENT_HANDSHAKE 22
#define DTLS_CLIENT_HELLO      1

/* ---- the list of sessions with a handshake under way ---- */

static void list_remove(struct media_session *s)
{
	struct media_engine *e = s->engine;

	for (struct media_session **link = &e->handshakes; *link;
	     link = &(*link)->dtls.next) {
		if (*link != s)
			continue;
		*link = s->dtls.next;
		break;
	}
	s->dtls.listed = false;
	/* relaxed: the analysis only wakes us a bit too often */
	atomic_fetch_sub_explicit(&e->ticking, 1, memory_order_relaxed);
}

static void list_add(struct media_session *s)
{
	struct media_engine *e = s->engine;

	s->dtls.listed = true;
	s->dtls.next = e->handshakes;
	e->handshakes = s;
	atomic_fetch_add_explicit(&e->ticking, 1, memory_order_relaxed);
}

/* Is it where it belongs? */
static void list_review(struct media_session *s)
{
	bool wanted = false;

	for (int i = 0; i < SOCKET_COUNT; i++)
		wanted |= s->dtls.associations[i].under_way;
	if (wanted && !s->dtls.listed)
		list_add(s);
	else if (!wanted && s->dtls.listed)
		list_remove(s);
}

/* ---- an association ---- */

void session_dtls_open(struct media_session *s)
{
	for (int i = 0; i < SOCKET_COUNT; i++) {
		s->dtls.associations[i].session = s;
		s->dtls.associations[i].rtcp = i == SOCKET_RTCP;
	}
}

static const struct media_addr *peer_of(const struct dtls_association *a)
{
	const struct media_negotiated *n = &a->session->dtls.settled;

	return a->rtcp ? &n->rtcp : &n->rtp;
}

/* Over the pair that ICE has selected it need not come (RFC 8445 12.2). */
static bool from_peer(const struct dtls_association *a,
		      const struct handover *d)
{
	const struct media_negotiated *n = &a->session->dtls.settled;
	const struct media_ice *ice = &n->ice_peer;
	bool known = media_addr_equal(peer_of(a), &d->source);

	for (size_t i = 0; !known && n->ice && i < ice->candidate_count; i++)
		known = media_addr_equal(&ice->candidates[i].addr, &d->source);
	return known;
}

static void send_datagram(const uint8_t *data, size_t bytes, void *arg)
{
	const struct dtls_association *a = arg;
	const struct ice_path to = {
		.component = a->rtcp ? 2 : 1,
		.relayed = session_nat_relayed(
			a->session, a->rtcp ? SOCKET_RTCP : SOCKET_RTP),
		.peer = *peer_of(a),
	};

	session_nat_send(a->session, &to, data, bytes);
}

static void input(struct dtls_association *a, const struct handover *d)
{
	a->session->engine->dtls_refused +=
		dtls_input(a->dtls, d->data, d->bytes);
}

static void early_forget(struct dtls_association *a)
{
	free(a->early);
	a->early = NULL;
	a->early_count = 0;
}

static int begin(struct dtls_association *a)
{
	struct media_session *s = a->session;
	enum media_srtp_suite all[MEDIA_SRTP_SUITE_COUNT];
	struct dtls_params params = {
		.client = s->dtls.settled.dtls_active,
		.peer = s->dtls.settled.fingerprint,
		.suites = s->suite_count ? s->suites : all,
		.suite_count = s->suite_count ? s->suite_count
					      : MEDIA_SRTP_SUITE_COUNT,
		.send = send_datagram,
		.arg = a,
	};
	int err;

	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++)
		all[i] = (enum media_srtp_suite)i;
	err = dtls_new(&a->dtls, s->engine->identity, &params);
	if (err)
		return err;
	a->active = params.client;
	a->expects = false;
	a->under_way = true;
	a->until_ns = clock_mono_ns() + DTLS_PATIENCE_NS;
	list_review(s);
	for (size_t i = 0; i < a->early_count; i++) {
		if (from_peer(a, &a->early[i]))
			input(a, &a->early[i]);
	}
	early_forget(a);
	wake_fd_signal(s->engine->records_fd);
	return 0;
}

static bool same_fingerprint(const struct media_fingerprint *a,
			     const struct media_fingerprint *b)
{
	return a->len == b->len && strcmp(a->hash, b->hash) == 0 &&
	       memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* What was agreed on before is of no more use. */
static void forget(struct dtls_association *a)
{
	a->dtls = dtls_free(a->dtls);
	a->under_way = false;
	a->secured = false;
	a->expects = false;
	list_review(a->session);
}

/* Is there an association that offer and answer leave in force? */
static bool goes_on(struct dtls_association *a,
		    const struct media_negotiated *n)
{
	bool turned = n->dtls_active != a->active;

	if (!a->dtls ||
	    !same_fingerprint(&a->session->dtls.settled.fingerprint,
			      &n->fingerprint) ||
	    (turned && (n->dtls_active || !a->secured)))
		return false;
	a->expects = turned;
	return true;
}

int session_dtls_settle(struct media_session *s,
			const struct media_negotiated *n)
{
	int err = 0;

	if (s->local.encryption != MEDIA_ENCRYPTION_DTLS)
		return -EINVAL;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &s->dtls.associations[i];
		bool unused = a->rtcp && n->rtcp_mux;

		if (unused)
			early_forget(a);
		if (unused || !goes_on(a, n))
			forget(a);
	}
	s->dtls.settled = *n;
	for (int i = 0; !err && i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &s->dtls.associations[i];

		if (!a->dtls && peer_of(a)->len > 0 &&
		    !session_ice_awaited(s, a->rtcp ? 2 : 1) &&
		    !(a->rtcp && n->rtcp_mux))
			err = begin(a);
	}
	return err;
}

void session_dtls_release(struct media_session *s)
{
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &s->dtls.associations[i];

		if (!a->session)
			continue; /* not opened */
		early_forget(a);
		forget(a);
		explicit_bzero(&a->tx, sizeof(a->tx));
		explicit_bzero(&a->rx, sizeof(a->rx));
	}
	explicit_bzero(&s->dtls.settled, sizeof(s->dtls.settled));
}

static void keep_early(struct dtls_association *a, const struct handover *d)
{
	if (!a->early)
		a->early = calloc(DTLS_EARLY_MAX, sizeof(*d));
	if (a->early && a->early_count < DTLS_EARLY_MAX)
		a->early[a->early_count++] = *d;
}

/* A record of epoch 0 that begins with a ClientHello (RFC 6347 4.1, 4.2.2) */
static bool is_hello(const struct handover *d)
{
	return d->bytes > DTLS_RECORD_BYTES &&
	       d->data[0] == DTLS_CONTENT_HANDSHAKE && d->data[3] == 0 &&
	       d->data[4] == 0 &&
	       d->data[DTLS_RECORD_BYTES] == DTLS_CLIENT_HELLO;
}

/* The peer does begin anew. Without keys nothing is sent until it has. */
static void begin_anew(struct dtls_association *a)
{
	struct media_negotiated n = a->session->dtls.settled;

	forget(a);
	/* without memory there is no handshake, which its patience tells */
	if (begin(a) == 0)
		(void)media_session_apply(a->session, &n);
}

void session_dtls_input(struct media_session *s, const struct handover *d)
{
	struct dtls_association *a =
		&s->dtls.associations[d->rtcp ? SOCKET_RTCP : SOCKET_RTP];

	if (a->expects && from_peer(a, d) && is_hello(d))
		begin_anew(a);
	if (!a->dtls)
		keep_early(a, d);
	else if (from_peer(a, d))
		input(a, d);
	else
		s->engine->dtls_dropped++;
}

/* ---- its end ---- */

static void done(struct dtls_association *a, struct media_record *r)
{
	struct media_negotiated n = a->session->dtls.settled;
	int err = dtls_keys(a->dtls, &a->tx, &a->rx);

	if (!err) {
		a->secured = true;
		err = media_session_apply(a->session, &n);
	}
	if (err) {
		r->u.secured.reason = strerror(-err);
		return;
	}
	r->u.secured.suite = srtp_suite_info(a->tx.suite)->name;
}

/* @return something is to be told */
static bool review(struct dtls_association *a, int64_t now_ns,
		   struct media_record *r)
{
	dtls_tick(a->dtls);
	memset(r, 0, sizeof(*r));
	r->kind = MEDIA_RECORD_SECURED;
	r->session = a->session;
	r->mono_ns = now_ns;
	if (!a->session->dtls.settled.rtcp_mux)
		r->u.secured.port = a->rtcp ? "RTCP" : "RTP";
	if (now_ns >= a->until_ns)
		dtls_give_up(a->dtls);
	if (dtls_state(a->dtls) == DTLS_DONE)
		done(a, r);
	else if (dtls_state(a->dtls) == DTLS_FAILED)
		r->u.secured.reason = dtls_reason(a->dtls);
	else
		return false;
	a->under_way = false;
	list_review(a->session);
	return true;
}

/* @return one of its associations has ended, well or not */
static bool session_review(struct media_session *s, int64_t now_ns,
			   struct media_record *r)
{
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct dtls_association *a = &s->dtls.associations[i];

		if (a->under_way && review(a, now_ns, r))
			return true;
	}
	return false;
}

void session_dtls_poll(struct media_engine *e, media_record_h *handler,
		       void *arg)
{
	struct media_session *s = e->handshakes;
	int64_t now_ns = clock_mono_ns();

	while (s) {
		struct media_session *next = s->dtls.next;
		struct media_record r;

		if (session_review(s, now_ns, &r)) {
			if (!s->released && !s->stop_given)
				handler(&r, arg);
			/* it may have ended others, or this one; the other port
			 * may have come to its end too */
			next = e->handshakes;
		}
		s = next;
	}
}
