/**
 * Write a pcapng file of one section, little-endian, with an interface for each
 * role of a run.
 * Source: draft-ietf-opsawg-pcapng-03
 * Thread: the owner's.
 */
#ifndef OFFHOOK_SERVER_REPORT_PCAPNG_H
#define OFFHOOK_SERVER_REPORT_PCAPNG_H

#include "base/packet_file.h"

#include <stddef.h>
#include <stdio.h>

struct pcapng;

/** Write the section's header. @param out  borrowed
 * @return 0; -ENOMEM; -EIO */
int pcapng_new(struct pcapng **ret, FILE *out);
/** @param p  may be NULL @return NULL */
struct pcapng *pcapng_free(struct pcapng *p);

/** Bytes of a packet. */
struct pcapng_part {
	const void *data;
	size_t bytes;
};

/**
 * Write a packet that begins with an IP header. The first one of a role writes its
 * interface, whose name is the role.
 * @param data  in parts, one after the other: packet->captured bytes in all
 * @return 0; -EIO; -ENOSPC too many roles
 */
int pcapng_packet(struct pcapng *p, const char *role,
		  const struct packet_file_record *packet,
		  const struct pcapng_part *parts, size_t part_count);

#endif
