#include "control/server/report/pcapng.h"

#include "base/str.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Section 4 */
#define BLOCK_SECTION   0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET    6u /* enhanced */

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define LINKTYPE_RAW     101u

#define OPTION_END        0
#define OPTION_IF_NAME    2
#define OPTION_IF_TSRESOL 9
#define TSRESOL_NS        9 /* 10^-9 */

#define BLOCK_OVERHEAD 12 /* type and both lengths */
#define ROLES_MAX      256
#define ROLE_BYTES     64

struct pcapng {
	FILE *out;
	char roles[ROLES_MAX][ROLE_BYTES]; /* by interface */
	size_t role_count;
};

static void put16(FILE *out, uint16_t value)
{
	const uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8)};

	fwrite(bytes, sizeof(bytes), 1, out);
}

static void put32(FILE *out, uint32_t value)
{
	put16(out, (uint16_t)value);
	put16(out, (uint16_t)(value >> 16));
}

/* Bytes up to a multiple of 4. */
static size_t padding(size_t bytes)
{
	return (4 - bytes % 4) % 4;
}

static void put_padding(FILE *out, size_t bytes)
{
	static const uint8_t zeros[4];

	fwrite(zeros, 1, padding(bytes), out);
}

static void put_option(FILE *out, uint16_t code, const void *value,
		       size_t bytes)
{
	put16(out, code);
	put16(out, (uint16_t)bytes);
	fwrite(value, 1, bytes, out);
	put_padding(out, bytes);
}

static void put_section(FILE *out)
{
	const uint32_t total = BLOCK_OVERHEAD + 16;

	put32(out, BLOCK_SECTION);
	put32(out, total);
	put32(out, BYTE_ORDER_MAGIC);
	put16(out, 1); /* version 1.0 */
	put16(out, 0);
	put32(out, UINT32_MAX); /* length of the section: not given */
	put32(out, UINT32_MAX);
	put32(out, total);
}

static void put_interface(FILE *out, const char *name)
{
	const uint8_t resolution = TSRESOL_NS;
	const size_t len = strlen(name);
	const uint32_t total =
		(uint32_t)(BLOCK_OVERHEAD + 8 + 4 + len + padding(len) + 8 + 4);

	put32(out, BLOCK_INTERFACE);
	put32(out, total);
	put16(out, LINKTYPE_RAW);
	put16(out, 0);
	put32(out, 0); /* packets may have any length */
	put_option(out, OPTION_IF_NAME, name, len);
	put_option(out, OPTION_IF_TSRESOL, &resolution, sizeof(resolution));
	put16(out, OPTION_END);
	put16(out, 0); /* its length */
	put32(out, total);
}

int pcapng_new(struct pcapng **ret, FILE *out)
{
	struct pcapng *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->out = out;
	put_section(out);
	if (ferror(out)) {
		pcapng_free(p);
		return -EIO;
	}
	*ret = p;
	return 0;
}

struct pcapng *pcapng_free(struct pcapng *p)
{
	free(p);
	return NULL;
}

/* @return number of its interface; -ENOSPC */
static int interface_of(struct pcapng *p, const char *role)
{
	for (size_t i = 0; i < p->role_count; i++) {
		if (strcmp(p->roles[i], role) == 0)
			return (int)i;
	}
	if (p->role_count == ROLES_MAX ||
	    str_copy(p->roles[p->role_count], ROLE_BYTES, role))
		return -ENOSPC;
	put_interface(p->out, role);
	return (int)p->role_count++;
}

int pcapng_packet(struct pcapng *p, const char *role,
		  const struct packet_file_record *packet,
		  const struct pcapng_part *parts, size_t part_count)
{
	const uint64_t t = (uint64_t)packet->unix_ns;
	const uint32_t total =
		(uint32_t)(BLOCK_OVERHEAD + 20 + packet->captured +
			   padding(packet->captured));
	int interface = interface_of(p, role);

	if (interface < 0)
		return interface;
	put32(p->out, BLOCK_PACKET);
	put32(p->out, total);
	put32(p->out, (uint32_t)interface);
	put32(p->out, (uint32_t)(t >> 32));
	put32(p->out, (uint32_t)t);
	put32(p->out, packet->captured);
	put32(p->out, packet->bytes);
	for (size_t i = 0; i < part_count; i++)
		fwrite(parts[i].data, 1, parts[i].bytes, p->out);
	put_padding(p->out, packet->captured);
	put32(p->out, total);
	return ferror(p->out) ? -EIO : 0;
}
