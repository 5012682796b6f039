#include "base/clock.h"
#include "media/audio/g711.h"
#include "media/audio/prompt.h"
#include "media/audio/prompt_load.h"
#include "media/audio/prompt_work.h"
#include "media/audio/resample.h"
#include "prompt_rig.h"

#include <errno.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static const char *const path = prompt_rig_path;

/* A tone, in the first channel only. */
static void file_write(int format, int rate, int channels, size_t frames,
		       double hz)
{
	SF_INFO info = {
		.samplerate = rate,
		.channels = channels,
		.format = format,
	};
	SNDFILE *file = sf_open(path, SFM_WRITE, &info);
	float frame[8] = {0};

	assert_non_null(file);
	for (size_t i = 0; i < frames; i++) {
		frame[0] = (float)(0.8 * sin(2 * PI * hz * (double)i / rate));
		assert_int_equal(sf_writef_float(file, frame, 1), 1);
	}
	sf_close(file);
}

static void wav_write(int rate, int channels, size_t frames, double hz)
{
	file_write(SF_FORMAT_WAV | SF_FORMAT_PCM_16, rate, channels, frames,
		   hz);
}

/* Level of a frequency in a clip, relative to full scale (Goertzel). */
static double level_at(const uint8_t *clip, size_t count, double hz)
{
	double re = 0;
	double im = 0;

	for (size_t i = 0; i < count; i++) {
		double x = g711_pcma_decode(clip[i]) / 32768.0;
		double phase = 2 * PI * hz * (double)i / 8000;

		re += x * cos(phase);
		im += x * sin(phase);
	}
	return 2 * sqrt(re * re + im * im) / (double)count;
}

/* Wait until the worker has finished. */

/* Return the complete clip. */
static const struct clip *clip_make(struct prompt *p, const struct codec *codec)
{
	const struct prompt_want want = {.codec = codec, .ptime_ms = 20};
	const struct timespec pause = {.tv_nsec = 1000000};
	const struct clip *clip;
	int err = prompt_clip_begin(&clip, p, &want, 0);

	assert_true(err == 0 || err == -EINPROGRESS);
	while (!clip_whole(clip))
		nanosleep(&pause, NULL);
	return clip;
}

static void check_level(double hz, double want)
{
	struct prompt_cache *cache;
	const struct clip *made;
	struct prompt *p;

	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	made = clip_make(p, &codec_pcma);
	/*
	 * the last packet of a compressed file may be cut, or padded with
	 * silence
	 */
	assert_in_range(made->count, 7840, 8800);
	assert_true(fabs(level_at(made->data, 7200, hz) - want) < 0.05 * want);
	prompt_put(p);
	prompt_cache_free(cache);
}

/* docs/internals/media.md "Sending": any file libsndfile reads. */
static void test_prompt_formats(void **state)
{
	static const struct {
		int format;
		int rate;
		int channels;
	} cases[] = {
		{SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 8000, 1},
		{SF_FORMAT_WAV | SF_FORMAT_PCM_24, 48000, 2},
		{SF_FORMAT_WAV | SF_FORMAT_PCM_32, 44100, 1},
		{SF_FORMAT_WAV | SF_FORMAT_FLOAT, 96000, 2},
		{SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 192000, 1},
		{SF_FORMAT_WAV | SF_FORMAT_ULAW, 8000, 1},
		{SF_FORMAT_WAV | SF_FORMAT_ALAW, 8000, 1},
		{SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 8000, 1},
		{SF_FORMAT_WAV | SF_FORMAT_GSM610, 8000, 1},
		{SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 48000, 6},
		{SF_FORMAT_W64 | SF_FORMAT_PCM_16, 8000, 1},
		{SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 44100, 1},
		{SF_FORMAT_AIFF | SF_FORMAT_PCM_S8, 8000, 1},
		{SF_FORMAT_AU | SF_FORMAT_ULAW, 8000, 1},
		{SF_FORMAT_AU | SF_FORMAT_PCM_16, 11025, 1},
		{SF_FORMAT_CAF | SF_FORMAT_PCM_16, 22050, 1},
		{SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 96000, 2},
		{SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%06x %d Hz\n", (unsigned)cases[i].format,
			      cases[i].rate);
		unlink(path);
		file_write(cases[i].format, cases[i].rate, cases[i].channels,
			   (size_t)cases[i].rate, 1000);
		check_level(1000, 0.8 / cases[i].channels);
	}
}

/* Of a truncated file, the existing part is played. */
static void test_prompt_cut_off(void **state)
{
	struct prompt_cache *cache;
	const struct clip *made;
	struct prompt *p;

	(void)state;
	wav_write(8000, 1, 8000, 1000);
	assert_int_equal(truncate(path, 44 + 2 * 4000), 0);
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	made = clip_make(p, &codec_pcma);
	assert_int_equal(made->count, 4000);
	assert_true(fabs(level_at(made->data, 4000, 1000) - 0.8) < 0.03);
	prompt_put(p);
	prompt_cache_free(cache);
}

static void check_rate(int rate, int channels, double hz, double want)
{
	struct prompt_cache *cache;
	struct prompt *p;
	const struct clip *made;
	const uint8_t *clip;
	size_t count;

	wav_write(rate, channels, (size_t)rate, hz);
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	made = clip_make(p, &codec_pcma);
	clip = made->data;
	count = made->count;
	assert_int_equal(count, 8000);
	if (want > 0)
		assert_true(fabs(level_at(clip, count, hz) - want) <
			    0.03 * want);
	else /* above the band: no alias at the mirror frequency either */
		assert_true(level_at(clip, count, fabs(8000 - hz)) < 0.002);
	prompt_put(p);
	prompt_cache_free(cache);
}

static void test_prompt_rates_and_channels(void **state)
{
	(void)state;
	check_rate(8000, 1, 1000, 0.8);
	check_rate(8000, 2, 1000, 0.4);
	check_rate(16000, 1, 1000, 0.8);
	check_rate(44100, 1, 1000, 0.8);
	check_rate(48000, 2, 3000, 0.4);
	check_rate(11025, 1, 440, 0.8);
	check_rate(48000, 1, 5000, 0);
	check_rate(44100, 1, 7000, 0);
}

static void test_prompt_same_file_is_shared(void **state)
{
	struct prompt_cache *cache;
	struct prompt *a;
	struct prompt *b;
	struct prompt *c;

	(void)state;
	wav_write(8000, 1, 800, 500);
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&a, cache, PROMPT_FILE, path), 0);
	assert_int_equal(prompt_get(&b, cache, PROMPT_FILE, path), 0);
	assert_ptr_equal(a, b);
	wav_write(8000, 1, 801, 500); /* the file changed: another clip */
	assert_int_equal(prompt_get(&c, cache, PROMPT_FILE, path), 0);
	assert_ptr_not_equal(a, c);
	assert_null(prompt_put(a));
	prompt_put(b);
	prompt_put(c);
	assert_int_equal(prompt_get(&a, cache, PROMPT_TONES, NULL), 0);
	assert_int_equal(prompt_get(&b, cache, PROMPT_TONES, NULL), 0);
	assert_ptr_equal(a, b);
	prompt_put(a);
	prompt_put(b);
	assert_null(prompt_cache_free(cache));
}

static void test_prompt_tones_are_audible(void **state)
{
	struct prompt_cache *cache;
	struct prompt *p;
	const struct clip *made;
	const uint8_t *clip;
	size_t count;
	size_t loud = 0;

	(void)state;
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_TONES, NULL), 0);
	made = clip_make(p, &codec_pcmu);
	clip = made->data;
	count = made->count;
	for (size_t i = 0; i < count; i++)
		loud += abs(g711_pcmu_decode(clip[i])) > 1000;
	assert_true(loud > count / 3 && loud < count);
	prompt_put(p);
	prompt_cache_free(cache);
}

static void test_prompt_bad_files_are_refused(void **state)
{
	static const char text[] = "RIFF, said the duck; no audio here";
	struct prompt_cache *cache;
	struct prompt *p;
	FILE *f;

	(void)state;
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(
		prompt_get(&p, cache, PROMPT_FILE, "/nonexistent/x.wav"),
		-ENOENT);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, "/tmp"), -EILSEQ);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path),
			 -ENODATA); /* empty */
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), -EILSEQ);
	wav_write(8000, 1, 0, 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), -ENODATA);
	wav_write(200000, 1, 100, 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), -ERANGE);
	wav_write(3999, 1, 100, 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), -ERANGE);
	wav_write(4000, 1, 4000u * PROMPT_SECONDS_MAX, 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), -EFBIG);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), -EILSEQ);
	prompt_cache_free(cache);
}

/* libsndfile 1.2.0 closes the descriptor of a file that it cannot read: whoever
 * closes it again closes a socket that another thread has opened since. */
static void test_prompt_leaves_the_descriptor_open(void **state)
{
	static const char text[] = "RIFF, said the duck; no audio here";
	struct prompt_samples p;
	int fd = memfd_create("prompt", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(prompt_load(&p, fd), -EILSEQ);
	assert_int_equal(close(fd), 0);
}

static void test_resample_loop_has_no_seam(void **state)
{
	/* 100 whole periods: the loop is a continuous tone */
	enum {
		COUNT = 48000
	};
	int16_t *src = calloc(COUNT, sizeof(*src));
	int16_t *dst;
	size_t count;

	(void)state;
	assert_non_null(src);
	for (int i = 0; i < COUNT; i++)
		src[i] = (int16_t)(16384 * sin(2 * PI * 100 * i / 48000.0));
	assert_int_equal(resample_loop(&dst, &count, src, COUNT, 48000, 8000),
			 0);
	assert_int_equal(count, 8000);
	for (size_t i = 0; i < count; i++) {
		int step = dst[(i + 1) % count] - dst[i];

		/* steepest slope of this tone: 0.5 * 2 pi 100 / 8000 */
		assert_true(abs(step) < 1300);
	}
	free(dst);
	assert_int_equal(resample_loop(&dst, &count, src, 0, 8000, 8000),
			 -EINVAL);
	assert_int_equal(resample_loop(&dst, &count, src, 1, 3999, 8000),
			 -EINVAL);
	assert_int_equal(resample_loop(&dst, &count, src, 1, 192000, 8000), 0);
	assert_int_equal(count, 1);
	free(dst);
	free(src);
}

#define file_test(f) \
	cmocka_unit_test_setup_teardown(f, prompt_rig_new, prompt_rig_remove)

static void test_prompt_is_encoded_ahead_of_time(void **state)
{
	struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	struct prompt_cache *cache;
	const struct clip *made, *again;
	struct prompt *p;

	(void)state;
	wav_write(8000, 1, 8000, 440);
	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(
		prompt_prepare(cache, PROMPT_FILE, path, &want, 1, true), 0);
	assert_true(prompt_cache_busy(cache));
	until_taken(cache, wake_fd);
	assert_false(prompt_cache_busy(cache));
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	assert_int_equal(prompt_clip_begin(&made, p, &want, 0), 0);
	assert_int_equal(made->count, 50);
	/* another packet time: encoded meanwhile, once */
	want.ptime_ms = 40;
	while (prompt_clip_begin(&made, p, &want, 0) == -EINPROGRESS)
		until_taken(cache, wake_fd);
	assert_int_equal(made->count, 25);
	assert_int_equal(prompt_clip_begin(&again, p, &want, 0), 0);
	assert_ptr_equal(made, again);
	/* unfinished work is dropped when everything is released */
	want.ptime_ms = 60;
	(void)prompt_clip_begin(&made, p, &want, 0);
	prompt_put(p);
	prompt_cache_free(cache);
	close(wake_fd);
}

static int64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* For 500 calls with a minute of Opus, this thread encodes nothing. */
static void test_prompt_costs_the_loop_nothing(void **state)
{
	const struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	struct prompt_cache *cache;
	static struct prompt *held[500];
	const struct clip *made;
	int64_t all_ns, loop_ns;

	(void)state;
	wav_write(8000, 1, 60 * 8000, 440);
	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	loop_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(
		prompt_prepare(cache, PROMPT_FILE, path, &want, 1, false), 0);
	until_taken(cache, wake_fd);
	for (size_t i = 0; i < 500; i++) {
		assert_int_equal(prompt_get(&held[i], cache, PROMPT_FILE, path),
				 0);
		assert_int_equal(prompt_clip_begin(&made, held[i], &want, 0),
				 0);
	}
	loop_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - loop_ns;
	all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns;
	print_message("all %.1f ms, the loop's part %.2f ms\n",
		      (double)all_ns / 1e6, (double)loop_ns / 1e6);
	assert_int_equal(made->count, 3000);
	assert_true(loop_ns * 4 < all_ns);
	for (size_t i = 0; i < 500; i++)
		prompt_put(held[i]);
	prompt_cache_free(cache);
	close(wake_fd);
}

static void test_prompt_that_cannot_be_prepared(void **state)
{
	const struct prompt_want want = {.codec = &codec_pcma, .ptime_ms = 20};
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	struct prompt_cache *cache;
	const char *failed = NULL;
	struct prompt *p;

	(void)state;
	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(prompt_cache_failed(cache, &failed), 0);
	assert_int_equal(prompt_prepare(cache, PROMPT_FILE, "/nonexistent.wav",
					&want, 1, true),
			 0);
	until_taken(cache, wake_fd);
	assert_false(prompt_cache_busy(cache));
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, "/nonexistent.wav"),
			 -ENOENT);
	assert_int_equal(prompt_cache_failed(cache, &failed), -ENOENT);
	assert_string_equal(failed, "/nonexistent.wav");
	prompt_cache_free(cache);
	close(wake_fd);
}

static bool never(struct prompt_task *task)
{
	(void)task;
	return false;
}

/* One more is refused, until one is taken. */
static void test_as_many_tasks_as_may_be_in_progress(void **state)
{
	struct prompt_task *tasks =
		calloc(PROMPT_TASKS_MAX + 1, sizeof(*tasks));
	int64_t later = clock_mono_ns() + INT64_C(3600000000000);
	struct prompt_worker *w;
	size_t taken = 0;

	(void)state;
	assert_non_null(tasks);
	assert_int_equal(prompt_worker_new(&w, -1, false, 1), 0);
	for (size_t i = 0; i <= PROMPT_TASKS_MAX; i++) {
		tasks[i].work = never;
		tasks[i].begin_ns = later;
		assert_int_equal(prompt_worker_give(w, &tasks[i]),
				 i < PROMPT_TASKS_MAX ? 0 : -EAGAIN);
	}
	prompt_worker_stop(w);
	while (prompt_worker_take(w))
		taken++;
	assert_int_equal(taken, PROMPT_TASKS_MAX);
	prompt_worker_free(w);
	free(tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_many_tasks_as_may_be_in_progress),
		cmocka_unit_test_setup_teardown(
			test_prompt_is_encoded_ahead_of_time, prompt_rig_new,
			prompt_rig_remove),
		cmocka_unit_test_setup_teardown(
			test_prompt_costs_the_loop_nothing, prompt_rig_new,
			prompt_rig_remove),
		cmocka_unit_test(test_prompt_that_cannot_be_prepared),
		file_test(test_prompt_rates_and_channels),
		file_test(test_prompt_formats),
		file_test(test_prompt_cut_off),
		file_test(test_prompt_same_file_is_shared),
		cmocka_unit_test(test_prompt_tones_are_audible),
		file_test(test_prompt_bad_files_are_refused),
		cmocka_unit_test(test_prompt_leaves_the_descriptor_open),
		cmocka_unit_test(test_resample_loop_has_no_seam),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
