#include "agent/engine/report/live.h"

static void mean_add(struct live_mean *m, bool known, double value)
{
	if (known) {
		m->sum += value;
		m->n++;
	}
}

void live_second(struct live *l, bool outgoing,
		 const struct stream_second *second)
{
	struct live_direction *d = &l->directions[outgoing];

	d->packets += second->packets;
	if (second->has_loss) {
		d->has_loss = true;
		d->lost += second->lost;
		d->expected += second->expected;
	}
	mean_add(&d->jitter_ms, second->has_jitter, second->jitter_ms);
	mean_add(&d->rtt_ms, second->has_rtt, second->rtt_ms);
	mean_add(&d->mos, second->has_mos, second->mos);
}

static int mean_put(json_t *object, const char *name, struct live_mean *m)
{
	int err = 0;

	if (m->n)
		err = json_object_set_new(object, name,
					  json_real(m->sum / (double)m->n));
	*m = (struct live_mean){0};
	return err;
}

static json_t *direction_encode(struct live_direction *d)
{
	json_t *o = json_pack("{s:I}", "packets", (json_int_t)d->packets);
	int err = 0;

	if (!o)
		return NULL;
	if (d->has_loss)
		err |= json_object_set_new(o, "lost", json_integer(d->lost));
	if (d->has_loss && d->expected)
		err |= json_object_set_new(o, "loss_pct",
					   json_real(100.0 * (double)d->lost /
						     (double)d->expected));
	err |= mean_put(o, "jitter_ms", &d->jitter_ms);
	err |= mean_put(o, "rtt_ms", &d->rtt_ms);
	err |= mean_put(o, "mos", &d->mos);
	if (err) {
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *live_encode(struct live *l, unsigned calls_active)
{
	json_t *in = direction_encode(&l->directions[0]);
	json_t *out = direction_encode(&l->directions[1]);

	/* The format takes both references, also when it fails. */
	return json_pack("{s:s, s:I, s:o, s:o}", "type", "live", "calls_active",
			 (json_int_t)calls_active, "in", in, "out", out);
}
