#include "media/session.h"

#include "base/clock.h"
#include "base/str.h"
#include "media/audio.h"
#include "media/engine.h"
#include "media/srtp_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PTIME_DEFAULT_MS 20
#define PTIME_STEP_MS    10
#define PTIME_MIN_MS     10 /* announced */
#define CN_PT            13 /* RFC 3551 table 4: needs no rtpmap */
#define CN_CLOCK_HZ      8000
#define EVENT_NAME       "telephone-event"
#define EVENT_CLOCK_HZ   8000
#define EVENT_FMTP       "0-15" /* RFC 4733 2.4.1: the DTMF digits */

/* ---- commands ---- */

static void command_free(struct command *c)
{
	clip_release(&c->tones.clip);
	free(c->paths[0]);
	free(c->paths[1]);
	free(c);
}

void command_drop(struct command *c)
{
	/* made last, so it is the first of the list */
	c->session->commands = c->next;
	command_free(c);
}

/* Free what every thread gave back. @return how many are still out */
static size_t commands_sweep(struct media_session *s)
{
	struct command **link = &s->commands;
	size_t held = 0;

	while (*link) {
		struct command *c = *link;

		/* acquire: pairs with the release in command_done() */
		if (atomic_load_explicit(&c->holders, memory_order_acquire)) {
			held++;
			link = &c->next;
			continue;
		}
		*link = c->next;
		command_free(c);
	}
	return held;
}

int command_new(struct command **ret, struct media_session *s,
		enum command_kind kind)
{
	struct command *c;

	/* ADD and STOP have places of their own in the rings */
	if (commands_sweep(s) >= SESSION_COMMANDS_MAX - 2)
		return -EAGAIN;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->session = s;
	c->mono_ns = clock_mono_ns();
	c->next = s->commands;
	s->commands = c;
	*ret = c;
	return 0;
}

void command_push(struct command *c, unsigned threads)
{
	struct media_engine *e = c->session->engine;

	/* relaxed: the ring's release publishes it */
	atomic_store_explicit(&c->holders,
			      (unsigned)__builtin_popcount(threads),
			      memory_order_relaxed);
	/* the analysis first: see heads_fill() */
	for (int i = THREAD_COUNT - 1; i >= 0; i--) {
		if (!(threads & 1u << i))
			continue;
		/* sized for all commands that can be out: never full */
		ring_push(e->threads[i].commands, &c);
		engine_wake(e->threads[i].wake_fd);
	}
}

static unsigned to_audio(const struct media_session *s)
{
	return s->audio ? TO_AUDIO : 0;
}

static unsigned to_all(const struct media_session *s)
{
	return TO_RX | TO_ANALYSIS | to_audio(s) | (s->tapped ? 0 : TO_TX);
}

/* ---- making one ---- */

/* One certificate an engine process: a job is short. */
static int identity_use(struct media_session *s)
{
	struct media_engine *e = s->engine;
	int err = e->identity ? 0 : dtls_identity_new(&e->identity);

	if (err)
		return err;
	s->local.fingerprint = *dtls_identity_fingerprint(e->identity);
	s->rx.dtls = (struct handover_gate){
		.open = true,
		.rate = HANDOVER_DTLS_RATE,
	};
	return 0;
}

static int encryption_choose(struct media_session *s,
			     const struct media_session_params *params)
{
	struct media_local *local = &s->local;

	local->encryption = params->encryption;
	local->rtcp_mux =
		params->rtcp_mux || params->encryption == MEDIA_ENCRYPTION_DTLS;
	if (params->suite_count > MEDIA_SRTP_SUITE_COUNT)
		return -EINVAL;
	s->suite_count = params->suite_count;
	memcpy(s->suites, params->suites, sizeof(s->suites));
	for (size_t i = 0; i < params->suite_count; i++) {
		if (!srtp_suite_info(params->suites[i]))
			return -EINVAL;
	}
	if (local->encryption == MEDIA_ENCRYPTION_DTLS)
		return identity_use(s);
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

/* A telephone-event for each clock rate of the codecs, which an event's must be
 * (RFC 4733 2.1), and 8000 for those who know no other. */
static void events_add(struct media_local *local)
{
	static const struct {
		uint32_t clock_hz;
		uint8_t pt;
	} events[] = {{8000, 101}, {16000, 102}, {44100, 103}, {48000, 104}};
	size_t codecs = local->codec_count;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct media_codec *dst = &local->codecs[local->codec_count];
		bool wanted = events[i].clock_hz == EVENT_CLOCK_HZ;

		for (size_t k = 0; k < codecs; k++)
			wanted |=
				local->codecs[k].clock_hz == events[i].clock_hz;
		if (!wanted || local->codec_count == MEDIA_CODECS_MAX)
			continue;
		str_copy(dst->name, sizeof(dst->name), EVENT_NAME);
		str_copy(dst->fmtp, sizeof(dst->fmtp), EVENT_FMTP);
		dst->pt = events[i].pt;
		dst->channels = 1;
		dst->clock_hz = events[i].clock_hz;
		local->codec_count++;
	}
}

static int codecs_choose(struct media_local *local,
			 const struct media_session_params *params)
{
	size_t count =
		params->codec_count ? params->codec_count : CODECS_DEFAULT;

	if (count > MEDIA_CODECS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct media_codec *dst = &local->codecs[i];
		const struct codec *codec =
			params->codec_count ? codec_by_name(params->codecs[i])
					    : codec_at(i);

		if (!codec)
			return -EINVAL;
		str_copy(dst->name, sizeof(dst->name), codec->rtpmap);
		dst->pt = codec->pt;
		dst->channels = codec->channels;
		dst->clock_hz = codec->clock_hz;
		if (codec->fmtp)
			str_copy(dst->fmtp, sizeof(dst->fmtp), codec->fmtp);
	}
	local->codec_count = count;
	if (!params->no_events)
		events_add(local);
	local->direction = MEDIA_SENDRECV;
	local->xr = MEDIA_XR_ALL;
	local->ptime_ms =
		params->ptime_ms ? params->ptime_ms : PTIME_DEFAULT_MS;
	if (local->ptime_ms < PTIME_MIN_MS ||
	    local->ptime_ms > CODEC_PTIME_MAX_MS ||
	    local->ptime_ms % PTIME_STEP_MS != 0)
		return -EINVAL;
	return 0;
}

/* The encodings that are likely to be needed, so that none has to be made
 * when the call is answered. */
static int prompt_choose(struct media_session *s,
			 const struct media_session_params *params)
{
	int err = params->audio & MEDIA_AUDIO_MARKER
			  ? prompt_get_marker(&s->prompt)
			  : prompt_get(&s->prompt, s->engine->prompts,
				       params->prompt_file);

	for (size_t i = 0; !err && i < s->local.codec_count; i++) {
		const struct media_codec *c = &s->local.codecs[i];
		const struct codec *codec =
			codec_by_rtpmap(c->name, c->clock_hz);
		struct codec_settings settings;
		const struct clip *clip;

		if (!codec)
			continue; /* telephone-event */
		codec_settings_parse(&settings, c->fmtp);
		err = prompt_clip(&clip, s->prompt, codec,
				  codec_ptime(codec, s->local.ptime_ms),
				  &settings);
	}
	return err;
}

static int sockets_open(struct media_session *s, const struct media_addr *bind)
{
	const struct media_engine_params *p = &s->engine->params;
	struct media_addr addrs[SOCKET_COUNT];
	int fds[SOCKET_COUNT];
	int err = socket_pair_bind(fds, addrs, bind, p->port_min, p->port_max);

	if (err)
		return err;
	for (int i = 0; i < SOCKET_COUNT; i++)
		s->rx.sockets[i].fd = fds[i];
	s->local.rtp = addrs[SOCKET_RTP];
	s->local.rtcp = addrs[SOCKET_RTCP];
	return 0;
}

/* SSRC, first sequence number and time stamp: RFC 3550 5.1; CNAME: RFC 7022 */
static void identity_choose(struct media_session *s)
{
	uint64_t name[2];

	random_bytes(&s->ssrc, sizeof(s->ssrc));
	random_bytes(&s->tx.seq, sizeof(s->tx.seq));
	random_bytes(&s->tx.ts, sizeof(s->tx.ts));
	random_bytes(&s->tx.random, sizeof(s->tx.random));
	s->tx.random |= 1; /* xorshift stands still at 0 */
	random_bytes(name, sizeof(name));
	str_print(s->cname, sizeof(s->cname), "%016llx%08llx",
		  (unsigned long long)name[0],
		  (unsigned long long)(name[1] & 0xffffffff));
}

static int slot_take(struct media_session *s)
{
	struct media_engine *e = s->engine;
	uint32_t max = e->slots;

	if (e->sessions_owned >= e->params.sessions_max)
		return -ENOSPC;
	/* in turn, so that a slot rests before it is used again */
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
	struct audio_reference *reference = NULL;
	int err;

	if (!wanted)
		return 0;
	err = audio_rings_open(s->engine);
	if (!err && params->expect_file)
		err = prompt_get(&s->expected, s->engine->prompts,
				 params->expect_file);
	if (!err && s->expected)
		err = prompt_reference(&reference, s->expected);
	if (!err)
		err = audio_session_new(&s->audio, s, wanted, reference);
	s->audio_sent = wanted & (MEDIA_AUDIO_MEASURE | MEDIA_AUDIO_RECORD);
	return err;
}

/* Zeroed by calloc(), not by hand: most of a session is never touched. */
static struct media_session *session_allocate(void)
{
	const uintptr_t align = _Alignof(struct media_session);
	void *memory = calloc(1, sizeof(struct media_session) + align - 1);
	struct media_session *s;

	if (!memory)
		return NULL;
	s = (struct media_session *)(((uintptr_t)memory + align - 1) / align *
				     align);
	s->memory = memory;
	return s;
}

int media_session_new(struct media_session **ret, struct media_engine *e,
		      const struct media_session_params *params)
{
	struct media_session *s = session_allocate();
	int err;

	if (!s)
		return -ENOMEM;
	s->engine = e;
	s->slot = UINT32_MAX;
	s->user = params->user;
	s->add = (struct command){.kind = COMMAND_ADD, .session = s};
	s->stop = (struct command){.kind = COMMAND_STOP, .session = s};
	for (int i = 0; i < SOCKET_COUNT; i++) {
		s->rx.sockets[i] = (struct rx_socket){
			.session = s, .fd = -1, .rtcp = i == SOCKET_RTCP};
		s->rx.streams[i] = s->rx.sockets[i];
		s->rx.streams[i].stream = true;
	}
	for (int i = 0; i < TX_TIMER_COUNT; i++)
		s->tx.timer_at[i] = TX_NO_TIMER;
	identity_choose(s);
	s->rx.own_ssrc = s->ssrc;
	s->tapped = params->tapped;
	/* relaxed: no thread knows it yet; TX never will */
	atomic_store_explicit(&s->tx_done, s->tapped, memory_order_relaxed);
	err = s->tapped && !e->tap ? -EINVAL : codecs_choose(&s->local, params);
	if (!err && !s->tapped)
		err = encryption_choose(s, params);
	if (!err)
		err = slot_take(s);
	if (!err && !s->tapped)
		err = prompt_choose(s, params);
	if (!err && !s->tapped)
		err = sockets_open(s, &params->bind);
	if (!err)
		err = audio_choose(s, params);
	if (!err)
		err = session_nat_open(s, &params->nat);
	if (err) {
		session_destroy(s);
		return err;
	}
	if (params->encryption != MEDIA_ENCRYPTION_NONE && !s->tapped) {
		/* RFC 3711 3.3.1: a wrap before the first packet arrives would
		 * leave the receiver with the wrong roll-over counter */
		s->tx.seq &= 0x7fff;
		s->rx.encrypted = true;
	}
	s->add.mono_ns = clock_mono_ns();
	command_push(&s->add, TO_RX | TO_ANALYSIS | to_audio(s));
	*ret = s;
	return 0;
}

void session_destroy(struct media_session *s)
{
	if (s->slot != UINT32_MAX) {
		s->engine->sessions[s->slot] = NULL;
		if (!s->released)
			s->engine->sessions_owned--;
	}
	session_nat_release(s);
	for (int i = 0; i < SOCKET_COUNT; i++) {
		if (s->rx.sockets[i].fd >= 0)
			close(s->rx.sockets[i].fd);
	}
	while (s->commands) {
		struct command *c = s->commands;

		s->commands = c->next;
		command_free(c);
	}
	session_dtls_release(s);
	session_keys_release(&s->keys_rx);
	session_keys_release(&s->keys_tx);
	audio_session_free(s->audio);
	prompt_put(s->prompt);
	prompt_put(s->expected);
	explicit_bzero(&s->local, sizeof(s->local));
	free(s->memory);
}

const struct media_local *media_session_local(const struct media_session *s)
{
	return &s->local;
}

void *media_session_user(const struct media_session *s)
{
	return s->user;
}

/* ---- what was settled ---- */

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
	/* a payload type that is there already keeps its meaning */
	if (!err)
		err = rtp_payload_map_add(map, n->codec.pt, n->codec.name,
					  n->codec.clock_hz);
	if (n->has_event_pt && (!err || err == -EEXIST))
		err = rtp_payload_map_add(map, n->event_pt, "telephone-event",
					  n->event_clock_hz ? n->event_clock_hz
							    : EVENT_CLOCK_HZ);
	if (!err || err == -EEXIST)
		err = rtp_payload_map_add(map, CN_PT, "CN", CN_CLOCK_HZ);
	return err == -EEXIST ? 0 : err;
}

/* Take a peer's address; one that cannot be sent to becomes "not set". */
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

/* What to send, and how: may make an encoding. */
static int codec_fill(struct command *c, const struct media_codec *settled,
		      uint16_t ptime_ms)
{
	const struct codec *codec =
		codec_by_rtpmap(settled->name, settled->clock_hz);
	struct codec_settings settings;

	if (!codec || settled->pt > PACKET_PT_MASK)
		return -EINVAL;
	if (ptime_ms < CODEC_PTIME_MIN_MS || ptime_ms > CODEC_PTIME_MAX_MS)
		return -EINVAL;
	codec_settings_parse(&settings, settled->fmtp);
	c->pt = settled->pt;
	c->codec = codec;
	c->ptime_ms = codec_ptime(codec, ptime_ms);
	if (c->session->tapped)
		return 0;
	return prompt_clip(&c->clip, c->session->prompt, codec, c->ptime_ms,
			   &settings);
}

/* Last: keys that are made here are in force. */
static int keys_fill(struct command *c, const struct media_negotiated *n)
{
	struct media_session *s = c->session;
	int err;

	c->encrypted = n->encrypted;
	if (s->tapped) { /* keys are the program's */
		if (n->encrypted && !n->dtls) {
			c->suite_rx = srtp_suite_info(n->crypto_rx.suite)->name;
			c->suite_tx = c->suite_rx;
		}
		return 0;
	}
	if (!n->encrypted) {
		session_keys_none(&s->keys_rx);
		session_keys_none(&s->keys_tx);
		return 0;
	}
	if (n->dtls && !s->dtls.secured)
		return 0; /* they are still to come */
	err = session_keys_get(&c->key_rx, &s->keys_rx, &n->crypto_rx);
	if (!err)
		err = session_keys_get(&c->key_tx, &s->keys_tx, &n->crypto_tx);
	if (err)
		return err;
	c->suite_rx = srtp_suite_info(n->crypto_rx.suite)->name;
	c->suite_tx = srtp_suite_info(n->crypto_tx.suite)->name;
	return 0;
}

static int apply_fill(struct command *c, const struct media_negotiated *n,
		      uint16_t ptime_ms)
{
	int err;

	if (n->accepted_count > MEDIA_CODECS_MAX)
		return -EINVAL;
	if (addr_take(&c->rtp, &n->rtp) || addr_take(&c->rtcp, &n->rtcp))
		return -EINVAL;
	err = codec_fill(c, &n->codec, ptime_ms);
	if (err)
		return err;
	c->rtcp_mux = n->rtcp_mux;
	if (n->rtcp_mux)
		c->rtcp = c->rtp;
	c->has_event = n->has_event_pt;
	c->event_pt = n->event_pt & PACKET_PT_MASK;
	c->event_clock_hz =
		n->event_clock_hz ? n->event_clock_hz : EVENT_CLOCK_HZ;
	c->xr = n->xr;
	c->sends = c->rtp.len > 0 && (n->direction == MEDIA_SENDRECV ||
				      n->direction == MEDIA_SENDONLY);
	c->receives = n->direction == MEDIA_SENDRECV ||
		      n->direction == MEDIA_RECVONLY;
	err = map_fill(&c->map, n);
	for (size_t i = 0; !err && i < c->map.count; i++)
		emodel_declarations_apply(
			c->session->engine->params.declarations,
			c->map.entries[i].codec, &c->map.entries[i].values);
	return err ? err : keys_fill(c, n);
}

int media_session_apply(struct media_session *s,
			const struct media_negotiated *negotiated)
{
	struct media_negotiated n = *negotiated;
	struct command *c;
	int err;

	if (s->stop_given)
		return -EINVAL;
	err = session_nat_settle(s, &n);
	if (!err && n.dtls && !s->tapped)
		err = session_dtls_settle(s, &n);
	if (!err)
		err = command_new(&c, s, COMMAND_APPLY);
	if (err)
		return err;
	err = apply_fill(c, &n, n.ptime_ms ? n.ptime_ms : s->local.ptime_ms);
	if (!err)
		session_nat_route(s, c);
	explicit_bzero(&n.crypto_tx, sizeof(n.crypto_tx));
	explicit_bzero(&n.crypto_rx, sizeof(n.crypto_rx));
	if (err) {
		command_drop(c);
		return err;
	}
	if (s->start_ns == 0)
		s->start_ns = c->mono_ns;
	c->aligned = s->audio && s->audio->wanted & MEDIA_AUDIO_MARKER;
	s->codec = c->codec;
	s->ptime_ms = c->ptime_ms;
	codec_settings_parse(&s->codec_settings, n.codec.fmtp);
	s->has_event = n.has_event_pt;
	command_push(c, to_all(s));
	return 0;
}

int media_session_tap(struct media_session *s, const struct media_addr *rtp,
		      const struct media_addr *rtcp)
{
	struct command *c;
	int err;

	if (!s->tapped || s->stop_given || !media_addr_valid(rtp))
		return -EINVAL;
	err = command_new(&c, s, COMMAND_TAP);
	if (err)
		return err;
	c->tap_rtp = media_addr_port(rtp);
	c->tap_rtcp = media_addr_valid(rtcp) ? media_addr_port(rtcp) : 0;
	if (c->tap_rtcp == c->tap_rtp)
		c->tap_rtcp = 0;
	command_push(c, TO_RX);
	return 0;
}

int session_relay_put(struct media_session *s, unsigned socket,
		      const struct relay_map *map)
{
	struct command *c;
	int err = command_new(&c, s, COMMAND_RELAY);

	if (err)
		return err;
	c->socket = socket;
	c->relay = *map;
	command_push(c, TO_RX);
	return 0;
}

bool media_session_ready(const struct media_session *s)
{
	return !s->nat.gathering;
}

int media_session_rekey(struct media_session *s)
{
	struct command *c;
	int err;

	if (s->stop_given || s->local.crypto_count == 0)
		return -EINVAL;
	err = command_new(&c, s, COMMAND_REKEY);
	if (err)
		return err;
	session_keys_choose(&s->local);
	command_push(c, TO_RX);
	return 0;
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
		return 0; /* nothing of ours is sent */
	err = command_new(&c, s, COMMAND_UNTIL);
	if (err)
		return err;
	c->until_ns = mono_ns;
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
	err = command_new(&c, s, COMMAND_DTMF);
	if (err)
		return err;
	c->order = checked;
	s->dtmf_busy = true;
	command_push(c, TO_TX);
	return 0;
}

void media_session_stop(struct media_session *s)
{
	if (s->stop_given)
		return;
	s->stop_given = true;
	s->stop.mono_ns = clock_mono_ns();
	command_push(&s->stop, to_all(s));
}

struct media_session *media_session_free(struct media_session *s)
{
	if (!s)
		return NULL;
	if (s->stopped) {
		session_destroy(s);
		return NULL;
	}
	/* the threads still know it: media_engine_poll() destroys it when they
	 * let go */
	s->released = true;
	s->engine->sessions_owned--;
	media_session_stop(s);
	return NULL;
}
