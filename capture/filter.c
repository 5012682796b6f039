#include "capture/filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAP_BYTES  262144 /* the whole frame */
#define IPV6_HEADER 40
#define PACKET_MAX  (IPV6_HEADER + 65535)
#define TAGS_MAX    4 /* as datagram.c */

#define EXAMPLE "\"udp and host 192.0.2.1 and portrange 10000-20000\""

/* What only a whole datagram shows: fragments of UDP and TCP, and extension
 * headers of IPv6, which libpcap's "port" does not look behind. */
#define UNDECIDED                                                      \
	"((ip[9] = 17 or ip[9] = 6) and ip[6:2] & 0x3fff != 0) or "    \
	"(ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 44 or ip6[6] = 51 or " \
	"ip6[6] = 60 or ip6[6] = 135)"
#define UDP_OR_TCP "udp or tcp"

struct filter {
	struct bpf_program exact;    /* of filter_matches() */
	struct bpf_program socket;   /* or undecided */
	struct bpf_program protocol; /* UDP, TCP or undecided */
	bool by_flow;                /* no length, no octets of the packet */
	uint8_t packet[PACKET_MAX];  /* one without extension headers */
};

/* ---- the words: what libpcap would take for a name is found before ---- */

static const char *const words[] = {
	"and",       "arp",       "dst",      "greater", "host",     "icmp",
	"icmp6",     "igmp",      "ip",       "ip6",     "len",      "less",
	"mask",      "multicast", "net",      "not",     "or",       "port",
	"portrange", "proto",     "rarp",     "sctp",    "src",      "tcp",
	"tcp-ack",   "tcp-cwr",   "tcp-ece",  "tcp-fin", "tcp-push", "tcp-rst",
	"tcp-syn",   "tcp-urg",   "tcpflags", "udp",
};

/* They are libpcap's, but not about an IP packet. */
static const char *const link_words[] = {
	"broadcast", "ether",  "inbound", "link", "mpls",
	"outbound",  "pppoed", "pppoes",  "vlan",
};

#define DIGITS     "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEF"
/* Of a name, as libpcap's scanner has them, and of its escapes. */
#define WORD_CHARACTERS \
	DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.$\\"

static bool is_word(const char *word, size_t bytes, const char *want)
{
	return strlen(want) == bytes && memcmp(want, word, bytes) == 0;
}

static bool is_one_of(const char *word, size_t bytes, const char *const *list,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_word(word, bytes, list[i]))
			return true;
	}
	return false;
}

#define IS_ONE_OF(word, bytes, list) \
	is_one_of(word, bytes, list, sizeof(list) / sizeof((list)[0]))

/* A number: decimal, or hexadecimal behind 0x. @return its length; 0: none */
static size_t number_length(const char *word, size_t bytes)
{
	size_t n;

	if (bytes > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X')) {
		n = strspn(word + 2, HEX_DIGITS);
		return n ? n + 2 : 0;
	}
	return strspn(word, DIGITS);
}

/* One to `max` numbers with a character between them: 10.0.0.1, 1000-2000 */
static bool are_numbers(const char *word, size_t bytes, char between,
			unsigned max)
{
	while (max-- > 0) {
		size_t n = number_length(word, bytes);

		if (n == 0 || n > bytes)
			return false;
		if (n == bytes)
			return true;
		if (word[n] != between)
			return false;
		word += n + 1;
		bytes -= n + 1;
	}
	return false;
}

static bool is_ipv6(const char *text, size_t bytes)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr ignored;

	if (bytes >= sizeof(address))
		return false;
	memcpy(address, text, bytes);
	address[bytes] = '\0';
	return inet_pton(AF_INET6, address, &ignored) == 1;
}

/* Characters of an address with two colons at least: one stands between index
 * and size of octets. @return their length; 0: it is something else */
static size_t colons_length(const char *text)
{
	size_t bytes = strspn(text, HEX_DIGITS ":.");
	const char *first = memchr(text, ':', bytes);

	if (!first ||
	    !memchr(first + 1, ':', bytes - (size_t)(first + 1 - text)))
		return 0;
	return bytes;
}

static int refuse(char *reason, const char *word, size_t bytes, const char *why)
{
	snprintf(reason, FILTER_REASON_BYTES, "\"%.*s\" %s, as in " EXAMPLE,
		 bytes < 64 ? (int)bytes : 64, word, why);
	return -EINVAL;
}

static int check_word(const char *word, size_t bytes, bool is_range,
		      char *reason)
{
	if (IS_ONE_OF(word, bytes, words) || are_numbers(word, bytes, '.', 4))
		return 0;
	if (IS_ONE_OF(word, bytes, link_words))
		return refuse(reason, word, bytes,
			      "is about the link layer, the filter sees the "
			      "IP packet (VLAN tags and PPPoE are skipped)");
	if (!are_numbers(word, bytes, '-', 2))
		return refuse(reason, word, bytes,
			      "is not a word of the filter; addresses and "
			      "ports are numbers, names are not looked up");
	if (!is_range)
		return refuse(reason, word, bytes,
			      "is a range: write portrange in front of it");
	return 0;
}

static int check_words(const char *text, char *reason)
{
	bool is_range = false;

	while (*text) {
		size_t bytes = colons_length(text);
		int err = 0;

		if (bytes > 0 && !is_ipv6(text, bytes))
			err = refuse(reason, text, bytes, "is no IPv6 address");
		/* a minus begins no word */
		if (bytes == 0 && *text != '-') {
			bytes = strspn(text, WORD_CHARACTERS);
			if (bytes > 0) {
				err = check_word(text, bytes, is_range, reason);
				is_range = is_word(text, bytes, "portrange");
			}
		}
		if (err)
			return err;
		text += bytes ? bytes : 1;
	}
	return 0;
}

/* ---- compiling ---- */

/* As for a capture of plain IP. */
static int compile(struct bpf_program *ret, const char *text, bool optimize,
		   char *reason)
{
	struct bpf_program program;
	pcap_t *p = pcap_open_dead(DLT_RAW, SNAP_BYTES);
	int err;

	if (!p)
		return -ENOMEM;
	err = pcap_compile(p, &program, text, optimize, PCAP_NETMASK_UNKNOWN);
	if (err) {
		snprintf(reason, FILTER_REASON_BYTES,
			 "%s: the syntax is that of tcpdump, as in " EXAMPLE,
			 pcap_geterr(p));
		err = -EINVAL;
	} else {
		*ret = program;
	}
	pcap_close(p);
	return err;
}

/* In the kernel it is the length of the frame. */
static bool depends_on_length(const struct bpf_program *p)
{
	for (unsigned i = 0; i < p->bf_len; i++) {
		unsigned short code = p->bf_insns[i].code;

		if ((BPF_CLASS(code) == BPF_LD || BPF_CLASS(code) == BPF_LDX) &&
		    BPF_MODE(code) == BPF_LEN)
			return true;
	}
	return false;
}

/* The expression alone first: one that closes a parenthesis of ours is wrong. */
static int compile_all(struct filter *f, const char *text, char *reason)
{
	static const char protocol[] = UNDECIDED " or " UDP_OR_TCP;
	size_t room = sizeof(UNDECIDED) + FILTER_TEXT_MAX + 64;
	char *whole = malloc(room);
	int err;

	if (!whole)
		return -ENOMEM;
	if (!text[0])
		text = UDP_OR_TCP;
	err = compile(&f->exact, text, false, reason);
	if (!err) {
		pcap_freecode(&f->exact);
		snprintf(whole, room, "(" UDP_OR_TCP ") and (%s)", text);
		err = compile(&f->exact, whole, true, reason);
	}
	f->by_flow =
		!err && !depends_on_length(&f->exact) && !strchr(text, '[');
	if (!err)
		err = compile(&f->protocol, protocol, true, reason);
	if (!err) {
		snprintf(whole, room,
			 UNDECIDED " or ((" UDP_OR_TCP ") and (%s))",
			 depends_on_length(&f->exact) ? UDP_OR_TCP : text);
		err = compile(&f->socket, whole, true, reason);
	}
	free(whole);
	return err;
}

int filter_new(struct filter **ret, const char *text, char *reason)
{
	struct filter *f;
	int err;

	snprintf(reason, FILTER_REASON_BYTES, "out of memory");
	if (strlen(text) > FILTER_TEXT_MAX) {
		snprintf(reason, FILTER_REASON_BYTES,
			 "the filter has more than %d characters",
			 FILTER_TEXT_MAX);
		return -E2BIG;
	}
	err = check_words(text, reason);
	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	err = compile_all(f, text, reason);
	if (err)
		filter_free(f);
	else
		*ret = f;
	return err;
}

struct filter *filter_free(struct filter *f)
{
	if (!f)
		return NULL;
	pcap_freecode(&f->exact);
	pcap_freecode(&f->socket);
	pcap_freecode(&f->protocol);
	free(f);
	return NULL;
}

/* ---- evaluating ---- */

/* The packet without its extension headers. */
static const uint8_t *without_extensions(struct filter *f,
					 const struct datagram *d, bool tcp,
					 size_t *captured, size_t *bytes)
{
	size_t skipped = (size_t)(d->transport - d->ip) - IPV6_HEADER;
	uint8_t *p = f->packet;

	*captured -= skipped;
	*bytes -= skipped;
	if (*captured > PACKET_MAX)
		*captured = PACKET_MAX;
	memcpy(p, d->ip, IPV6_HEADER);
	memcpy(p + IPV6_HEADER, d->transport, *captured - IPV6_HEADER);
	p[4] = (uint8_t)((*bytes - IPV6_HEADER) >> 8);
	p[5] = (uint8_t)(*bytes - IPV6_HEADER);
	p[6] = tcp ? IPPROTO_TCP : IPPROTO_UDP;
	return p;
}

bool filter_matches(struct filter *f, const struct datagram *d, bool tcp)
{
	size_t headers = (size_t)(d->payload - d->ip);
	size_t captured = headers + d->captured;
	size_t bytes = headers + d->bytes;
	struct pcap_pkthdr h = {.caplen = 0};
	const uint8_t *p = d->ip;

	if (p[0] >> 4 == 6 && d->transport != p + IPV6_HEADER)
		p = without_extensions(f, d, tcp, &captured, &bytes);
	h.caplen = (bpf_u_int32)captured;
	h.len = (bpf_u_int32)bytes;
	return pcap_offline_filter(&f->exact, &h, p) > 0;
}

bool filter_is_by_flow(const struct filter *f)
{
	return f->by_flow;
}

/* ---- the program for the kernel ---- */

static void add(struct filter_program *p, uint16_t code, uint8_t jt, uint32_t k)
{
	p->code[p->count++] = (struct sock_filter){code, jt, 0, k};
}

/* A program for packets that begin at `shift` in the frame. */
static void add_shifted(struct filter_program *p,
			const struct bpf_program *from, uint32_t shift)
{
	for (unsigned i = 0; i < from->bf_len; i++) {
		const struct bpf_insn *b = &from->bf_insns[i];
		uint16_t class = BPF_CLASS(b->code);
		uint16_t mode = BPF_MODE(b->code);
		bool reads =
			(class == BPF_LD || class == BPF_LDX) &&
			(mode == BPF_ABS || mode == BPF_IND || mode == BPF_MSH);

		p->code[p->count++] = (struct sock_filter){
			b->code, b->jt, b->jf, reads ? b->k + shift : b->k};
	}
}

/* Instructions of a level of tags before the programs. */
#define LEVEL_HEAD 10

/*
 * An Ethernet type, of the frame or behind its tags: IP is decided by `ip`,
 * PPPoE (RFC 2516 section 4: 8 octets) by `pppoe`, a tag by the next level.
 */
static void add_level(struct filter_program *p, unsigned tags,
		      const struct bpf_program *ip,
		      const struct bpf_program *pppoe)
{
	/* the first instruction after these tests is no. 7 */
	enum {
		TAG = 8,
		PPPOE = 9,
		IP = 10
	};
	static const struct {
		uint16_t type;
		uint8_t target;
	} tests[] = {
		{0x0800, IP},  {0x86dd, IP},  {0x8864, PPPOE},
		{0x8100, TAG}, {0x88a8, TAG}, {0x9100, TAG},
	};
	uint32_t at = 12 + 4 * tags;

	add(p, BPF_LD | BPF_H | BPF_ABS, 0, at);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		add(p, BPF_JMP | BPF_JEQ | BPF_K,
		    (uint8_t)(tests[i].target - (i + 2)), tests[i].type);
	add(p, BPF_RET | BPF_K, 0, 0);
	if (tags < TAGS_MAX)
		add(p, BPF_JMP | BPF_JA, 0, 1 + ip->bf_len + pppoe->bf_len);
	else
		add(p, BPF_RET | BPF_K, 0, 0);
	add(p, BPF_JMP | BPF_JA, 0, ip->bf_len);
	add_shifted(p, ip, at + 2);
	add_shifted(p, pppoe, at + 10);
}

int filter_socket_program(struct filter_program *ret, const struct filter *f,
			  enum filter_link link, bool loopback,
			  enum filter_detail detail)
{
	static struct bpf_insn pass = {BPF_RET | BPF_K, 0, 0, SNAP_BYTES};
	const struct bpf_program undecided = {1, &pass};
	const struct bpf_program *ip =
		detail == FILTER_DETAIL_PROTOCOL ? &f->protocol : &f->socket;
	const struct bpf_program *tagged =
		detail == FILTER_DETAIL_UNTAGGED ? &undecided : ip;
	size_t count = 3 + (TAGS_MAX + 1) * LEVEL_HEAD + ip->bf_len +
		       (2 * TAGS_MAX + 1) * (size_t)tagged->bf_len;

	if (link == FILTER_LINK_IP)
		count = 3 + ip->bf_len;
	if (count > FILTER_PROGRAM_MAX)
		return -E2BIG;
	ret->count = 0;
	if (loopback) {
		add(ret, BPF_LD | BPF_W | BPF_ABS, 0,
		    (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
		ret->code[ret->count++] = (struct sock_filter){
			BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PACKET_OUTGOING};
		add(ret, BPF_RET | BPF_K, 0, 0);
	}
	if (link == FILTER_LINK_IP)
		add_shifted(ret, ip, 0);
	for (unsigned tags = 0;
	     link == FILTER_LINK_ETHERNET && tags <= TAGS_MAX; tags++)
		add_level(ret, tags, tags ? tagged : ip, tagged);
	return 0;
}
