#include "media/analysis/rtp_strict.h"

#define RTP_SEQ_MOD  65536u
#define MAX_DROPOUT  3000 /* RFC 3550 A.1 */
#define MAX_MISORDER 100  /* RFC 3550 A.1 */

static void strict_start(struct rtp_strict *s, uint16_t seq)
{
	s->base_seq = seq;
	s->max_seq = seq;
	s->bad_seq = RTP_SEQ_MOD + 1; /* matches no number */
	s->cycles = 0;
	s->received = 0;
	s->received_prior = 0;
	s->expected_prior = 0;
}

void rtp_strict_init(struct rtp_strict *s, uint8_t min_sequential)
{
	*s = (struct rtp_strict){.probation = min_sequential};
}

static bool strict_probation(struct rtp_strict *s, uint16_t seq)
{
	if (seq == (uint16_t)(s->max_seq + 1)) {
		s->probation--;
		s->max_seq = seq;
		if (s->probation == 0) {
			strict_start(s, seq);
			s->received = 1;
			s->valid = true;
			return true;
		}
	} else {
		s->probation = RTP_MIN_SEQUENTIAL - 1;
		s->max_seq = seq;
	}
	s->rejected++;
	return false;
}

bool rtp_strict_update(struct rtp_strict *s, uint16_t seq)
{
	uint16_t ahead;

	if (!s->started) {
		s->started = true;
		strict_start(s, seq);
		if (s->probation == 0) {
			/* max = seq - 1 would add a cycle if seq is 0 */
			s->received = 1;
			s->valid = true;
			return true;
		}
		s->max_seq = (uint16_t)(seq - 1);
	}
	if (s->probation > 0)
		return strict_probation(s, seq);
	ahead = (uint16_t)(seq - s->max_seq);
	if (ahead < MAX_DROPOUT) {
		if (seq < s->max_seq)
			s->cycles += RTP_SEQ_MOD;
		s->max_seq = seq;
	} else if (ahead <= RTP_SEQ_MOD - MAX_MISORDER) {
		if (seq != s->bad_seq) {
			s->bad_seq = (uint16_t)(seq + 1);
			s->rejected++;
			return false;
		}
		strict_start(s, seq);
		s->resyncs++;
	}
	s->received++;
	return true;
}

void rtp_strict_run(struct rtp_strict *s, uint16_t seq, uint32_t count)
{
	if (s->valid && seq == (uint32_t)s->max_seq + 1 &&
	    seq + count <= RTP_SEQ_MOD) {
		s->max_seq = (uint16_t)(s->max_seq + count);
		s->received += count;
		return;
	}
	for (; count > 0; count--)
		rtp_strict_update(s, seq++);
}

uint32_t rtp_strict_ext_max(const struct rtp_strict *s)
{
	return s->cycles + s->max_seq;
}

uint32_t rtp_strict_expected(const struct rtp_strict *s)
{
	return rtp_strict_ext_max(s) - s->base_seq + 1;
}

int64_t rtp_strict_lost(const struct rtp_strict *s)
{
	return (int64_t)rtp_strict_expected(s) - s->received;
}

int32_t rtp_strict_lost_24bit(const struct rtp_strict *s)
{
	int64_t lost = rtp_strict_lost(s);

	if (lost > 0x7fffff)
		return 0x7fffff;
	return lost < -0x800000 ? -0x800000 : (int32_t)lost;
}

uint8_t rtp_strict_fraction(struct rtp_strict *s)
{
	uint32_t expected = rtp_strict_expected(s);
	int64_t interval = (int64_t)expected - s->expected_prior;
	int64_t lost = interval - ((int64_t)s->received - s->received_prior);

	s->expected_prior = expected;
	s->received_prior = s->received;
	if (interval <= 0 || lost <= 0)
		return 0;
	return (uint8_t)(lost >= interval ? 255 : (lost << 8) / interval);
}
