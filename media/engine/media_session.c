/* A media session: create, control, release. */
#include "media/engine/media_session.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "media/audio/audio_thread.h"
#include "media/capture/packet_capture.h"
#include "media/engine/media_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- handlers for NAT traversal and DTLS ---- */

static int settled_apply(struct media_session *s)
{
	return media_session_apply(s, &s->seldom->settled);
}

static int relay_tell(struct media_session *s, unsigned socket,
		      const struct relay_map *map)
{
	struct command *c;
	int err = command_new(&c, &s->commands, COMMAND_RELAY);

	if (err)
		return err;
	c->rx.socket = socket;
	c->rx.relay = *map;
	command_push(c, TO_RX);
	return 0;
}

static void handshake_send(const struct media_session *s, unsigned socket,
			   const struct media_addr *to, const uint8_t *data,
			   size_t bytes)
{
	const struct ice_path path = {
		.component = socket == SOCKET_RTCP ? 2 : 1,
		.relayed = session_nat_relayed(&s->nat, socket),
		.peer = *to,
	};

	session_nat_send(&s->nat, &path, data, bytes);
}

static int handshakes_open(struct media_session *s,
			   const struct media_session_params *params)
{
	static const struct session_dtls_handlers handlers = {
		.apply = settled_apply,
		.send = handshake_send,
	};
	const struct session_dtls_params p = {
		.all = &s->engine->dtls,
		.handlers = &handlers,
		.session = s,
		.suites = params->suites,
		.suite_count = params->suite_count,
		.settled = &s->seldom->settled,
	};

	for (int i = 0; i < SOCKET_COUNT; i++)
		s->rx.dtls[i] = (struct handover_gate){
			.open = true,
			.rate = HANDOVER_DTLS_RATE,
		};
	return session_dtls_open(&s->dtls, &p, &s->local->fingerprint);
}

static int nat_open(struct media_session *s,
		    const struct media_nat_params *params)
{
	static const struct session_nat_handlers handlers = {
		.apply = settled_apply,
		.relay = relay_tell,
	};
	const struct session_nat_params p = {
		.all = &s->engine->nat,
		.handlers = &handlers,
		.session = s,
		.nat = params,
		.local = s->local,
		.settled = &s->seldom->settled,
		.fds = {s->rx.sockets[SOCKET_RTP].fd,
			s->rx.sockets[SOCKET_RTCP].fd},
	};
	int err = session_nat_open(&s->nat, &p);

	if (err || params->mode == MEDIA_NAT_NONE)
		return err;
	s->rx.stun = (struct handover_gate){
		.open = true,
		.rate = HANDOVER_STUN_RATE,
	};
	s->rx.stun_known = s->rx.stun;
	for (unsigned i = 0; i < SOCKET_COUNT; i++) {
		int stream = session_servers_stream_fd(&s->nat.servers, i);

		s->tx.stream_fds[i] = stream;
		s->rx.streams[i].fd = stream;
		if (stream < 0)
			s->rx.sockets[i].relay.server = s->nat.servers.turn;
	}
	return 0;
}

/* ---- a new session ---- */

static int encryption_choose(struct media_session *s,
			     const struct media_session_params *params)
{
	struct media_local *local = s->local;

	local->encryption = params->encryption;
	local->rtcp_mux = params->rtcp_mux;
	if (params->suite_count > MEDIA_SRTP_SUITE_COUNT)
		return -EINVAL;
	for (size_t i = 0; i < params->suite_count; i++) {
		if (!media_srtp_suite_name(params->suites[i]))
			return -EINVAL;
	}
	if (local->encryption == MEDIA_ENCRYPTION_DTLS)
		return handshakes_open(s, params);
	if (local->encryption != MEDIA_ENCRYPTION_SDES &&
	    local->encryption != MEDIA_ENCRYPTION_SDES_MANDATORY)
		return 0;
	local->crypto_count = params->suite_count ? params->suite_count
						  : MEDIA_SRTP_SUITE_COUNT;
	for (size_t i = 0; i < local->crypto_count; i++) {
		local->crypto[i].suite = params->suite_count
						 ? params->suites[i]
						 : (enum media_srtp_suite)i;
	}
	session_keys_choose(local);
	return 0;
}

/* SSRC, initial sequence number and timestamp: RFC 3550 section 5.1; CNAME: RFC
 * 7022 */
static void identity_choose(struct media_session *s)
{
	char first[STR_HEX_BYTES], rest[STR_HEX_BYTES];
	uint64_t name[2];

	random_fill(&s->ssrc, sizeof(s->ssrc));
	random_fill(&s->tx.seq, sizeof(s->tx.seq));
	random_fill(&s->tx.ts, sizeof(s->tx.ts));
	random_fill(&s->tx.random, sizeof(s->tx.random));
	s->tx.random |= 1; /* xorshift does not work with a state of 0 */
	random_fill(name, sizeof(name));
	str_join(s->tx.cname, sizeof(s->tx.cname),
		 str_hexadecimal(first, name[0], 16),
		 str_hexadecimal(rest, name[1], 8), NULL);
}

static int slot_take(struct media_session *s)
{
	struct media_engine *e = s->engine;
	uint32_t max = e->slots;

	if (e->sessions_owned >= e->params.sessions_max)
		return -ENOSPC;
	/* in turn, so that a slot is unused for a while before it is taken
	 * again */
	for (uint32_t i = 0; i < max; i++) {
		uint32_t slot = (e->slot_next + i) % max;

		if (e->sessions[slot])
			continue;
		e->sessions[slot] = s;
		e->slot_next = slot + 1;
		e->sessions_owned++;
		s->slot = slot;
		return 0;
	}
	return -ENOSPC;
}

static int audio_choose(struct media_session *s,
			const struct media_session_params *params)
{
	unsigned wanted = params->audio;
	struct audio_session_params p = {
		.session = s,
		.slot = s->slot,
		.tapped = s->tapped,
		.wanted = wanted,
		.ntp_offset_ns = s->engine->ntp_offset_ns,
		.records = &s->engine->audio_records,
		.end = &s->end,
	};
	int err;

	if (!wanted)
		return 0;
	err = audio_rings_open(s->engine->audio);
	if (!err && params->expect_file)
		err = prompt_get(&s->expected, s->engine->prompts, PROMPT_FILE,
				 params->expect_file);
	if (!err && s->expected)
		err = prompt_reference(&p.reference, s->expected);
	if (!err)
		err = audio_session_new(&s->audio, &p);
	s->audio_wanted = wanted;
	return err;
}

static int capture_choose(struct media_session *s,
			  const struct media_session_params *params)
{
	const struct packet_capture *capture = s->engine->capture;
	struct packet_copies copies = {
		.whole = params->capture == MEDIA_CAPTURE_WHOLE,
		/* where the sockets are bound; `local` may become an address
		 * that a server sees */
		.local = {s->local->rtp, s->local->rtcp},
	};

	if (params->capture == MEDIA_CAPTURE_NONE)
		return 0;
	if (!capture)
		return -EINVAL;
	copies.ring = packet_capture_ring(capture, PACKET_CAPTURE_RX);
	s->rx.copies = copies;
	s->rx.captured = true;
	copies.ring = packet_capture_ring(capture, PACKET_CAPTURE_TX);
	s->tx.copies = copies;
	s->tx.captured = true;
	return 0;
}

/* Fill the constant fields of the threads' parts. */
static void threads_know(struct media_session *s)
{
	const struct audio *audio = s->engine->audio;
	bool decodes_sent =
		s->audio_wanted & (MEDIA_AUDIO_MEASURE | MEDIA_AUDIO_RECORD);

	s->rx.slot = s->slot;
	s->rx.ssrc = s->ssrc;
	s->rx.own_ssrc = s->ssrc;
	s->rx.tapped = s->tapped;
	s->rx.path = s->path->rx;
	s->rx.decodes = s->audio != NULL;
	s->rx.decodes_sent = decodes_sent;
	s->rx.payloads = audio_ring(audio, false);
	s->rx.end = &s->end;
	s->tx.slot = s->slot;
	s->tx.ssrc = s->ssrc;
	s->tx.path = s->path->tx;
	s->tx.decodes = decodes_sent;
	s->tx.payloads = audio_ring(audio, true);
	s->tx.end = &s->end;
	s->measure.session = s;
	s->measure.end = &s->end;
	s->measure.slot = s->slot;
	s->measure.ssrc = s->ssrc;
	s->measure.tapped = s->tapped;
	s->measure.decodes = s->audio != NULL;
}

static void commands_open(struct media_session *s)
{
	s->commands.threads = &s->engine->threads;
	s->commands.rx = &s->rx;
	s->commands.tx = s->tapped ? NULL : &s->tx;
	s->commands.measure = &s->measure;
	s->commands.audio = s->audio;
}

static int prompt_open(struct media_session *s,
		       const struct media_session_params *params)
{
	const struct session_prompt_params p = {
		.cache = s->engine->prompts,
		.commands = &s->commands,
		.ntp_offset_ns = s->engine->ntp_offset_ns,
		.local = s->local,
		.session = params,
	};

	s->tones.prompt = &s->prompt;
	return session_prompt_open(&s->prompt, &p);
}

/* Our side, without the room that it does not need. */
static int local_make(struct media_session *s,
		      const struct media_session_params *params)
{
	struct media_local local = {
		.has_ice = params->nat.mode == MEDIA_NAT_ICE,
	};
	int err = session_codecs_choose(&local, params);

	if (err)
		return err;
	s->local = malloc(media_local_bytes(&local));
	if (!s->local)
		return -ENOMEM;
	memcpy(s->local, &local, media_local_bytes(&local));
	return 0;
}

/* On shared sockets there is no place for STUN and DTLS, which have no SSRC. */
static bool path_fits(const struct media_session *s,
		      const struct media_session_params *params)
{
	if (s->tapped)
		return s->engine->tap && !params->shared;
	return !params->shared ||
	       (params->nat.mode == MEDIA_NAT_NONE &&
		params->encryption != MEDIA_ENCRYPTION_DTLS &&
		media_addr_port(&params->bind) == 0);
}

_Static_assert(_Alignof(struct media_session) <= SLAB_LINE_BYTES, "alignment");
_Static_assert(_Alignof(struct session_seldom) <= SLAB_LINE_BYTES, "alignment");

int media_session_new(struct media_session **ret, struct media_engine *e,
		      const struct media_session_params *params)
{
	struct media_session *s = slab_take(e->session_memory);
	struct command *add = NULL;
	int err;

	if (!s)
		return -ENOMEM;
	s->seldom = slab_take(e->seldom_memory);
	if (!s->seldom) {
		slab_give(e->session_memory, s);
		return -ENOMEM;
	}
	s->measure.seldom = &s->seldom->measure;
	s->engine = e;
	s->path = params->shared ? &session_path_shared : &session_path_call;
	s->slot = UINT32_MAX;
	s->user = params->user;
	s->stop.kind = COMMAND_STOP;
	s->stop.owner = &s->commands;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		s->tx.stream_fds[i] = -1;
		s->rx.sockets[i] = (struct rx_socket){
			.source.path = &rx_path_call,
			.session = &s->rx,
			.fd = -1,
			.rtcp = i == SOCKET_RTCP,
			.batch = 1,
		};
		s->rx.streams[i] = s->rx.sockets[i];
		s->rx.streams[i].stream = true;
	}
	identity_choose(s);
	s->tapped = params->tapped;
	s->keeps_settled = params->nat.mode != MEDIA_NAT_NONE ||
			   params->encryption == MEDIA_ENCRYPTION_DTLS;
	if (s->keeps_settled)
		memset(&s->seldom->settled, 0, sizeof(s->seldom->settled));
	/* relaxed: no thread knows the session yet; TX never will */
	atomic_store_explicit(&s->end.tx_done, s->tapped, memory_order_relaxed);
	err = path_fits(s, params) ? local_make(s, params) : -EINVAL;
	if (!err && !s->tapped)
		err = encryption_choose(s, params);
	if (!err)
		err = slot_take(s);
	if (!err && !s->tapped)
		err = prompt_open(s, params);
	if (!err && !s->tapped)
		err = s->path->open(s, &params->bind);
	if (!err)
		err = audio_choose(s, params);
	if (!err)
		err = capture_choose(s, params);
	if (!err)
		err = nat_open(s, &params->nat);
	if (!err)
		err = command_new(&add, &s->commands, COMMAND_ADD);
	if (err) {
		session_destroy(s);
		return err;
	}
	if (params->encryption != MEDIA_ENCRYPTION_NONE && !s->tapped) {
		/* RFC 3711 section 3.3.1: if the sequence number wrapped before
		 * the first packet arrives, the receiver would assume a wrong
		 * roll-over counter */
		s->tx.seq &= 0x7fff;
		s->rx.encrypted = true;
	}
	threads_know(s);
	commands_open(s);
	command_push(add, TO_RX | TO_ANALYSIS | command_to_audio(&s->commands));
	*ret = s;
	return 0;
}

/* Wipe keys and ICE passwords. */
static void secrets_wipe(struct media_session *s)
{
	struct media_local *ours = s->local;
	struct media_negotiated *both = &s->seldom->settled;

	if (ours)
		explicit_bzero(ours->crypto, sizeof(ours->crypto));
	if (ours && ours->has_ice)
		explicit_bzero(ours->ice.pwd, sizeof(ours->ice.pwd));
	if (!s->keeps_settled)
		return;
	explicit_bzero(&both->crypto_tx, sizeof(both->crypto_tx));
	explicit_bzero(&both->crypto_rx, sizeof(both->crypto_rx));
	explicit_bzero(both->ice_peer.pwd, sizeof(both->ice_peer.pwd));
}

void session_destroy(struct media_session *s)
{
	struct media_engine *e = s->engine;

	if (s->slot != UINT32_MAX) {
		e->sessions[s->slot] = NULL;
		if (!s->released)
			e->sessions_owned--;
	}
	session_nat_release(&s->nat);
	s->path->release(s);
	commands_release(&s->commands);
	session_dtls_release(&s->dtls);
	for (int i = 0; i < SOCKET_COUNT; i++) {
		session_keys_release(&s->keys_rx[i]);
		session_keys_release(&s->keys_tx[i]);
	}
	audio_session_free(s->audio);
	session_tones_cancel(&s->tones);
	session_prompt_release(&s->prompt);
	prompt_put(s->expected);
	secrets_wipe(s);
	free(s->local);
	slab_give(e->seldom_memory, s->seldom);
	slab_give(e->session_memory, s);
}

const struct media_local *media_session_local(const struct media_session *s)
{
	return s->local;
}

void *media_session_user(const struct media_session *s)
{
	return s->user;
}

/* ---- requests of the loop ---- */

int media_session_tap(struct media_session *s, const struct media_addr *rtp,
		      const struct media_addr *rtcp)
{
	struct command *c;
	int err;

	if (!s->tapped || s->stop_given || !media_addr_valid(rtp))
		return -EINVAL;
	err = command_new(&c, &s->commands, COMMAND_TAP);
	if (err)
		return err;
	c->rx.rtp = *rtp;
	if (media_addr_valid(rtcp) && !media_addr_equal(rtcp, rtp))
		c->rx.rtcp = *rtcp;
	command_push(c, TO_RX);
	return 0;
}

bool media_session_ready(const struct media_session *s)
{
	return !s->nat.gathering;
}

int media_session_expect_key(struct media_session *s)
{
	struct command *c;
	int err;

	if (s->stop_given || s->local->crypto_count == 0)
		return -EINVAL;
	err = command_new(&c, &s->commands, COMMAND_REKEY);
	if (err)
		return err;
	command_push(c, TO_RX);
	return 0;
}

int media_session_rekey(struct media_session *s)
{
	int err = media_session_expect_key(s);

	if (!err)
		session_keys_choose(s->local);
	return err;
}

int64_t media_session_start_ns(const struct media_session *s)
{
	return s->start_ns;
}

int media_session_send_until(struct media_session *s, int64_t mono_ns)
{
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	if (s->tapped)
		return 0; /* we send nothing */
	err = command_new(&c, &s->commands, COMMAND_UNTIL);
	if (err)
		return err;
	c->tx.until_ns = mono_ns;
	command_push(c, TO_TX);
	return 0;
}

int media_session_dtmf(struct media_session *s, const struct dtmf_order *order)
{
	struct dtmf_order checked = *order;
	struct command *c;
	int err;

	if (s->stop_given || dtmf_order_check(&checked))
		return -EINVAL;
	if (!s->has_event || s->tapped)
		return -ENOTSUP;
	if (s->dtmf_busy)
		return -EBUSY;
	err = command_new(&c, &s->commands, COMMAND_DTMF);
	if (err)
		return err;
	c->tx.order = checked;
	s->dtmf_busy = true;
	command_push(c, TO_TX);
	return 0;
}

int media_session_tones(struct media_session *s, const struct dtmf_order *order)
{
	struct dtmf_order checked = *order;
	int err;

	if (s->stop_given || dtmf_order_check(&checked))
		return -EINVAL;
	if (s->tapped)
		return -ENOTSUP;
	if (!s->prompt.in_force.codec)
		return -ENOTCONN;
	if (s->dtmf_busy)
		return -EBUSY;
	err = session_tones_send(&s->tones, &checked);
	if (!err)
		s->dtmf_busy = true;
	return err;
}

int media_session_play(struct media_session *s, const char *file)
{
	if (s->stop_given || s->tapped)
		return -EINVAL;
	if (!s->prompt.in_force.codec)
		return -ENOTCONN;
	return session_prompt_play(&s->prompt, file);
}

int media_session_mute(struct media_session *s, bool mute)
{
	if (s->stop_given || s->tapped)
		return -EINVAL;
	return session_prompt_mute(&s->prompt, mute);
}

int media_session_listen(struct media_session *s,
			 const struct media_listen *what)
{
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	if (!s->audio || !(s->audio_wanted & MEDIA_AUDIO_MEASURE))
		return -ENOTSUP;
	err = command_new(&c, &s->commands, COMMAND_LISTEN);
	if (err)
		return err;
	c->audio.listen = *what;
	command_push(c, TO_AUDIO);
	return 0;
}

int media_session_record(struct media_session *s, const char *path_in,
			 const char *path_out)
{
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	if (!s->audio || !(s->audio_wanted & MEDIA_AUDIO_RECORD))
		return -ENOTSUP;
	if (s->recording)
		return -EBUSY;
	err = command_new(&c, &s->commands, COMMAND_RECORD);
	if (err)
		return err;
	c->audio.paths[0] = strdup(path_in);
	c->audio.paths[1] = strdup(path_out);
	if (!c->audio.paths[0] || !c->audio.paths[1]) {
		command_drop(c);
		return -ENOMEM;
	}
	s->recording = true;
	command_push(c, TO_AUDIO);
	return 0;
}

int media_session_record_stop(struct media_session *s)
{
	struct command *c;
	int err;

	if (s->stop_given || !s->recording)
		return -EINVAL;
	err = command_new(&c, &s->commands, COMMAND_RECORD);
	if (err)
		return err;
	s->recording = false;
	command_push(c, TO_AUDIO);
	return 0;
}

void media_session_stop(struct media_session *s)
{
	if (s->stop_given)
		return;
	s->stop_given = true;
	session_nat_stop(&s->nat);
	session_dtls_stop(&s->dtls);
	session_tones_cancel(&s->tones);
	s->path->stop(s);
	tx_phase_leave(&s->engine->phases, &s->phase);
	s->stop.mono_ns = clock_mono_ns();
	command_push(&s->stop, command_to_all(&s->commands));
}

struct media_session *media_session_free(struct media_session *s)
{
	if (!s)
		return NULL;
	if (s->stopped) {
		session_destroy(s);
		return NULL;
	}
	/* the threads still use it: media_engine_poll() destroys it when they
	 * have finished */
	s->released = true;
	s->engine->sessions_owned--;
	media_session_stop(s);
	return NULL;
}
