/* Convert the result of offer and answer to a command for the media threads. */
#include "media/engine/media_engine.h"

#include <errno.h>
#include <string.h>

static int map_fill(struct rtp_payload_map *map,
		    const struct media_negotiated *n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n->accepted_count; i++) {
		const struct media_codec *c = &n->accepted[i];

		err = rtp_payload_map_add(map, c->pt, c->name, c->clock_hz);
		if (err == -EEXIST)
			err = 0;
	}
	/* a payload type that is already in the map keeps its meaning */
	if (!err)
		err = rtp_payload_map_add(map, n->codec.pt, n->codec.name,
					  n->codec.clock_hz);
	if (n->has_event_pt && (!err || err == -EEXIST))
		err = rtp_payload_map_add(map, n->event_pt, "telephone-event",
					  n->event_clock_hz ? n->event_clock_hz
							    : DTMF_CLOCK_HZ);
	if (!err || err == -EEXIST)
		err = rtp_payload_map_add(map, MEDIA_NOISE_PT, MEDIA_NOISE_NAME,
					  MEDIA_NOISE_CLOCK_HZ);
	return err == -EEXIST ? 0 : err;
}

/* Copy an address of the peer. An unspecified one becomes "not set".
 * @return 0; -EINVAL */
static int addr_take(struct media_addr *ret, const struct media_addr *a)
{
	memset(ret, 0, sizeof(*ret));
	if (a->len == 0)
		return 0;
	if (!media_addr_valid(a) || media_addr_port(a) == 0)
		return -EINVAL;
	if (!media_addr_unspecified(a))
		*ret = *a;
	return 0;
}

/* Fill in codec and packet time, and what to play. */
static int codec_fill(struct media_session *s, struct command *c,
		      const struct media_negotiated *n, uint16_t ptime_ms)
{
	const struct media_codec *settled = &n->codec;
	const struct codec *codec =
		codec_by_rtpmap(settled->name, settled->clock_hz);

	if (!codec || settled->pt > PACKET_PT_MASK)
		return -EINVAL;
	if (ptime_ms < CODEC_PTIME_MIN_MS || ptime_ms > CODEC_PTIME_MAX_MS)
		return -EINVAL;
	c->tx.noise_pt = n->noise_pt & PACKET_PT_MASK;
	c->tx.pt = settled->pt;
	c->tx.codec = codec;
	c->tx.ptime_ms = codec_ptime(codec, ptime_ms);
	c->measure.pt = c->tx.pt;
	c->measure.codec = codec;
	c->measure.ptime_ms = c->tx.ptime_ms;
	c->audio.codec = codec;
	if (s->tapped)
		return 0;
	return session_prompt_fill(&s->prompt, c, settled->fmtp,
				   n->has_noise_pt);
}

/* Fill in the keys of one port. */
static int port_keys_fill(struct media_session *s, struct command *c, int port,
			  const struct media_crypto *rx,
			  const struct media_crypto *tx)
{
	enum media_srtp_library library = s->engine->params.srtp_library;
	int err = session_keys_get(&c->rx.keys[port], &s->keys_rx[port], rx,
				   library);

	return err ? err
		   : session_keys_get(&c->tx.keys[port], &s->keys_tx[port], tx,
				      library);
}

static void port_keys_none(struct media_session *s, int port)
{
	session_keys_none(&s->keys_rx[port]);
	session_keys_none(&s->keys_tx[port]);
}

/* Fill in the keys of the handshakes that have finished. */
static int dtls_keys_fill(struct media_session *s, struct command *c,
			  const struct media_negotiated *n)
{
	const struct session_dtls *d = &s->dtls;
	const struct media_crypto *rx;
	const struct media_crypto *tx;
	int err = 0;

	c->rx.rtcp_keyed = !n->rtcp_mux;
	c->tx.rtcp_keyed = !n->rtcp_mux;
	for (int i = 0; !err && i < SOCKET_COUNT; i++) {
		if (session_dtls_keys(d, (unsigned)i, &rx, &tx))
			err = port_keys_fill(s, c, i, rx, tx);
		else
			port_keys_none(s, i);
	}
	if (err || !session_dtls_keys(d, SOCKET_RTP, &rx, &tx))
		return err;
	c->measure.suite_rx = media_srtp_suite_name(rx->suite);
	c->measure.suite_tx = c->measure.suite_rx;
	return 0;
}

/* Call it last: keys that are created here are in force. */
static int keys_fill(struct media_session *s, struct command *c,
		     const struct media_negotiated *n)
{
	int err;

	c->rx.encrypted = n->encrypted;
	c->tx.encrypted = n->encrypted;
	c->audio.encrypted = n->encrypted;
	if (s->tapped) { /* the keys belong to the program */
		if (n->encrypted && !n->dtls) {
			c->measure.suite_rx =
				media_srtp_suite_name(n->crypto_rx.suite);
			c->measure.suite_tx = c->measure.suite_rx;
		}
		return 0;
	}
	if (n->encrypted && n->dtls)
		return dtls_keys_fill(s, c, n);
	port_keys_none(s, SOCKET_RTCP);
	if (!n->encrypted) {
		port_keys_none(s, SOCKET_RTP);
		return 0;
	}
	err = port_keys_fill(s, c, SOCKET_RTP, &n->crypto_rx, &n->crypto_tx);
	if (err)
		return err;
	c->measure.suite_rx = media_srtp_suite_name(n->crypto_rx.suite);
	c->measure.suite_tx = media_srtp_suite_name(n->crypto_tx.suite);
	return 0;
}

/* Get the map of the payload types that the peer may send. */
static int map_get(struct media_session *s, struct command *c,
		   const struct media_negotiated *n)
{
	struct rtp_payload_map map = {.count = 0};
	int err = map_fill(&map, n);

	for (size_t i = 0; !err && i < map.count; i++)
		emodel_declarations_apply(s->engine->params.declarations,
					  map.entries[i].codec,
					  &map.entries[i].values);
	if (!err)
		err = payload_map_get(&c->map, &s->engine->maps, &map);
	c->rx.map = c->map;
	c->measure.map = c->map;
	c->audio.map = c->map;
	return err;
}

static int apply_fill(struct media_session *s, struct command *c,
		      const struct media_negotiated *n, uint16_t ptime_ms)
{
	int err;

	if (n->accepted_count > MEDIA_CODECS_MAX)
		return -EINVAL;
	if (addr_take(&c->rx.rtp, &n->rtp) || addr_take(&c->rx.rtcp, &n->rtcp))
		return -EINVAL;
	err = codec_fill(s, c, n, ptime_ms);
	if (err)
		return err;
	c->rx.any_peer = s->tapped && n->ice;
	c->rx.rtcp_mux = n->rtcp_mux;
	if (n->rtcp_mux)
		c->rx.rtcp = c->rx.rtp;
	c->tx.rtp = c->rx.rtp;
	c->tx.rtcp = c->rx.rtcp;
	c->tx.rtcp_mux = n->rtcp_mux;
	c->tx.has_event = n->has_event_pt;
	c->tx.event_pt = n->event_pt & PACKET_PT_MASK;
	c->tx.event_clock_hz =
		n->event_clock_hz ? n->event_clock_hz : DTMF_CLOCK_HZ;
	c->tx.xr = n->xr;
	c->tx.sends = c->tx.rtp.len > 0 && (n->direction == MEDIA_SENDRECV ||
					    n->direction == MEDIA_SENDONLY);
	c->audio.receives = n->direction == MEDIA_SENDRECV ||
			    n->direction == MEDIA_RECVONLY;
	err = map_get(s, c, n);
	if (!err)
		err = s->path->settle(s, c, n);
	return err ? err : keys_fill(s, c, n);
}

/* Send directly, or through the TURN server. */
static void route_fill(const struct session_nat *nat, struct command *c,
		       const struct media_negotiated *n)
{
	const struct media_ice *peer = &n->ice_peer;
	struct tx_command *tx = &c->tx;
	struct nat_route route;

	if (nat->mode == MEDIA_NAT_NONE)
		return;
	for (size_t i = 0; n->ice && i < peer->candidate_count; i++)
		handover_know(&c->rx.known, &peer->candidates[i].addr);
	route = session_nat_route(nat, SOCKET_RTP, &tx->rtp);
	if (route.relayed) {
		tx->via = route.server;
		tx->channel_rtp = route.channel;
		tx->sends = tx->sends && route.channel;
	}
	route = session_nat_route(nat, tx->rtcp_mux ? SOCKET_RTP : SOCKET_RTCP,
				  &tx->rtcp);
	if (route.relayed) {
		tx->via = route.server;
		tx->channel_rtcp = route.channel;
		if (!route.channel) { /* channel not bound yet */
			tx->rtcp.len = 0;
			c->rx.rtcp.len = 0;
		}
	}
}

static int handshakes_settle(struct media_session *s,
			     const struct media_negotiated *n)
{
	bool waits[SOCKET_COUNT];

	for (int i = 0; i < SOCKET_COUNT; i++)
		waits[i] =
			session_ice_restarting(&s->nat.ice, (uint8_t)(i + 1));
	return session_dtls_settle(&s->dtls, n, waits);
}

static void start_choose(struct media_session *s, struct command *c)
{
	if (s->start_ns == 0 && (c->tx.aligned || s->tapped))
		s->start_ns =
			c->mono_ns; /* times of the wall clock, or nothing is
				     * sent */
	else if (s->start_ns == 0)
		s->start_ns = tx_phase_take(&s->engine->phases, &s->phase,
					    c->mono_ns, c->tx.ptime_ms);
	c->tx.start_ns = s->start_ns;
}

int media_session_apply(struct media_session *s,
			const struct media_negotiated *negotiated)
{
	struct media_negotiated n;
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	media_negotiated_copy(&n, negotiated);
	if (s->keeps_settled && negotiated != &s->seldom->settled)
		media_negotiated_copy(&s->seldom->settled, negotiated);
	err = session_nat_settle(&s->nat, &n);
	if (!err && n.dtls && !s->tapped)
		err = handshakes_settle(s, &n);
	if (!err)
		err = command_new(&c, &s->commands, COMMAND_APPLY);
	if (err)
		return err;
	err = apply_fill(s, c, &n,
			 n.ptime_ms ? n.ptime_ms : s->local->ptime_ms);
	if (!err)
		route_fill(&s->nat, c, &n);
	explicit_bzero(&n.crypto_tx, sizeof(n.crypto_tx));
	explicit_bzero(&n.crypto_rx, sizeof(n.crypto_rx));
	if (err) {
		command_drop(c);
		return err;
	}
	c->audio.sends = c->tx.sends;
	c->tx.aligned = s->prompt.marker;
	c->begins = s->start_ns == 0;
	start_choose(s, c);
	session_prompt_applied(&s->prompt, c, n.codec.fmtp, n.has_noise_pt);
	s->has_event = n.has_event_pt;
	command_push(c, command_to_all(&s->commands));
	return 0;
}
