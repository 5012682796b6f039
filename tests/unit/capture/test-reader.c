#include "capture/reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/** A capture file that is built in memory, in either byte order. */
struct file {
	uint8_t data[4096];
	size_t at;
	bool big; /* big endian */
};

static void u8(struct file *f, uint8_t v)
{
	assert_true(f->at < sizeof(f->data));
	f->data[f->at++] = v;
}

static void u16(struct file *f, uint16_t v)
{
	u8(f, (uint8_t)(f->big ? v >> 8 : v));
	u8(f, (uint8_t)(f->big ? v : v >> 8));
}

static void u32(struct file *f, uint32_t v)
{
	u16(f, (uint16_t)(f->big ? v >> 16 : v));
	u16(f, (uint16_t)(f->big ? v : v >> 16));
}

static void text(struct file *f, const char *s)
{
	for (size_t i = 0; i < strlen(s); i++)
		u8(f, (uint8_t)s[i]);
}

static void pcap_header(struct file *f, uint32_t magic, uint32_t link)
{
	u32(f, magic);
	u16(f, 2);
	u16(f, 4);
	u32(f, 0);
	u32(f, 0);
	u32(f, 65535);
	u32(f, link);
}

static void pcap_record(struct file *f, uint32_t s, uint32_t fraction,
			const char *frame, uint32_t bytes)
{
	u32(f, s);
	u32(f, fraction);
	u32(f, (uint32_t)strlen(frame));
	u32(f, bytes);
}

struct opened {
	struct source source;
	struct reader reader;
	int err;
};

static void open_file(struct opened *o, const struct file *f, size_t bytes)
{
	source_open_memory(&o->source, f->data, bytes);
	o->err = reader_open(&o->reader, &o->source);
}

static void close_file(struct opened *o)
{
	reader_close(&o->reader);
	source_close(&o->source);
}

static void assert_frame(struct opened *o, int64_t ns, uint32_t link,
			 const char *data, size_t bytes)
{
	struct frame f;

	assert_int_equal(reader_next(&o->reader, &f), 1);
	assert_int_equal(f.ns, ns);
	assert_int_equal(f.link, link);
	assert_int_equal(f.captured, strlen(data));
	assert_memory_equal(f.data, data, strlen(data));
	assert_int_equal(f.bytes, bytes);
}

static void assert_end(struct opened *o)
{
	struct frame f;

	assert_int_equal(reader_next(&o->reader, &f), 0);
	assert_int_equal(reader_next(&o->reader, &f), 0);
}

static void assert_damage(struct opened *o, const char *reason)
{
	struct frame f;

	assert_int_equal(reader_next(&o->reader, &f), -EBADMSG);
	assert_non_null(strstr(o->reader.reason, reason));
}

static void test_pcap_of_every_kind(void **state)
{
	static const struct {
		uint32_t magic;
		int64_t unit_ns;
		bool kuznetzov;
	} kinds[] = {{0xa1b2c3d4, 1000, false},
		     {0xa1b23c4d, 1, false},
		     {0xa1b2cd34, 1000, true}};

	(void)state;
	for (int k = 0; k < 6; k++) {
		struct file f = {.big = k & 1};
		struct opened o;
		int64_t unit = kinds[k / 2].unit_ns;

		/*
		 * the length of the frame check sequence is in the bits above
		 * the link type
		 */
		pcap_header(&f, kinds[k / 2].magic, 0x14000071);
		for (int i = 0; i < 2; i++) {
			pcap_record(&f, 1700000000, 5 + (uint32_t)i, "frame",
				    900);
			if (kinds[k / 2].kuznetzov)
				text(&f, "8 bytes.");
			text(&f, "frame");
		}
		open_file(&o, &f, f.at);
		assert_int_equal(o.err, 0);
		assert_string_equal(o.reader.format, "pcap");
		assert_frame(&o, INT64_C(1700000000000000000) + 5 * unit, 113,
			     "frame", 900);
		assert_frame(&o, INT64_C(1700000000000000000) + 6 * unit, 113,
			     "frame", 900);
		assert_end(&o);
		close_file(&o);
	}
}

/*
 * Cut at any byte: the frames before are read, and the error names the
 * position.
 */
static void test_pcap_cut_anywhere(void **state)
{
	struct file f = {0};
	const size_t header = 24;
	const size_t record = 16 + 5;

	(void)state;
	pcap_header(&f, 0xa1b2c3d4, 1);
	for (int i = 0; i < 3; i++) {
		pcap_record(&f, 1, 0, "frame", 5);
		text(&f, "frame");
	}
	for (size_t n = 0; n <= f.at; n++) {
		struct opened o;
		struct frame frame;
		size_t frames = 0;
		int got = 1;

		open_file(&o, &f, n);
		assert_int_equal(o.err, n < header ? -EBADMSG : 0);
		while (!o.err && (got = reader_next(&o.reader, &frame)) > 0)
			frames++;
		if (!o.err) {
			assert_int_equal(frames, (n - header) / record);
			assert_int_equal(got,
					 (n - header) % record ? -EBADMSG : 0);
		}
		if (o.err || got)
			assert_non_null(strstr(o.reader.reason, " at byte "));
		close_file(&o);
	}
}

static void test_pcap_that_cannot_be(void **state)
{
	struct file f = {0};
	struct opened o;
	struct frame frame;

	(void)state;
	pcap_header(&f, 0xa1b2c3d4, 1);
	pcap_record(&f, 1, 1000000, "frame", 5); /* 1 000 000 us: a whole
						  * second */
	text(&f, "frame");
	u32(&f, 2);
	u32(&f, 0);
	u32(&f, READER_FRAME_BYTES_MAX + 1);
	u32(&f, 5);
	open_file(&o, &f, f.at);
	assert_int_equal(reader_next(&o.reader, &frame), 1);
	assert_int_equal(frame.ns, 1999999999);
	assert_int_equal(o.reader.bad_times, 1);
	assert_damage(&o, "impossible length");
	close_file(&o);
}

/* ---- pcapng ---- */

static size_t block_begin(struct file *f, uint32_t type)
{
	size_t start = f->at;

	u32(f, type);
	u32(f, 0);
	return start;
}

static void block_end(struct file *f, size_t start)
{
	struct file length = {.big = f->big};

	while (f->at % 4)
		u8(f, 0);
	u32(&length, (uint32_t)(f->at + 4 - start));
	memcpy(f->data + start + 4, length.data, 4);
	u32(f, (uint32_t)(f->at + 4 - start));
}

static void section(struct file *f)
{
	size_t b = block_begin(f, 0x0a0d0d0a);

	u32(f, 0x1a2b3c4d);
	u16(f, 1);
	u16(f, 0);
	u32(f, 0xffffffff); /* section length: unspecified */
	u32(f, 0xffffffff);
	block_end(f, b);
}

static void interface_of(struct file *f, uint16_t link, uint32_t snap,
			 int resolution, int64_t offset)
{
	size_t b = block_begin(f, 1);

	u16(f, link);
	u16(f, 0);
	u32(f, snap);
	u16(f, 2); /* if_name: padded; "eth1" and the last digit of the link */
	u16(f, 5);
	text(f, "eth1");
	u8(f, (uint8_t)('0' + link % 10));
	while (f->at % 4)
		u8(f, 0);
	if (resolution >= 0) {
		u16(f, 9);
		u16(f, 1);
		u8(f, (uint8_t)resolution);
		text(f, "pad");
	}
	if (offset) {
		u16(f, 14);
		u16(f, 8);
		u32(f, (uint32_t)((uint64_t)offset >> (f->big ? 32 : 0)));
		u32(f, (uint32_t)((uint64_t)offset >> (f->big ? 0 : 32)));
	}
	u16(f, 0);
	u16(f, 0);
	block_end(f, b);
}

static void enhanced(struct file *f, uint32_t id, uint64_t ts, const char *data)
{
	size_t b = block_begin(f, 6);

	u32(f, id);
	u32(f, (uint32_t)(ts >> 32));
	u32(f, (uint32_t)ts);
	u32(f, (uint32_t)strlen(data));
	u32(f, (uint32_t)strlen(data) + 10);
	text(f, data);
	block_end(f, b);
}

/*
 * Two sections of different byte order; interfaces with their own time units.
 */
static void pcapng(struct file *f)
{
	size_t b;

	section(f);
	interface_of(f, 1, 0, -1, 0);
	interface_of(f, 113, 0, 9, -3600);
	interface_of(f, 276, 4, 0x80 | 10, 0);
	enhanced(f, 0, 1700000000000001, "one");
	b = block_begin(f, 0x0bad);
	text(f, "a block of somebody's own");
	block_end(f, b);
	enhanced(f, 1, UINT64_C(1700003600000000007), "two");
	enhanced(f, 2, (UINT64_C(1700000000) << 10) + 512, "three");
	enhanced(f, 9, 0, "of no interface");
	f->big = !f->big;
	section(f);
	interface_of(f, 101, 4, 6, 0);
	b = block_begin(f, 2); /* the obsolete Packet Block */
	u16(f, 0);
	u16(f, 0xffff);
	u32(f, (uint32_t)(UINT64_C(1700000000000009) >> 32));
	u32(f, (uint32_t)UINT64_C(1700000000000009));
	u32(f, 4);
	u32(f, 40);
	text(f, "four");
	block_end(f, b);
	b = block_begin(f, 3); /* a Simple Packet Block: cut to the
			        * interface's snaplen of 4 */
	u32(f, 100);
	text(f, "five");
	block_end(f, b);
}

static void test_pcapng_sections_and_interfaces(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct file f = {.big = big};
		struct opened o;
		struct frame frame;

		pcapng(&f);
		open_file(&o, &f, f.at);
		assert_int_equal(o.err, 0);
		assert_string_equal(o.reader.format, "pcapng");
		assert_frame(&o, INT64_C(1700000000000001000), 1, "one", 13);
		assert_frame(&o, INT64_C(1700000000000000007), 113, "two", 13);
		assert_frame(&o, INT64_C(1700000000500000000), 276, "three",
			     15);
		assert_frame(&o, INT64_C(1700000000000009000), 101, "four", 40);
		assert_int_equal(o.reader.dropped, 1);
		assert_int_equal(reader_next(&o.reader, &frame), 1);
		assert_false(frame.timed);
		assert_int_equal(frame.captured, 4);
		assert_int_equal(frame.bytes, 100);
		assert_memory_equal(frame.data, "five", 4);
		assert_int_equal(o.reader.untimed, 1);
		assert_end(&o);
		close_file(&o);
	}
}

static void test_interface_of_a_frame(void **state)
{
	static const struct {
		uint32_t interface;
		const char *name;
	} want[] = {{0, "eth11"},
		    {1, "eth13"},
		    {2, "eth16"},
		    {0, "eth11"},
		    {0, "eth11"}};
	struct file ng = {0};
	struct file classic = {0};
	struct opened o;
	struct frame frame;

	(void)state;
	pcapng(&ng);
	open_file(&o, &ng, ng.at);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_int_equal(reader_next(&o.reader, &frame), 1);
		assert_int_equal(frame.interface, want[i].interface);
		assert_string_equal(reader_interface_name(&o.reader, &frame),
				    want[i].name);
	}
	close_file(&o);

	pcap_header(&classic, 0xa1b2c3d4, 1);
	pcap_record(&classic, 1, 0, "x", 1);
	text(&classic, "x");
	open_file(&o, &classic, classic.at);
	frame.interface = 9;
	assert_int_equal(reader_next(&o.reader, &frame), 1);
	assert_int_equal(frame.interface, 0);
	assert_string_equal(reader_interface_name(&o.reader, &frame), "");
	close_file(&o);
}

/*
 * Cut anywhere: end of file, or an error that names the position; never more
 * frames.
 */
static void test_pcapng_cut_anywhere(void **state)
{
	struct file f = {0};

	(void)state;
	pcapng(&f);
	for (size_t n = 0; n < f.at; n++) {
		struct opened o;
		struct frame frame;
		int frames = 0;
		int got = 0;

		open_file(&o, &f, n);
		while (!o.err && (got = reader_next(&o.reader, &frame)) > 0)
			frames++;
		assert_true(frames < 5);
		if (o.err || got < 0)
			assert_non_null(strstr(o.reader.reason, " at byte "));
		close_file(&o);
	}
}

static void test_pcapng_that_cannot_be(void **state)
{
	struct file f = {0};
	struct opened o;
	struct file g;

	(void)state;
	section(&f);
	interface_of(&f, 1, 0, 6, 0);
	g = f;
	enhanced(&g, 0, 1, "x");
	g.data[g.at - 1] ^= 1; /* the block length at the block's end */
	open_file(&o, &g, g.at);
	assert_damage(&o, "two lengths differ");
	close_file(&o);
	g = f;
	enhanced(&g, 0, 1, "x");
	g.data[f.at + 20] = 200; /* the captured length */
	open_file(&o, &g, g.at);
	assert_damage(&o, "longer than its block");
	close_file(&o);
	g = f;
	u32(&g, 6);
	u32(&g, 13);
	open_file(&o, &g, g.at);
	assert_damage(&o, "impossible length");
	close_file(&o);
	g = f;
	g.data[8] ^= 0xff; /* byte order */
	open_file(&o, &g, g.at);
	assert_int_equal(o.err, -EBADMSG);
	assert_non_null(strstr(o.reader.reason, "byte order"));
	close_file(&o);
}

/* At the ceiling the last interface has its frames; one more is damage. */
static void test_pcapng_with_many_interfaces(void **state)
{
	struct file head = {0}, one = {0}, tail = {0};
	struct opened o = {0};
	uint8_t *data = malloc((READER_INTERFACES_MAX + 4) * (size_t)64);
	size_t bytes;

	(void)state;
	assert_non_null(data);
	section(&head);
	interface_of(&one, 1, 0, 6, 0);
	enhanced(&tail, READER_INTERFACES_MAX - 1, 1000, "last");
	for (unsigned more = 0; more < 2; more++) {
		memcpy(data, head.data, head.at);
		bytes = head.at;
		for (unsigned i = 0; i < READER_INTERFACES_MAX + more; i++) {
			memcpy(data + bytes, one.data, one.at);
			bytes += one.at;
		}
		memcpy(data + bytes, tail.data, tail.at);
		source_open_memory(&o.source, data, bytes + tail.at);
		assert_int_equal(reader_open(&o.reader, &o.source), 0);
		if (more)
			assert_damage(&o, "more interfaces than can be");
		else
			assert_frame(&o, 1000000, 1, "last", 14);
		close_file(&o);
	}
	free(data);
}

static void test_foreign_files_are_named(void **state)
{
	static const struct {
		const char *data;
		size_t bytes;
		const char *reason;
	} cases[] = {
		{"", 0, "empty"},
		{"abc", 3, "too short"},
		{"\x1f\x8b\x08\0abc", 7, "gzip"},
		{"\x28\xb5\x2f\xfd", 4, "zstd"},
		{"snoop\0\0\0", 8, "snoop"},
		{"RIFF....", 8, "audio"},
		{"INVITE sip:a@b SIP/2.0", 22, "no pcap"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file f = {.at = cases[i].bytes};
		struct opened o;

		memcpy(f.data, cases[i].data, cases[i].bytes);
		open_file(&o, &f, f.at);
		assert_int_equal(o.err, -EBADMSG);
		assert_non_null(strstr(o.reader.reason, cases[i].reason));
		close_file(&o);
	}
}

/* A pipe returns what it has: pieces of any size give the same frames. */
static void test_pipe_in_small_pieces(void **state)
{
	struct file f = {0};
	struct source source;
	struct reader reader;
	struct frame frame;
	int frames = 0;
	int fd[2];
	pid_t child;

	(void)state;
	pcapng(&f);
	assert_int_equal(pipe(fd), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (size_t i = 0; i < f.at; i++) {
			if (write(fd[1], f.data + i, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(fd[1]);
	assert_int_equal(source_open(&source, fd[0]), 0);
	assert_int_equal(reader_open(&reader, &source), 0);
	while (reader_next(&reader, &frame) > 0)
		frames++;
	assert_int_equal(frames, 5);
	assert_int_equal(source_offset(&source), f.at);
	reader_close(&reader);
	source_close(&source);
	close(fd[0]);
}

static void test_failed_read_is_no_end(void **state)
{
	struct source source;
	struct reader reader;

	(void)state;
	assert_int_equal(source_open(&source, -1), 0);
	assert_int_equal(reader_open(&reader, &source), -EBADF);
	assert_non_null(strstr(reader.reason, "reading failed"));
	reader_close(&reader);
	source_close(&source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pcap_of_every_kind),
		cmocka_unit_test(test_pcap_cut_anywhere),
		cmocka_unit_test(test_pcap_that_cannot_be),
		cmocka_unit_test(test_pcapng_sections_and_interfaces),
		cmocka_unit_test(test_interface_of_a_frame),
		cmocka_unit_test(test_pcapng_cut_anywhere),
		cmocka_unit_test(test_pcapng_that_cannot_be),
		cmocka_unit_test(test_pcapng_with_many_interfaces),
		cmocka_unit_test(test_foreign_files_are_named),
		cmocka_unit_test(test_pipe_in_small_pieces),
		cmocka_unit_test(test_failed_read_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
