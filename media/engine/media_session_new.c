/* A session: made, and released. */
#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "media/audio/audio_thread.h"
#include "media/engine/media_engine.h"
#include "media/engine/media_session_prompt.h"
#include "media/security/srtp_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One certificate an engine process: a job is short. */
static int identity_use(struct media_session *s)
{
	struct media_engine *e = s->engine;
	int err = e->identity ? 0 : dtls_identity_new(&e->identity);

	if (err)
		return err;
	s->local.fingerprint = *dtls_identity_fingerprint(e->identity);
	for (int i = 0; i < SOCKET_COUNT; i++)
		s->rx.dtls[i] = (struct handover_gate){
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
	local->rtcp_mux = params->rtcp_mux;
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

static int sockets_open(struct media_session *s, const struct media_addr *bind)
{
	const struct media_engine_params *p = &s->engine->params;
	struct media_addr addrs[SOCKET_COUNT];
	int fds[SOCKET_COUNT];
	uint16_t port = media_addr_port(bind);
	int err = port ? socket_pair_bind(fds, addrs, bind, port,
					  (uint16_t)(port + 1))
		       : socket_pair_bind(fds, addrs, bind, p->port_min,
					  p->port_max);

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

	random_fill(&s->ssrc, sizeof(s->ssrc));
	random_fill(&s->tx.seq, sizeof(s->tx.seq));
	random_fill(&s->tx.ts, sizeof(s->tx.ts));
	random_fill(&s->tx.random, sizeof(s->tx.random));
	s->tx.random |= 1; /* xorshift stands still at 0 */
	random_fill(name, sizeof(name));
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
		err = prompt_get(&s->expected, s->engine->prompts, PROMPT_FILE,
				 params->expect_file);
	if (!err && s->expected)
		err = prompt_reference(&reference, s->expected);
	if (!err)
		err = audio_session_new(&s->audio, s, wanted, reference);
	s->audio_sent = wanted & (MEDIA_AUDIO_MEASURE | MEDIA_AUDIO_RECORD);
	return err;
}

_Static_assert(_Alignof(struct media_session) <= SLAB_LINE_BYTES, "alignment");

int media_session_new(struct media_session **ret, struct media_engine *e,
		      const struct media_session_params *params)
{
	struct media_session *s = slab_take(e->session_memory);
	int err;

	if (!s)
		return -ENOMEM;
	s->engine = e;
	s->slot = UINT32_MAX;
	s->user = params->user;
	session_dtls_open(s);
	s->add.kind = COMMAND_ADD;
	s->add.session = s;
	s->stop.kind = COMMAND_STOP;
	s->stop.session = s;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		s->rx.sockets[i] = (struct rx_socket){
			.session = s,
			.fd = -1,
			.rtcp = i == SOCKET_RTCP,
			.batch = 1,
		};
		s->rx.streams[i] = s->rx.sockets[i];
		s->rx.streams[i].stream = true;
	}
	identity_choose(s);
	s->rx.own_ssrc = s->ssrc;
	s->tapped = params->tapped;
	/* relaxed: no thread knows it yet; TX never will */
	atomic_store_explicit(&s->tx_done, s->tapped, memory_order_relaxed);
	err = s->tapped && !e->tap ? -EINVAL
				   : session_codecs_choose(&s->local, params);
	if (!err && !s->tapped)
		err = encryption_choose(s, params);
	if (!err)
		err = slot_take(s);
	if (!err && !s->tapped)
		err = session_prompt_choose(s, params);
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
	command_push(&s->add, TO_RX | TO_ANALYSIS | command_to_audio(s));
	*ret = s;
	return 0;
}

void session_destroy(struct media_session *s)
{
	struct media_engine *e = s->engine;

	if (s->slot != UINT32_MAX) {
		e->sessions[s->slot] = NULL;
		if (!s->released)
			e->sessions_owned--;
	}
	session_nat_release(s);
	for (int i = 0; i < SOCKET_COUNT; i++) {
		if (s->rx.sockets[i].fd >= 0)
			close(s->rx.sockets[i].fd);
	}
	commands_release(s);
	session_dtls_release(s);
	for (int i = 0; i < SOCKET_COUNT; i++) {
		session_keys_release(&s->keys_rx[i]);
		session_keys_release(&s->keys_tx[i]);
	}
	audio_session_free(s->audio);
	session_tones_forget(s);
	session_prompt_release(s);
	prompt_put(s->expected);
	explicit_bzero(&s->local, sizeof(s->local));
	slab_give(e->session_memory, s);
}

const struct media_local *media_session_local(const struct media_session *s)
{
	return &s->local;
}

void *media_session_user(const struct media_session *s)
{
	return s->user;
}
