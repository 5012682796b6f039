#include "media/capture/packet_capture.h"

#include "base/clock.h"
#include "base/packet_file.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often the thread looks into the rings. */
#define TICK_NS (20 * NS_PER_MS)
/* The RX thread reads one socket after another, and the kernel has stamped the
 * packets before: a packet is written when those of its time have come. */
#define DELAY_NS (100 * NS_PER_MS)

/* Packets that wait for their time; when they are as many, or have as many
 * bytes, all are written. */
#define WAITING_MAX       65536
#define WAITING_BYTES_MAX (8u << 20)

struct waiting {
	int64_t mono_ns;
	uint32_t at; /* in `bytes` of the batch */
	uint32_t bytes;
};

struct batch {
	struct waiting *list;
	uint8_t *bytes;
	size_t count;
	size_t used; /* of `bytes` */
};

struct packet_capture {
	/* constant */
	struct payload_ring *rings[PACKET_CAPTURE_FROM_COUNT];
	int64_t wall_offset_ns;
	uint64_t bytes_max;
	pthread_t thread;
	/* loop */
	bool started;
	/* loop -> writer */
	_Atomic bool quit;
	/* writer */
	FILE *file;
	struct batch now;
	struct batch next; /* what is kept for the next turn */
	uint64_t bytes;    /* of the file */
	struct media_captured result;
};

/* ---- writer ---- */

/* After the first packet that is not written none is: the file is the whole
 * beginning of the run. */
static void write_one(struct packet_capture *c, const struct waiting *w)
{
	const uint8_t *data = c->now.bytes + w->at;
	const struct packet_file_record r = {
		.unix_ns = w->mono_ns + c->wall_offset_ns,
		.captured = w->bytes,
		.bytes = (uint32_t)packet_file_udp_packet(data),
	};
	uint8_t record[PACKET_FILE_RECORD_BYTES];

	if (c->bytes + sizeof(record) + w->bytes > c->bytes_max)
		c->result.full = true;
	if (c->result.full || c->result.err) {
		c->result.unwritten++;
		return;
	}
	packet_file_record_write(record, &r);
	if (fwrite(record, sizeof(record), 1, c->file) != 1 ||
	    fwrite(data, w->bytes, 1, c->file) != 1) {
		c->result.err = errno ? -errno : -EIO;
		c->result.unwritten++;
		return;
	}
	c->bytes += sizeof(record) + w->bytes;
	c->result.packets++;
}

static int by_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->mono_ns != y->mono_ns)
		return x->mono_ns < y->mono_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void keep(struct batch *b, const struct waiting *w, const uint8_t *from)
{
	b->list[b->count] = *w;
	b->list[b->count++].at = (uint32_t)b->used;
	memcpy(b->bytes + b->used, from + w->at, w->bytes);
	b->used += w->bytes;
}

/* Write the packets up to a time, keep the others. */
static void write_until(struct packet_capture *c, int64_t until_ns)
{
	struct batch written = c->now;

	qsort(c->now.list, c->now.count, sizeof(*c->now.list), by_time);
	for (size_t i = 0; i < c->now.count; i++) {
		const struct waiting *w = &c->now.list[i];

		if (w->mono_ns <= until_ns)
			write_one(c, w);
		else
			keep(&c->next, w, c->now.bytes);
	}
	c->now = c->next;
	written.count = 0;
	written.used = 0;
	c->next = written;
}

/* @return false: the ring is empty, or the batch is full */
static bool take_one(struct packet_capture *c, struct payload_ring *ring)
{
	struct batch *b = &c->now;
	struct payload head;

	if (b->count == WAITING_MAX ||
	    b->used + PAYLOAD_BYTES_MAX > WAITING_BYTES_MAX ||
	    !payload_ring_pop(ring, &head, b->bytes + b->used))
		return false;
	b->list[b->count++] = (struct waiting){
		.mono_ns = head.mono_ns,
		.at = (uint32_t)b->used,
		.bytes = head.bytes,
	};
	b->used += head.bytes;
	return true;
}

static bool batch_full(const struct batch *b)
{
	return b->count == WAITING_MAX ||
	       b->used + PAYLOAD_BYTES_MAX > WAITING_BYTES_MAX;
}

/* @param last  nothing follows: write all */
static void turn(struct packet_capture *c, bool last)
{
	bool more;

	do {
		int64_t until_ns = clock_mono_ns() - DELAY_NS;

		for (int i = 0; i < PACKET_CAPTURE_FROM_COUNT; i++)
			while (take_one(c, c->rings[i]))
				continue;
		more = batch_full(&c->now);
		write_until(c, last || more ? INT64_MAX : until_ns);
	} while (more);
}

static void *writer(void *arg)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	struct packet_capture *c = arg;

	/* acquire: pairs with the release in packet_capture_end(), after which
	 * no copy is pushed */
	while (!atomic_load_explicit(&c->quit, memory_order_acquire)) {
		turn(c, false);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL);
	}
	turn(c, true);
	return NULL;
}

/* ---- loop ---- */

static int batch_new(struct batch *b)
{
	b->list = calloc(WAITING_MAX, sizeof(*b->list));
	b->bytes = malloc(WAITING_BYTES_MAX);
	return b->list && b->bytes ? 0 : -ENOMEM;
}

static void batch_release(struct batch *b)
{
	free(b->list);
	free(b->bytes);
}

static void file_begin(struct packet_capture *c, const char *path)
{
	uint8_t header[PACKET_FILE_HEADER_BYTES];

	packet_file_header(header);
	c->bytes = sizeof(header);
	c->file = fopen(path, "we");
	if (!c->file || fwrite(header, sizeof(header), 1, c->file) != 1)
		c->result.err = errno ? -errno : -EIO;
}

static int writer_start(struct packet_capture *c)
{
	int err = thread_start(&c->thread, "media-capture", writer, c);

	c->started = err == 0;
	return err;
}

int packet_capture_new(struct packet_capture **ret,
		       const struct media_capture_params *params,
		       size_t ring_bytes)
{
	struct packet_capture *c = calloc(1, sizeof(*c));
	int err = 0;

	if (!c)
		return -ENOMEM;
	c->wall_offset_ns = params->wall_offset_ns;
	c->bytes_max = params->bytes_max;
	for (int i = 0; !err && i < PACKET_CAPTURE_FROM_COUNT; i++)
		err = payload_ring_new(&c->rings[i], ring_bytes);
	if (!err)
		err = batch_new(&c->now);
	if (!err)
		err = batch_new(&c->next);
	if (!err) {
		file_begin(c, params->path);
		err = writer_start(c);
	}
	if (err) {
		packet_capture_free(c);
		return err;
	}
	*ret = c;
	return 0;
}

struct payload_ring *packet_capture_ring(const struct packet_capture *c,
					 enum packet_capture_from from)
{
	return c->rings[from];
}

static void thread_stop(struct packet_capture *c)
{
	if (!c->started)
		return;
	/* release: pairs with the acquire in writer() */
	atomic_store_explicit(&c->quit, true, memory_order_release);
	pthread_join(c->thread, NULL);
	c->started = false;
}

void packet_capture_end(struct packet_capture *c, struct media_captured *ret)
{
	struct media_captured *r = &c->result;

	thread_stop(c);
	if (c->file && fclose(c->file) && !r->err)
		r->err = errno ? -errno : -EIO;
	c->file = NULL;
	r->dropped = 0;
	for (int i = 0; i < PACKET_CAPTURE_FROM_COUNT; i++)
		r->dropped += payload_ring_dropped(c->rings[i]);
	*ret = *r;
}

struct packet_capture *packet_capture_free(struct packet_capture *c)
{
	if (!c)
		return NULL;
	thread_stop(c);
	if (c->file)
		(void)fclose(c->file);
	for (int i = 0; i < PACKET_CAPTURE_FROM_COUNT; i++)
		payload_ring_free(c->rings[i]);
	batch_release(&c->now);
	batch_release(&c->next);
	free(c);
	return NULL;
}
