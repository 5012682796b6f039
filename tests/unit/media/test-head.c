/* What nobody prepared is sent from the first packet on: its head is encoded at
 * once, and the rest follows without a seam. */
#include "base/clock.h"
#include "media/audio.h"
#include "media/prompt.h"
#include "media_rig.h"
#include "prompt_rig.h"

#include <errno.h>
#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PI      3.14159265358979323846
#define TONE_HZ 1000.0

static const char *const path = prompt_rig_path;

/* A tone, and in its last third silence. @param silence  there is such a third */
static void wav_write(int rate, double seconds, bool silence)
{
	SF_INFO info = {
		.samplerate = rate,
		.channels = 1,
		.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
	};
	SNDFILE *file = sf_open(path, SFM_WRITE, &info);
	size_t count = (size_t)(seconds * rate);
	float *samples = calloc(count, sizeof(*samples));

	assert_non_null(file);
	assert_non_null(samples);
	for (size_t i = 0; i < count; i++) {
		double on = silence && i % 3200 > 1600 ? 0 : 0.3;

		samples[i] =
			(float)(on * sin(2 * PI * TONE_HZ * (double)i / rate));
	}
	assert_int_equal(sf_writef_float(file, samples, (sf_count_t)count),
			 (int)count);
	free(samples);
	sf_close(file);
}

static void check_head(const struct prompt_want *want)
{
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	struct prompt_cache *cache;
	const struct clip *head, *same, *whole;
	struct prompt *p;
	size_t bytes;

	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	assert_int_equal(prompt_clip_begin(&head, p, want), -EINPROGRESS);
	assert_non_null(head);
	assert_true(head->begins);
	assert_in_range(head->frames * want->ptime_ms, PROMPT_HEAD_MS,
			PROMPT_HEAD_MS + want->ptime_ms);
	assert_int_equal(prompt_clip_begin(&same, p, want), -EINPROGRESS);
	assert_ptr_equal(same, head);
	until_taken(cache, wake_fd);
	assert_int_equal(prompt_clip_begin(&whole, p, want), 0);
	assert_false(whole->begins);
	assert_ptr_equal(whole->head, head);
	assert_true(whole->frames > head->frames);
	bytes = head->ends[head->frames - 1];
	assert_true(bytes > 0);
	assert_memory_equal(whole->ends, head->ends,
			    head->frames * sizeof(*head->ends));
	assert_memory_equal(whole->data, head->data, bytes);
	if (want->settings.noise)
		assert_memory_equal(whole->noise, head->noise, head->frames);
	prompt_put(p);
	prompt_cache_free(cache);
	close(wake_fd);
}

static void test_head_is_the_beginning_of_the_whole(void **state)
{
	static const uint16_t ptimes[] = {10, 20, 30, 60, 120};
	static const char *const asked[] = {"", "stereo=1;useinbandfec=1",
					    "usedtx=1;maxplaybackrate=8000",
					    "cbr=1;maxaveragebitrate=12000"};
	struct prompt_want want = {.codec = &codec_opus};

	(void)state;
	wav_write(11025, 1.5, true);
	for (size_t i = 0; i < sizeof(ptimes) / sizeof(ptimes[0]); i++) {
		want.ptime_ms = ptimes[i];
		for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++) {
			codec_settings_parse(&want.settings, asked[k]);
			check_head(&want);
		}
	}
	want = (struct prompt_want){
		.codec = &codec_pcma,
		.ptime_ms = 30,
		.settings = {.noise = true},
	};
	check_head(&want);
}

/* Each longer one follows those before. */
static void test_heads_grow(void **state)
{
	const struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	const size_t frames[] = {10, 80, 640, 1000};
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	const struct clip *clip, *before = NULL;
	struct prompt_cache *cache;
	struct prompt *p;

	(void)state;
	wav_write(8000, 20, true);
	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(prompt_clip_begin(&clip, p, &want),
				 i < 3 ? -EINPROGRESS : 0);
		assert_int_equal(clip->frames, frames[i]);
		assert_int_equal(clip->begins, i < 3);
		assert_ptr_equal(clip->head, before);
		if (before)
			assert_memory_equal(clip->ends, before->ends,
					    before->frames *
						    sizeof(*before->ends));
		before = clip;
		if (i < 3)
			until_taken(cache, wake_fd);
	}
	prompt_put(p);
	prompt_cache_free(cache);
	close(wake_fd);
}

static int64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Of a minute that nobody prepared this thread makes the first packets. */
static void test_head_costs_the_loop_little(void **state)
{
	struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	struct prompt_cache *cache;
	const struct clip *clip;
	int64_t all_ns, loop_ns;
	struct prompt *p;

	(void)state;
	wav_write(44100, 60, false);
	codec_settings_parse(&want.settings, "stereo=1;useinbandfec=1");
	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	loop_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(prompt_clip_begin(&clip, p, &want), -EINPROGRESS);
	print_message("head: %.2f ms\n",
		      (double)(cpu_ns(CLOCK_THREAD_CPUTIME_ID) - loop_ns) /
			      (double)NS_PER_MS);
	while (prompt_clip_begin(&clip, p, &want))
		until_taken(cache, wake_fd);
	loop_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - loop_ns;
	all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns;
	print_message("all: %.1f ms, the loop's part %.2f ms\n",
		      (double)all_ns / (double)NS_PER_MS,
		      (double)loop_ns / (double)NS_PER_MS);
	assert_true(loop_ns * 8 < all_ns);
	prompt_put(p);
	prompt_cache_free(cache);
	close(wake_fd);
}

static void test_head_of_a_short_prompt_is_all(void **state)
{
	const struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	struct prompt_cache *cache;
	const struct clip *clip;
	struct prompt *p;

	(void)state;
	wav_write(8000, 0.15, false);
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	assert_int_equal(prompt_clip_begin(&clip, p, &want), 0);
	assert_false(clip->begins);
	assert_int_equal(clip->frames, 8);
	prompt_put(p);
	prompt_cache_free(cache);
}

/* As many different ones as may be, and one more. */
static void test_head_and_whole_are_one_of_the_clips(void **state)
{
	struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	struct prompt_cache *cache;
	const struct clip *clip;
	struct prompt *p;
	size_t whole = 0;

	(void)state;
	wav_write(8000, 0.6, false);
	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	for (uint32_t i = 0; i < PROMPT_CLIPS_MAX; i++) {
		want.settings.max_bitrate = 6000 + i;
		assert_int_equal(prompt_clip_begin(&clip, p, &want),
				 -EINPROGRESS);
	}
	want.settings.max_bitrate = 5000;
	assert_int_equal(prompt_clip_begin(&clip, p, &want), -ENOSPC);
	assert_int_equal(prompt_clip(&clip, p, &want), -ENOSPC);
	while (whole < PROMPT_CLIPS_MAX) {
		until_taken(cache, wake_fd);
		whole = 0;
		for (uint32_t i = 0; i < PROMPT_CLIPS_MAX; i++) {
			want.settings.max_bitrate = 6000 + i;
			whole += prompt_clip_begin(&clip, p, &want) == 0;
		}
	}
	prompt_put(p);
	prompt_cache_free(cache);
	close(wake_fd);
}

/* ---- a call ---- */

static struct rig_log *session(struct rig *rig, size_t index, unsigned audio)
{
	struct rig_log *log = &rig->logs[index];
	struct media_session_params params = {
		.bind = rig_loopback(),
		.codecs = {"opus"},
		.codec_count = 1,
		.prompt_file = path,
		.audio = audio,
		.user = log,
	};

	assert_int_equal(media_session_new(&log->session, rig->engine, &params),
			 0);
	return log;
}

/* The threads may go before what else runs here. */
static void engine_open(struct rig *rig)
{
	const struct media_engine_params params = {
		.port_min = 20000,
		.port_max = 32000,
		.sessions_max = 2,
		.realtime = true,
	};

	memset(rig, 0, sizeof(*rig));
	assert_int_equal(media_engine_new(&rig->engine, &params), 0);
}

static void settle_way(struct rig_log *log, const struct rig_log *peer,
		       const char *fmtp, uint16_t ptime_ms,
		       enum media_direction way)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n = rig_settle(&at->rtp, &at->rtcp, way);

	n.codec = at->codecs[0];
	n.accepted[0] = at->codecs[0];
	n.ptime_ms = ptime_ms;
	strcpy(n.codec.fmtp, fmtp);
	assert_int_equal(media_session_apply(log->session, &n), 0);
}

static void settle(struct rig_log *log, const struct rig_log *peer,
		   const char *fmtp, uint16_t ptime_ms)
{
	settle_way(log, peer, fmtp, ptime_ms, MEDIA_SENDRECV);
}

/* @param again  it is settled anew in the middle */
static void check_call(bool again)
{
	struct rig rig;
	struct rig_log *a, *b;
	const struct audio_total *heard;
	int64_t start_ns;

	wav_write(44100, 60, false);
	engine_open(&rig);
	a = session(&rig, 0, 0);
	b = session(&rig, 1, MEDIA_AUDIO_MEASURE);
	settle(b, a, "useinbandfec=1", 20);
	settle(a, b, "stereo=1;maxaveragebitrate=40000", 20);
	start_ns = media_session_start_ns(a->session);
	media_session_send_until(a->session, start_ns + 2000 * NS_PER_MS);
	if (again) {
		rig_run_until(&rig, start_ns + 900 * NS_PER_MS);
		settle(a, b, "cbr=1", 40);
	}
	rig_run_until(&rig, start_ns + 2200 * NS_PER_MS);
	rig_stop(&rig, 2);
	assert_int_equal(b->total[0].packets, a->total[1].packets);
	assert_int_equal(b->total[0].lost, 0);
	if (!again)
		assert_int_equal(a->total[1].packets, 100);
	/* of each place there was a packet, of the same tone */
	heard = &b->audio[0];
	assert_int_equal(heard->tone_count, 1);
	assert_true(fabs(heard->tones[0].hz - TONE_HZ) < 1);
	print_message("%.0f ms of the tone in %u packets\n", heard->tones[0].ms,
		      (unsigned)a->total[1].packets);
	assert_true(heard->tones[0].ms >= (again ? 1600 : 1800));
	rig_close(&rig);
}

static void test_head_call_has_all_its_packets(void **state)
{
	(void)state;
	check_call(false);
}

static void test_head_call_settled_anew_goes_on(void **state)
{
	(void)state;
	check_call(true);
}

/* Nobody hands over what follows the head: the places are counted. */
static void test_head_outrun_is_told(void **state)
{
	const struct timespec beyond_head = {.tv_nsec = 900 * NS_PER_MS};
	struct media_evidence evidence;
	struct rig_log *a, *b;
	int64_t start_ns;
	struct rig rig;

	(void)state;
	wav_write(44100, 60, false);
	engine_open(&rig);
	a = session(&rig, 0, 0);
	b = session(&rig, 1, 0);
	settle_way(b, a, "", 20, MEDIA_RECVONLY);
	settle(a, b, "stereo=1;maxaveragebitrate=40000", 20);
	start_ns = media_session_start_ns(a->session);
	media_session_send_until(a->session, start_ns + 2000 * NS_PER_MS);
	nanosleep(&beyond_head, NULL);
	rig_run_until(&rig, start_ns + 2200 * NS_PER_MS);
	rig_stop(&rig, 2);
	media_engine_evidence(rig.engine, &evidence);
	assert_true(a->total[1].packets < 100);
	assert_int_equal(b->total[0].packets, a->total[1].packets);
	assert_int_equal(b->total[0].lost, 0);
	assert_int_equal(a->total[1].packets + evidence.packets_unsent, 100);
	rig_close(&rig);
}

#define file_test(test) \
	cmocka_unit_test_setup_teardown(test, prompt_rig_new, prompt_rig_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		file_test(test_head_is_the_beginning_of_the_whole),
		file_test(test_heads_grow),
		file_test(test_head_costs_the_loop_little),
		file_test(test_head_of_a_short_prompt_is_all),
		file_test(test_head_and_whole_are_one_of_the_clips),
		file_test(test_head_call_has_all_its_packets),
		file_test(test_head_call_settled_anew_goes_on),
		file_test(test_head_outrun_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
