/* A filter as a classic BPF program. Conditional jumps reach 255 instructions
 * only: they skip an unconditional one, which reaches everywhere. */
#include "capture/filter.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>

#define LABELS_MAX (16 * FILTER_NODES_MAX + 256)
#define SNAP_BYTES 262144 /* the whole frame */

/* As datagram.c has them. */
#define TAGS_MAX       4
#define EXTENSIONS_MAX 8

/* What the first part of the program finds out, in the scratch memory. */
enum cell {
	CELL_IP,    /* where the IP header begins */
	CELL_L4,    /* where the UDP or TCP header begins; if CELL_PORTS */
	CELL_V6,    /* 1: IPv6 */
	CELL_PORTS, /* 0: it is a fragment, ports and protocol are not told */
	CELL_PROTOCOL,
};

struct assembler {
	struct filter_program *out;
	bool full;
	uint32_t labels;
	uint32_t place[LABELS_MAX];
};

static void emit(struct assembler *a, uint16_t code, uint32_t k, uint8_t jt,
		 uint8_t jf)
{
	struct filter_program *p = a->out;

	if (p->count == FILTER_PROGRAM_MAX) {
		a->full = true;
		return;
	}
	p->code[p->count++] = (struct sock_filter){code, jt, jf, k};
}

static void op(struct assembler *a, uint16_t code, uint32_t k)
{
	emit(a, code, k, 0, 0);
}

static uint32_t label(struct assembler *a)
{
	if (a->labels == LABELS_MAX) {
		a->full = true;
		return 0;
	}
	return a->labels++;
}

static void here(struct assembler *a, uint32_t l)
{
	a->place[l] = (uint32_t)a->out->count;
}

/* Its distance is known when all labels have their places. */
static void go(struct assembler *a, uint32_t l)
{
	op(a, BPF_JMP | BPF_JA, l);
}

/* Jump if the condition holds, else go on. */
static void go_if(struct assembler *a, uint16_t test, uint32_t k, uint32_t l)
{
	emit(a, (uint16_t)(BPF_JMP | test | BPF_K), k, 0, 1);
	go(a, l);
}

static void load(struct assembler *a, uint16_t size, uint32_t at)
{
	op(a, (uint16_t)(BPF_LD | size | BPF_ABS), at);
}

/* At X + at. */
static void load_x(struct assembler *a, uint16_t size, uint32_t at)
{
	op(a, (uint16_t)(BPF_LD | size | BPF_IND), at);
}

static void store(struct assembler *a, enum cell cell, uint32_t value)
{
	op(a, BPF_LD | BPF_IMM, value);
	op(a, BPF_ST, cell);
}

static void advance_x(struct assembler *a, uint32_t bytes)
{
	op(a, BPF_MISC | BPF_TXA, 0);
	op(a, BPF_ALU | BPF_ADD | BPF_K, bytes);
	op(a, BPF_MISC | BPF_TAX, 0);
}

struct ends {
	uint32_t v4;
	uint32_t v6;
	uint32_t drop;
	uint32_t known; /* the cells are filled */
};

/* X: the IP header. */
static void find_ip_in_ethernet(struct assembler *a, const struct ends *e)
{
	uint32_t pppoe = label(a);

	for (uint32_t tags = 0; tags <= TAGS_MAX; tags++) {
		uint32_t tagged = label(a);

		op(a, BPF_LDX | BPF_IMM, 14 + 4 * tags);
		load(a, BPF_H, 12 + 4 * tags);
		go_if(a, BPF_JEQ, 0x0800, e->v4);
		go_if(a, BPF_JEQ, 0x86dd, e->v6);
		go_if(a, BPF_JEQ, 0x8864, pppoe);
		go_if(a, BPF_JEQ, 0x8100, tagged);
		go_if(a, BPF_JEQ, 0x88a8, tagged);
		go_if(a, BPF_JEQ, 0x9100, tagged);
		go(a, e->drop);
		here(a, tagged);
	}
	go(a, e->drop);
	here(a, pppoe);
	advance_x(a, 8);
	load_x(a, BPF_B, 0);
	op(a, BPF_ALU | BPF_AND | BPF_K, 0xf0);
	go_if(a, BPF_JEQ, 0x60, e->v6);
	go(a, e->v4);
}

static void find_ip_in_ip(struct assembler *a, const struct ends *e)
{
	op(a, BPF_LDX | BPF_IMM, 0);
	load(a, BPF_B, 0);
	op(a, BPF_ALU | BPF_AND | BPF_K, 0xf0);
	go_if(a, BPF_JEQ, 0x60, e->v6);
	go(a, e->v4);
}

static void read_ipv4(struct assembler *a, const struct ends *e)
{
	uint32_t part = label(a);
	uint32_t carries = label(a);

	here(a, e->v4);
	op(a, BPF_STX, CELL_IP);
	store(a, CELL_V6, 0);
	store(a, CELL_PORTS, 0);
	store(a, CELL_L4, 0);
	load_x(a, BPF_B, 9);
	op(a, BPF_ST, CELL_PROTOCOL);
	go_if(a, BPF_JEQ, 17, carries);
	go_if(a, BPF_JEQ, 6, carries);
	go(a, e->drop);
	here(a, carries);
	load_x(a, BPF_H, 6);
	go_if(a, BPF_JSET, 0x3fff, part);
	load_x(a, BPF_B, 0);
	op(a, BPF_ALU | BPF_AND | BPF_K, 15);
	op(a, BPF_ALU | BPF_LSH | BPF_K, 2);
	op(a, BPF_ALU | BPF_ADD | BPF_X, 0);
	op(a, BPF_ST, CELL_L4);
	store(a, CELL_PORTS, 1);
	here(a, part);
	go(a, e->known);
}

/* X: an extension header, its next header in CELL_PROTOCOL; moves on. */
static void skip_extension(struct assembler *a, uint32_t factor, uint32_t more)
{
	load_x(a, BPF_B, 0);
	op(a, BPF_ST, CELL_PROTOCOL);
	load_x(a, BPF_B, 1);
	op(a, BPF_ALU | BPF_ADD | BPF_K, more);
	op(a, BPF_ALU | BPF_MUL | BPF_K, factor);
	op(a, BPF_ALU | BPF_ADD | BPF_X, 0);
	op(a, BPF_MISC | BPF_TAX, 0);
}

static void read_ipv6(struct assembler *a, const struct ends *e)
{
	uint32_t carries = label(a);

	here(a, e->v6);
	op(a, BPF_STX, CELL_IP);
	store(a, CELL_V6, 1);
	store(a, CELL_PORTS, 0);
	store(a, CELL_L4, 0);
	load_x(a, BPF_B, 6);
	op(a, BPF_ST, CELL_PROTOCOL);
	advance_x(a, 40);
	for (unsigned i = 0; i <= EXTENSIONS_MAX; i++) {
		uint32_t skip = label(a);
		uint32_t authentication = label(a);
		uint32_t done = label(a);

		op(a, BPF_LD | BPF_MEM, CELL_PROTOCOL);
		go_if(a, BPF_JEQ, 17, carries);
		go_if(a, BPF_JEQ, 6, carries);
		go_if(a, BPF_JEQ, 44, e->known);
		go_if(a, BPF_JEQ, 51, authentication);
		go_if(a, BPF_JEQ, 0, skip);
		go_if(a, BPF_JEQ, 43, skip);
		go_if(a, BPF_JEQ, 60, skip);
		go_if(a, BPF_JEQ, 135, skip);
		go(a, e->drop);
		here(a, authentication);
		skip_extension(a, 4, 2);
		go(a, done);
		here(a, skip);
		skip_extension(a, 8, 1);
		here(a, done);
	}
	go(a, e->drop);
	here(a, carries);
	op(a, BPF_STX, CELL_L4);
	store(a, CELL_PORTS, 1);
	go(a, e->known);
}

/* ---- conditions: to `yes` if the field is as they say, else to `no` ---- */

static void test_v4(struct assembler *a, const struct filter_node *n,
		    uint32_t at, uint32_t yes)
{
	unsigned bits = n->bits - 96u;
	uint32_t mask = bits ? UINT32_MAX << (32 - bits) : 0;
	uint32_t want;

	memcpy(&want, n->address.bytes + 12, sizeof(want));
	load_x(a, BPF_W, at);
	op(a, BPF_ALU | BPF_AND | BPF_K, mask);
	go_if(a, BPF_JEQ, __builtin_bswap32(want) & mask, yes);
}

static void test_v6(struct assembler *a, const struct filter_node *n,
		    uint32_t at, uint32_t yes)
{
	uint32_t differs = label(a);
	unsigned bits = n->bits;

	for (uint32_t i = 0; i < 4 && bits > 0; i++) {
		unsigned part = bits < 32 ? bits : 32;
		uint32_t mask = UINT32_MAX << (32 - part);
		uint32_t same = label(a);
		uint32_t want;

		memcpy(&want, n->address.bytes + 4 * (size_t)i, sizeof(want));
		load_x(a, BPF_W, at + 4 * i);
		op(a, BPF_ALU | BPF_AND | BPF_K, mask);
		go_if(a, BPF_JEQ, __builtin_bswap32(want) & mask, same);
		go(a, differs);
		here(a, same);
		bits -= part;
	}
	go(a, yes);
	here(a, differs);
}

/* An IPv4 network is one of IPv6 too, of mapped addresses, which is how
 * filter_matches() sees them: ::/0 is every IPv4 address. */
static bool covers_mapped(const struct filter_node *n, bool *ret_v4)
{
	struct address mapped;
	const uint8_t none[4] = {0};

	address_set_ipv4(&mapped, none);
	*ret_v4 = n->bits >= 96 &&
		  memcmp(mapped.bytes, n->address.bytes, 12) == 0;
	if (n->bits >= 96)
		return false;
	for (unsigned i = 0; i < n->bits; i++) {
		if ((mapped.bytes[i / 8] ^ n->address.bytes[i / 8]) &
		    0x80 >> i % 8)
			return false;
	}
	return true;
}

static void test_host(struct assembler *a, const struct filter_node *n,
		      uint32_t yes, uint32_t no)
{
	uint32_t v6 = label(a);
	bool as_v4;
	bool all_v4 = covers_mapped(n, &as_v4);

	op(a, BPF_LDX | BPF_MEM, CELL_IP);
	op(a, BPF_LD | BPF_MEM, CELL_V6);
	go_if(a, BPF_JEQ, 1, v6);
	if (all_v4)
		go(a, yes);
	if (as_v4 && n->side != FILTER_DST)
		test_v4(a, n, 12, yes);
	if (as_v4 && n->side != FILTER_SRC)
		test_v4(a, n, 16, yes);
	go(a, no);
	here(a, v6);
	if (n->side != FILTER_DST)
		test_v6(a, n, 8, yes);
	if (n->side != FILTER_SRC)
		test_v6(a, n, 24, yes);
	go(a, no);
}

static void test_port(struct assembler *a, const struct filter_node *n,
		      uint32_t yes, uint32_t no)
{
	for (uint32_t at = 0; at < 4; at += 2) {
		uint32_t above = label(a);
		uint32_t other = label(a);

		if (n->side == (at ? FILTER_SRC : FILTER_DST))
			continue;
		op(a, BPF_LDX | BPF_MEM, CELL_L4);
		load_x(a, BPF_H, at);
		go_if(a, BPF_JGE, n->first, above);
		go(a, other);
		here(a, above);
		go_if(a, BPF_JGT, n->last, other);
		go(a, yes);
		here(a, other);
	}
	go(a, no);
}

static void test(struct assembler *a, const struct filter_node *n, uint32_t yes,
		 uint32_t no)
{
	uint32_t whole = label(a);

	if (n->kind == FILTER_HOST) {
		test_host(a, n, n->negated ? no : yes, n->negated ? yes : no);
		return;
	}
	/* the parts of a fragmented datagram do not tell: all may pass */
	op(a, BPF_LD | BPF_MEM, CELL_PORTS);
	go_if(a, BPF_JEQ, 1, whole);
	go(a, yes);
	here(a, whole);
	if (n->kind == FILTER_PORT) {
		test_port(a, n, n->negated ? no : yes, n->negated ? yes : no);
		return;
	}
	op(a, BPF_LD | BPF_MEM, CELL_PROTOCOL);
	go_if(a, BPF_JEQ, n->kind == FILTER_UDP ? 17 : 6,
	      n->negated ? no : yes);
	go(a, n->negated ? yes : no);
}

/* From the root down, so that all jumps go forward. The recursion is as deep as
 * there are nodes at most. */
static void tree(struct assembler *a, const struct filter *f, size_t at,
		 uint32_t yes, uint32_t no)
{
	const struct filter_node *n = &f->nodes[at];
	uint32_t second;

	if (n->kind != FILTER_AND && n->kind != FILTER_OR) {
		test(a, n, yes, no);
		return;
	}
	second = label(a);
	if (n->kind == FILTER_AND)
		tree(a, f, n->left, second, no);
	else
		tree(a, f, n->left, yes, second);
	here(a, second);
	tree(a, f, n->right, yes, no);
}

static void resolve(struct assembler *a)
{
	struct filter_program *p = a->out;

	for (size_t i = 0; i < p->count; i++) {
		if (p->code[i].code == (BPF_JMP | BPF_JA))
			p->code[i].k = a->place[p->code[i].k] - (uint32_t)i - 1;
	}
}

int filter_compile(struct filter_program *ret, const struct filter *f,
		   enum filter_link link, bool loopback)
{
	struct assembler a = {.out = ret};
	const struct ends e = {label(&a), label(&a), label(&a), label(&a)};
	uint32_t accept = label(&a);

	ret->count = 0;
	if (loopback) {
		load(&a, BPF_W, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
		go_if(&a, BPF_JEQ, PACKET_OUTGOING, e.drop);
	}
	if (link == FILTER_LINK_ETHERNET)
		find_ip_in_ethernet(&a, &e);
	else
		find_ip_in_ip(&a, &e);
	read_ipv4(&a, &e);
	read_ipv6(&a, &e);
	here(&a, e.known);
	if (f->count > 0)
		tree(&a, f, f->count - 1, accept, e.drop);
	here(&a, accept);
	op(&a, BPF_RET | BPF_K, SNAP_BYTES);
	here(&a, e.drop);
	op(&a, BPF_RET | BPF_K, 0);
	if (a.full)
		return -E2BIG;
	resolve(&a);
	return 0;
}
