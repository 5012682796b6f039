/* Processor time to protect, and to verify and decrypt, an RTP packet of 172
 * bytes: our SRTP, libsrtp2 and libre's, each suite.
 * Usage: bench-srtp [CONTEXTS [PACKETS]]. Packets take turns between CONTEXTS
 * pairs of contexts (1), as calls do. */
#include "base/big_endian.h"
#include "base/str.h"
#include "media/security/srtp_context.h"
#include "media/security/srtp_keys.h"
#include "media/security/srtp_libsrtp2.h"

#include <re.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS       7u
#define HEADER_BYTES 12
#define PACKET_BYTES 172
#define ROOM         256
#define PACKETS      200000 /* a round */
#define SSRC         0x11223344u

enum library {
	BUILTIN = MEDIA_SRTP_LIBRARY_BUILTIN,
	LIBSRTP2 = MEDIA_SRTP_LIBRARY_LIBSRTP2,
	LIBRE,
	LIBRARIES
};

/* Contexts of one call: the sender's, and its peer's for receiving. */
struct pair {
	struct srtp_context *contexts[2];
	struct srtp *re[2];
	uint32_t next;
};

static const enum srtp_suite re_suites[MEDIA_SRTP_SUITE_COUNT] = {
	[MEDIA_SRTP_AES_CM_128_HMAC_SHA1_80] = SRTP_AES_CM_128_HMAC_SHA1_80,
	[MEDIA_SRTP_AES_CM_128_HMAC_SHA1_32] = SRTP_AES_CM_128_HMAC_SHA1_32,
	[MEDIA_SRTP_AES_256_CM_HMAC_SHA1_80] = SRTP_AES_256_CM_HMAC_SHA1_80,
	[MEDIA_SRTP_AES_256_CM_HMAC_SHA1_32] = SRTP_AES_256_CM_HMAC_SHA1_32,
	[MEDIA_SRTP_AEAD_AES_128_GCM] = SRTP_AES_128_GCM,
	[MEDIA_SRTP_AEAD_AES_256_GCM] = SRTP_AES_256_GCM,
};

static int pair_open(struct pair *p, enum library library,
		     enum media_srtp_suite suite, size_t seed)
{
	const struct srtp_suite_info *info = srtp_suite_info(suite);
	struct media_crypto c = {.suite = suite};
	int err = 0;

	for (size_t i = 0; i < sizeof(c.key); i++)
		c.key[i] = (uint8_t)(seed * 37 + i * 11);
	memset(p, 0, sizeof(*p));
	for (int i = 0; !err && i < 2; i++)
		err = library == LIBRE
			      ? srtp_alloc(&p->re[i], re_suites[suite], c.key,
					   (size_t)info->key_bytes +
						   info->salt_bytes,
					   0)
			      : srtp_context_new(
					&p->contexts[i], &c,
					(enum media_srtp_library)library);
	return err;
}

static void pair_close(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		srtp_context_free(p->contexts[i]);
		mem_deref(p->re[i]);
	}
}

static int packet_pass(struct pair *p, enum library library, struct mbuf *mb)
{
	size_t bytes = PACKET_BYTES;
	int err;

	memset(mb->buf, 0xd5, PACKET_BYTES);
	be32_put(mb->buf, 0x80080000u | (p->next++ & 0xffff));
	be32_put(mb->buf + 8, SSRC);
	if (library == LIBRE) {
		mb->pos = 0;
		mb->end = PACKET_BYTES;
		err = srtp_encrypt(p->re[0], mb);
		mb->pos = 0;
		return err ? err : srtp_decrypt(p->re[1], mb);
	}
	err = srtp_context_protect(p->contexts[0], mb->buf, &bytes, ROOM);
	return err ? err
		   : srtp_context_unprotect(p->contexts[1], mb->buf, &bytes);
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @param ret_us  of a packet, both ways; the median of the rounds */
static int run(enum library library, enum media_srtp_suite suite,
	       uint64_t count, uint64_t packets, double *ret_us)
{
	struct pair *pairs = calloc(count, sizeof(*pairs));
	struct mbuf *mb = mbuf_alloc(ROOM);
	double us[ROUNDS];
	int err = pairs && mb ? 0 : -1;

	for (uint64_t i = 0; !err && i < count; i++)
		err = pair_open(&pairs[i], library, suite, i);
	for (unsigned k = 0; !err && k < ROUNDS; k++) {
		double from_us = cpu_us();

		for (uint64_t n = 0; !err && n < packets; n++)
			err = packet_pass(&pairs[n % count], library, mb);
		us[k] = (cpu_us() - from_us) / (double)packets;
	}
	for (uint64_t i = 0; pairs && i < count; i++)
		pair_close(&pairs[i]);
	free(pairs);
	mem_deref(mb);
	if (err)
		return err;
	qsort(us, ROUNDS, sizeof(us[0]), compare);
	*ret_us = us[ROUNDS / 2];
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[LIBRARIES] = {"builtin", "libsrtp2",
						     "libre"};
	uint64_t count = 1;
	uint64_t packets = PACKETS;
	const char *refused;
	int err = 0;

	if (argc > 3 || (argc > 1 && str_to_u64(argv[1], 10000, &count)) ||
	    (argc > 2 && str_to_u64(argv[2], 100000000, &packets)) ||
	    count == 0 || packets == 0) {
		fprintf(stderr, "usage: bench-srtp [CONTEXTS [PACKETS]]\n");
		return 2;
	}
	if (srtp_libsrtp2_init(&refused)) {
		fprintf(stderr, "bench: libsrtp2 refuses %s\n", refused);
		return 1;
	}
	printf("us to protect and unprotect a packet, %llu pairs of contexts, "
	       "median of %u times %llu packets\n%-24s",
	       (unsigned long long)count, ROUNDS, (unsigned long long)packets,
	       "suite");
	for (unsigned k = 0; k < LIBRARIES; k++)
		printf(" %9s", names[k]);
	printf("\n");
	for (unsigned i = 0; !err && i < MEDIA_SRTP_SUITE_COUNT; i++) {
		enum media_srtp_suite suite = (enum media_srtp_suite)i;

		printf("%-24s", srtp_suite_info(suite)->name);
		for (unsigned k = 0; !err && k < LIBRARIES; k++) {
			double us = 0;

			err = run((enum library)k, suite, count, packets, &us);
			printf(" %9.2f", us);
			fflush(stdout);
		}
		printf("\n");
	}
	if (err)
		fprintf(stderr, "bench: error %d\n", err);
	return err ? 1 : 0;
}
