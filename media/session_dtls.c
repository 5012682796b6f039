#include "media/session_dtls.h"

#include "base/clock.h"
#include "media/engine.h"
#include "media/session.h"
#include "media/srtp_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DTLS_RECORD_BYTES      13 /* its header */
#define DTLS_CONTENT_HANDSHAKE 22
#define DTLS_CLIENT_HELLO      1

/* ---- the list of handshakes under way ---- */

static void list_remove(struct media_session *s)
{
	struct media_engine *e = s->engine;

	for (struct media_session **link = &e->handshakes; *link;
	     link = &(*link)->dtls.next) {
		if (*link != s)
			continue;
		*link = s->dtls.next;
		/* relaxed: the analysis only wakes us a bit too often */
		atomic_fetch_sub_explicit(&e->ticking, 1, memory_order_relaxed);
		return;
	}
}

static void list_add(struct media_session *s)
{
	struct media_engine *e = s->engine;

	s->dtls.next = e->handshakes;
	e->handshakes = s;
	atomic_fetch_add_explicit(&e->ticking, 1, memory_order_relaxed);
}

/* ---- a session ---- */

static void send_datagram(const uint8_t *data, size_t bytes, void *arg)
{
	const struct media_session *s = arg;
	const struct ice_path to = {
		.component = 1,
		.relayed = session_nat_relayed(s, SOCKET_RTP),
		.peer = s->dtls.settled.rtp,
	};

	session_nat_send(s, &to, data, bytes);
}

static bool from_peer(const struct media_session *s, const struct handover *d)
{
	return media_addr_equal(&s->dtls.settled.rtp, &d->source);
}

static int begin(struct media_session *s)
{
	enum media_srtp_suite all[MEDIA_SRTP_SUITE_COUNT];
	struct dtls_params params = {
		.client = s->dtls.settled.dtls_active,
		.peer = s->dtls.settled.fingerprint,
		.suites = s->suite_count ? s->suites : all,
		.suite_count = s->suite_count ? s->suite_count
					      : MEDIA_SRTP_SUITE_COUNT,
		.send = send_datagram,
		.arg = s,
	};
	int err;

	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++)
		all[i] = (enum media_srtp_suite)i;
	err = dtls_new(&s->dtls.dtls, s->engine->identity, &params);
	if (err)
		return err;
	s->dtls.active = params.client;
	s->dtls.expects = false;
	s->dtls.until_ns = clock_mono_ns() + DTLS_PATIENCE_NS;
	list_add(s);
	for (size_t i = 0; i < s->dtls.early_count; i++) {
		if (from_peer(s, &s->dtls.early[i]))
			dtls_input(s->dtls.dtls, s->dtls.early[i].data,
				   s->dtls.early[i].bytes);
	}
	free(s->dtls.early);
	s->dtls.early = NULL;
	s->dtls.early_count = 0;
	engine_wake(s->engine->records_fd);
	return 0;
}

static bool same_fingerprint(const struct media_fingerprint *a,
			     const struct media_fingerprint *b)
{
	return a->len == b->len && strcmp(a->hash, b->hash) == 0 &&
	       memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* What was agreed on before is of no more use. */
static void forget(struct media_session *s)
{
	list_remove(s);
	s->dtls.dtls = dtls_free(s->dtls.dtls);
	s->dtls.secured = false;
}

/* Is there an association that offer and answer leave in force? */
static bool goes_on(struct session_dtls *d, const struct media_negotiated *n)
{
	bool turned = n->dtls_active != d->active;

	if (!d->dtls ||
	    !same_fingerprint(&d->settled.fingerprint, &n->fingerprint) ||
	    (turned && (n->dtls_active || !d->secured)))
		return false;
	d->expects = turned;
	return true;
}

int session_dtls_settle(struct media_session *s, struct media_negotiated *n)
{
	struct session_dtls *d = &s->dtls;

	if (s->local.encryption != MEDIA_ENCRYPTION_DTLS)
		return -EINVAL;
	if (!goes_on(d, n))
		forget(s);
	d->settled = *n;
	if (!d->dtls && n->rtp.len > 0) {
		int err = begin(s);

		if (err)
			return err;
	}
	if (d->secured) {
		n->crypto_tx = d->tx;
		n->crypto_rx = d->rx;
	}
	return 0;
}

void session_dtls_release(struct media_session *s)
{
	list_remove(s);
	dtls_free(s->dtls.dtls);
	free(s->dtls.early);
	explicit_bzero(&s->dtls.tx, sizeof(s->dtls.tx));
	explicit_bzero(&s->dtls.rx, sizeof(s->dtls.rx));
	explicit_bzero(&s->dtls.settled, sizeof(s->dtls.settled));
}

static void keep_early(struct media_session *s, const struct handover *d)
{
	if (!s->dtls.early)
		s->dtls.early = calloc(DTLS_EARLY_MAX, sizeof(*d));
	if (s->dtls.early && s->dtls.early_count < DTLS_EARLY_MAX)
		s->dtls.early[s->dtls.early_count++] = *d;
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
static void begin_anew(struct media_session *s)
{
	struct media_negotiated n = s->dtls.settled;

	forget(s);
	/* without memory there is no handshake, which its patience tells */
	if (begin(s) == 0)
		(void)media_session_apply(s, &n);
}

void session_dtls_input(struct media_session *s, const struct handover *d)
{
	if (s->dtls.expects && from_peer(s, d) && is_hello(d))
		begin_anew(s);
	if (!s->dtls.dtls)
		keep_early(s, d);
	else if (from_peer(s, d))
		dtls_input(s->dtls.dtls, d->data, d->bytes);
	else
		COUNTER_ADD(&s->engine->rx.dtls_dropped, 1);
}

/* ---- its end ---- */

static void done(struct media_session *s, struct media_record *r)
{
	struct media_negotiated n = s->dtls.settled;
	int err = dtls_keys(s->dtls.dtls, &s->dtls.tx, &s->dtls.rx);

	if (!err) {
		s->dtls.secured = true;
		err = media_session_apply(s, &n);
	}
	if (err) {
		r->u.secured.reason = strerror(-err);
		return;
	}
	r->u.secured.suite = srtp_suite_info(s->dtls.tx.suite)->name;
}

/* @return something is to be told */
static bool review(struct media_session *s, int64_t now_ns,
		   struct media_record *r)
{
	struct dtls *d = s->dtls.dtls;

	dtls_tick(d);
	memset(r, 0, sizeof(*r));
	r->kind = MEDIA_RECORD_SECURED;
	r->session = s;
	r->mono_ns = now_ns;
	if (dtls_state(d) == DTLS_DONE)
		done(s, r);
	else if (dtls_state(d) == DTLS_FAILED)
		r->u.secured.reason = dtls_reason(d);
	else if (now_ns >= s->dtls.until_ns)
		r->u.secured.reason =
			"the peer does not finish the DTLS handshake";
	else
		return false;
	return true;
}

void session_dtls_poll(struct media_engine *e, media_record_h *handler,
		       void *arg)
{
	struct media_session *s = e->handshakes;
	int64_t now_ns = clock_mono_ns();

	while (s) {
		struct media_session *next = s->dtls.next;
		struct media_record r;

		if (review(s, now_ns, &r)) {
			list_remove(s);
			if (!s->released && !s->stop_given)
				handler(&r, arg);
			/* the handler may have ended others */
			next = e->handshakes;
		}
		s = next;
	}
}
