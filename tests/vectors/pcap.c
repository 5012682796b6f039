#include "tests/vectors/pcap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t host32(const struct pcap *p, size_t at)
{
	uint32_t v;

	memcpy(&v, p->data + at, sizeof(v));
	return p->swapped ? __builtin_bswap32(v) : v;
}

int pcap_open(struct pcap *p, const char *path)
{
	FILE *f = fopen(path, "rb");
	long bytes;
	int err = 0;

	*p = (struct pcap){0};
	if (!f)
		return -errno;
	if (fseek(f, 0, SEEK_END) || (bytes = ftell(f)) < 24 ||
	    fseek(f, 0, SEEK_SET)) {
		err = -EBADMSG;
		goto out;
	}
	p->bytes = (size_t)bytes;
	p->data = malloc(p->bytes);
	if (!p->data || fread(p->data, 1, p->bytes, f) != p->bytes) {
		err = -ENOMEM;
		goto out;
	}
	switch (host32(p, 0)) {
	case 0xa1b2c3d4:
		break;
	case 0xa1b23c4d:
		p->nanoseconds = true;
		break;
	case 0xd4c3b2a1:
		p->swapped = true;
		break;
	case 0x4d3cb2a1:
		p->swapped = true;
		p->nanoseconds = true;
		break;
	default:
		err = -EBADMSG;
	}
	if (!err && host32(p, 20) != 1)
		err = -EBADMSG;
	p->at = 24;
out:
	fclose(f);
	if (err)
		pcap_close(p);
	return err;
}

static void read_udp(struct datagram *d, const uint8_t *p, size_t captured)
{
	if (captured < 8 || be16(p + 4) < 8)
		return;
	d->udp = true;
	d->sport = be16(p);
	d->dport = be16(p + 2);
	d->bytes = (size_t)be16(p + 4) - 8;
	d->payload = p + 8;
	d->captured = captured - 8;
	if (d->captured > d->bytes)
		d->captured = d->bytes;
}

static void read_frame(struct datagram *d, const uint8_t *p, size_t captured)
{
	size_t at = 12;
	uint16_t type;

	if (captured < 14)
		return;
	type = be16(p + at);
	while ((type == 0x8100 || type == 0x88a8) && captured >= at + 6) {
		at += 4;
		type = be16(p + at);
	}
	at += 2;
	if (type == 0x0800 && captured >= at + 20 && p[at + 9] == 17) {
		inet_ntop(AF_INET, p + at + 12, d->src, sizeof(d->src));
		inet_ntop(AF_INET, p + at + 16, d->dst, sizeof(d->dst));
		at += 4 * (size_t)(p[at] & 15);
	} else if (type == 0x86dd && captured >= at + 40 && p[at + 6] == 17) {
		inet_ntop(AF_INET6, p + at + 8, d->src, sizeof(d->src));
		inet_ntop(AF_INET6, p + at + 24, d->dst, sizeof(d->dst));
		at += 40;
	} else {
		return;
	}
	if (at <= captured)
		read_udp(d, p + at, captured - at);
}

int pcap_next(struct pcap *p, struct datagram *ret)
{
	size_t captured;

	if (p->at == p->bytes)
		return 0;
	if (p->bytes - p->at < 16)
		return -EBADMSG;
	*ret = (struct datagram){
		.ns = host32(p, p->at) * INT64_C(1000000000) +
		      host32(p, p->at + 4) *
			      (p->nanoseconds ? INT64_C(1) : INT64_C(1000)),
	};
	captured = host32(p, p->at + 8);
	p->at += 16;
	if (captured > p->bytes - p->at)
		return -EBADMSG;
	read_frame(ret, p->data + p->at, captured);
	p->at += captured;
	return 1;
}

void pcap_close(struct pcap *p)
{
	free(p->data);
	p->data = NULL;
}
