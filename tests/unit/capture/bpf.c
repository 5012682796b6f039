#include "tests/unit/capture/bpf.h"

#include <stdbool.h>
#include <stdlib.h>

struct machine {
	const uint8_t *data;
	size_t bytes;
	uint32_t packet_type;
	uint32_t a;
	uint32_t x;
	uint32_t cells[BPF_MEMWORDS];
	bool stored[BPF_MEMWORDS];
};

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

/* @return false: outside of the frame, which is left out */
static bool load(struct machine *m, uint16_t code, uint32_t at)
{
	size_t size = BPF_SIZE(code) == BPF_W   ? 4
		      : BPF_SIZE(code) == BPF_H ? 2
						: 1;

	if (at == (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)) {
		m->a = m->packet_type;
		return true;
	}
	if (at > m->bytes || m->bytes - at < size)
		return false;
	m->a = 0;
	for (size_t i = 0; i < size; i++)
		m->a = m->a << 8 | m->data[at + i];
	return true;
}

static uint32_t cell(const struct machine *m, uint32_t k)
{
	must(k < BPF_MEMWORDS && m->stored[k]);
	return m->cells[k];
}

static void store(struct machine *m, uint32_t k, uint32_t value)
{
	must(k < BPF_MEMWORDS);
	m->cells[k] = value;
	m->stored[k] = true;
}

static void compute(struct machine *m, const struct sock_filter *i)
{
	uint32_t with = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		m->a += with;
		return;
	case BPF_MUL:
		m->a *= with;
		return;
	case BPF_AND:
		m->a &= with;
		return;
	case BPF_LSH:
		must(with < 32);
		m->a <<= with;
		return;
	default:
		abort();
	}
}

static bool holds(const struct machine *m, const struct sock_filter *i)
{
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return m->a == i->k;
	case BPF_JGT:
		return m->a > i->k;
	case BPF_JGE:
		return m->a >= i->k;
	case BPF_JSET:
		return (m->a & i->k) != 0;
	default:
		abort();
	}
}

/* @return false: the frame ends here */
static bool run_instruction(struct machine *m, const struct sock_filter *i,
			    size_t *pc)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		if (BPF_MODE(i->code) == BPF_IMM)
			m->a = i->k;
		else if (BPF_MODE(i->code) == BPF_MEM)
			m->a = cell(m, i->k);
		else if (BPF_MODE(i->code) == BPF_IND)
			return load(m, i->code, m->x + i->k);
		else
			return load(m, i->code, i->k);
		return true;
	case BPF_LDX:
		m->x = BPF_MODE(i->code) == BPF_MEM ? cell(m, i->k) : i->k;
		return true;
	case BPF_ST:
		store(m, i->k, m->a);
		return true;
	case BPF_STX:
		store(m, i->k, m->x);
		return true;
	case BPF_ALU:
		compute(m, i);
		return true;
	case BPF_JMP:
		if (BPF_OP(i->code) == BPF_JA)
			*pc += i->k;
		else
			*pc += holds(m, i) ? i->jt : i->jf;
		return true;
	case BPF_MISC:
		if (BPF_MISCOP(i->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		return true;
	default:
		abort();
	}
}

uint32_t bpf_run(const struct filter_program *p, const uint8_t *data,
		 size_t bytes, uint32_t packet_type)
{
	struct machine m = {
		.data = data, .bytes = bytes, .packet_type = packet_type};

	for (size_t pc = 0; pc < p->count; pc++) {
		const struct sock_filter *i = &p->code[pc];

		if (i->code == (BPF_RET | BPF_K))
			return i->k;
		if (!run_instruction(&m, i, &pc))
			return 0;
	}
	abort();
}
