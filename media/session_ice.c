#include "media/session_ice.h"

#include "base/clock.h"
#include "media/engine.h"
#include "media/session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* ---- the list of those that are due now and then ---- */

static void list_add(struct media_session *s)
{
	struct media_engine *e = s->engine;

	s->ice.begun = true;
	s->ice.next = e->checking;
	e->checking = s;
	/* relaxed: the analysis only wakes us a bit too late */
	atomic_fetch_add_explicit(&e->ticking, 1, memory_order_relaxed);
	engine_wake(e->records_fd);
}

static void list_remove(struct media_session *s)
{
	struct media_engine *e = s->engine;

	if (!s->ice.begun)
		return;
	for (struct media_session **link = &e->checking; *link;
	     link = &(*link)->ice.next) {
		if (*link != s)
			continue;
		*link = s->ice.next;
		break;
	}
	s->ice.begun = false;
	/* relaxed: the analysis only wakes us a bit too often */
	atomic_fetch_sub_explicit(&e->ticking, 1, memory_order_relaxed);
}

/* ---- a session ---- */

static void send_datagram(const struct ice_path *path, const uint8_t *data,
			  size_t bytes, void *arg)
{
	const struct media_session *s = arg;
	int socket = path->component == 1 ? SOCKET_RTP : SOCKET_RTCP;

	/* what is lost is repeated */
	(void)sendto(s->rx.sockets[socket].fd, data, bytes, 0,
		     (const struct sockaddr *)(const void *)&path->peer.ss,
		     path->peer.len);
}

int session_ice_open(struct media_session *s, bool lite)
{
	const struct ice_params params = {
		.lite = lite,
		.send = send_datagram,
		.arg = s,
	};
	const struct media_addr *addrs[] = {&s->local.rtp, &s->local.rtcp};
	int err = ice_new(&s->ice.ice, &params);

	for (uint8_t i = 0; !err && i < MEDIA_ICE_COMPONENTS; i++) {
		const struct media_candidate host = {
			.type = MEDIA_CANDIDATE_HOST,
			.component = (uint8_t)(i + 1),
			.addr = *addrs[i],
		};

		err = ice_candidate_add(s->ice.ice, &host);
	}
	if (err)
		return err;
	s->local.ice = *ice_local(s->ice.ice);
	s->rx.stun = (struct handover_gate){
		.open = true,
		.rate = HANDOVER_STUN_RATE,
	};
	return 0;
}

void session_ice_release(struct media_session *s)
{
	list_remove(s);
	s->ice.ice = ice_free(s->ice.ice);
	explicit_bzero(&s->ice.settled, sizeof(s->ice.settled));
}

static struct media_addr remote_of(const struct ice *ice, uint8_t component)
{
	struct ice_selected pair;

	memset(&pair, 0, sizeof(pair));
	(void)ice_selected(ice, component, &pair);
	return pair.remote.addr;
}

/* RTCP has a component where both have candidates for it (RFC 8445 5.1.1). */
static unsigned components_of(const struct media_negotiated *n)
{
	const struct media_ice *peer = &n->ice_peer;

	if (n->rtcp_mux)
		return 1;
	for (size_t i = 0; i < peer->candidate_count; i++) {
		if (peer->candidates[i].component == 2)
			return 2;
	}
	return 1;
}

int session_ice_settle(struct media_session *s, struct media_negotiated *n)
{
	struct session_ice *i = &s->ice;
	unsigned components = components_of(n);
	int err;

	if (!i->ice)
		return -EINVAL;
	i->settled = *n;
	err = ice_start(i->ice, &n->ice_peer, components, n->ice_controlling,
			clock_mono_ns());
	if (err)
		return err;
	if (!i->begun)
		list_add(s);
	n->rtp = remote_of(i->ice, 1);
	if (n->rtcp_mux)
		n->rtcp = n->rtp;
	else if (components == 2)
		n->rtcp = remote_of(i->ice, 2);
	return 0;
}

void session_ice_input(struct media_session *s, const struct handover *d)
{
	const struct ice_path from = {
		.component = d->rtcp ? 2 : 1,
		.peer = d->source,
	};

	if (s->ice.ice)
		ice_input(s->ice.ice, &from, d->data, d->bytes,
			  clock_mono_ns());
}

/* ---- what came of it ---- */

static void path_fill(struct media_path *path, const struct media_session *s)
{
	const struct ice *ice = s->ice.ice;

	memset(path, 0, sizeof(*path));
	path->controlling = ice_controlling(ice);
	path->lite = s->local.ice.lite;
	if (ice_state(ice) == ICE_FAILED)
		path->reason = ice_reason(ice);
	for (uint8_t i = 0; i < MEDIA_ICE_COMPONENTS; i++) {
		struct ice_selected pair;

		if (!ice_selected(ice, (uint8_t)(i + 1), &pair))
			break;
		path->local[i] = pair.local;
		path->remote[i] = pair.remote;
		path->component_count = i + 1u;
	}
}

/* @return something is to be told */
static bool review(struct media_session *s, int64_t now_ns,
		   struct media_path *path)
{
	struct session_ice *i = &s->ice;
	unsigned version;

	ice_tick(i->ice, now_ns);
	version = ice_version(i->ice);
	if (version == i->version)
		return false;
	/* too many changes at once: the next time */
	if (media_session_apply(s, &i->settled))
		return false;
	i->version = version;
	if (ice_state(i->ice) != ICE_CONNECTED &&
	    ice_state(i->ice) != ICE_FAILED)
		return false;
	path_fill(path, s);
	return true;
}

void session_ice_poll(struct media_engine *e, media_record_h *handler,
		      void *arg)
{
	struct media_session *s = e->checking;
	int64_t now_ns = s ? clock_mono_ns() : 0;

	while (s) {
		struct media_session *next = s->ice.next;
		struct media_path path;

		if (s->stop_given || s->released) {
			list_remove(s);
		} else if (review(s, now_ns, &path)) {
			const struct media_record r = {
				.kind = MEDIA_RECORD_PATH,
				.session = s,
				.mono_ns = now_ns,
				.u.path = &path,
			};

			handler(&r, arg);
			/* the handler may have ended others */
			next = e->checking;
		}
		s = next;
	}
}
