#include "media/engine/media_session.h"

#include "base/clock.h"
#include "media/engine/media_engine.h"

#include <errno.h>

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
	c->tap_rtp = *rtp;
	if (media_addr_valid(rtcp) && !media_addr_equal(rtcp, rtp))
		c->tap_rtcp = *rtcp;
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
	tx_phase_leave(&s->engine->phases, &s->phase);
	s->stop.mono_ns = clock_mono_ns();
	command_push(&s->stop, command_to_all(s));
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
