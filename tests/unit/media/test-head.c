/*
 * A prompt that was not prepared is sent from the first packet on: its head is
 * encoded at once, and a thread encodes the rest while it is being sent.
 */
#include "base/clock.h"
#include "media/audio/audio_thread.h"
#include "media/audio/prompt_load.h"
#include "media/audio/prompt_work.h"
#include "media/audio/resample.h"
#include "media/engine/media_engine.h"
#include "media_rig.h"
#include "prompt_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <semaphore.h>
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

/*
 * Write a tone.
 * @param silence  whether the last third is silent
 */
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

/* The clip may be complete before this thread looks. */
static void begin(const struct clip **ret, struct prompt *p,
		  const struct prompt_want *want)
{
	int err = prompt_clip_begin(ret, p, want, 0);

	assert_true(err == 0 || err == -EINPROGRESS);
}

static void until_whole(const struct clip *clip)
{
	const struct timespec pause = {.tv_nsec = NS_PER_MS};

	while (!clip_whole(clip))
		nanosleep(&pause, NULL);
}

/* The file, resampled to the rate of Opus and of PCMA. */
static int16_t *samples_load(unsigned rate_hz, size_t *ret_count)
{
	int fd = open(prompt_rig_path, O_RDONLY);
	struct prompt_samples file;
	int16_t *pcm;

	assert_true(fd >= 0);
	assert_int_equal(prompt_load(&file, fd), 0);
	close(fd);
	assert_int_equal(resample_loop(&pcm, ret_count, file.pcm, file.count,
				       file.rate_hz, rate_hz),
			 0);
	free(file.pcm);
	return pcm;
}

static void check_same(const struct clip *a, const struct clip *b)
{
	assert_true(clip_whole(a) && clip_whole(b));
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_int_equal(a->frames[i].bytes, b->frames[i].bytes);
		assert_int_equal(a->frames[i].noise, b->frames[i].noise);
		assert_memory_equal(a->frames[i].data, b->frames[i].data,
				    a->frames[i].bytes);
	}
}

/* A clip encoded in pieces equals a clip encoded at once. */
static void check_head(const struct prompt_want *want)
{
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	size_t head = (PROMPT_HEAD_MS + want->ptime_ms - 1u) / want->ptime_ms;
	struct prompt_cache *cache;
	const struct clip *clip, *same;
	struct pcm_source source;
	struct prompt *p;
	struct clip at_once;
	size_t count;
	int16_t *pcm = samples_load(want->codec->sample_hz, &count);

	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	begin(&clip, p, want);
	assert_true(clip_has(clip, 0, head));
	begin(&same, p, want);
	assert_ptr_equal(same, clip);
	until_whole(clip);
	until_taken(cache, wake_fd);
	assert_int_equal(prompt_clip_begin(&same, p, want, 0), 0);
	assert_ptr_equal(same, clip);
	source = prompt_rig_source(pcm, count);
	prompt_rig_encode(&at_once, want, &source);
	check_same(clip, &at_once);
	clip_release(&at_once);
	free(pcm);
	prompt_put(p);
	prompt_cache_free(cache);
	close(wake_fd);
}

static void test_pieces_are_the_whole(void **state)
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

/*
 * The first part to be played is encoded first, also of a byte stream. After a
 * lap the content is as always.
 */
static void check_first(const struct codec *codec, uint32_t from_ms)
{
	const struct prompt_want want = {.codec = codec, .ptime_ms = 20};
	struct prompt_encoder *e;
	struct pcm_source source;
	struct clip clip, at_once;
	size_t count, each, from;
	int16_t *pcm = samples_load(codec->sample_hz, &count);

	source = prompt_rig_source(pcm, count);
	prompt_rig_encode(&at_once, &want, &source);
	assert_int_equal(prompt_encoder_new(&e, &clip, &want, &source, from_ms),
			 0);
	each = clip.frames ? 1 : codec->bytes_per_s / 50;
	from = from_ms / 20 * each;
	assert_false(clip_has(&clip, from, each));
	assert_int_equal(prompt_encoder_step(e, 40), 1);
	assert_true(clip_has(&clip, from, 2 * each));
	assert_false(clip_has(&clip, from, 2 * each + 1));
	assert_false(clip_has(&clip, from - 1, each));
	assert_false(clip_has(&clip, 0, each));
	/* across the end of the loop */
	while (!clip_has(&clip, clip.count - each, each)) {
		assert_false(clip_has(&clip, 0, 1));
		assert_int_equal(prompt_encoder_step(e, 20), 1);
	}
	assert_int_equal(prompt_encoder_step(e, 20), 1);
	assert_true(clip_has(&clip, 0, each));
	assert_false(clip_whole(&clip));
	while (prompt_encoder_step(e, 500) > 0)
		assert_false(clip_whole(&clip));
	assert_true(clip_whole(&clip));
	assert_int_equal(clip.count, at_once.count);
	if (!clip.frames && !codec->encoder_new)
		assert_memory_equal(clip.data, at_once.data, clip.count);
	prompt_encoder_free(e);
	clip_release(&clip);
	clip_release(&at_once);
	free(pcm);
}

static void test_pieces_begin_where_it_is_played(void **state)
{
	const struct codec *codec;

	(void)state;
	wav_write(8000, 1.5, true);
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		check_first(codec, 100);
		check_first(codec, 739);
	}
}

/* It is encoded as far ahead of playback as specified, and no further. */
static void test_pieces_keep_ahead(void **state)
{
	const struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	const struct timespec pause = {.tv_nsec = 20 * NS_PER_MS};
	struct prompt_cache *cache;
	const struct clip *clip;
	int64_t start_ns, ahead;
	struct prompt *p;

	(void)state;
	wav_write(8000, 30, true);
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	start_ns = clock_mono_ns();
	begin(&clip, p, &want);
	for (size_t i = 0; i < 50; i++) {
		nanosleep(&pause, NULL);
		for (ahead = 0; clip_has(clip, 0, (size_t)ahead + 1);)
			ahead++;
		/*
		 * the clock was read before: no more than was due then, plus a
		 * piece
		 */
		assert_true(ahead * 20 <=
			    (clock_mono_ns() - start_ns) / NS_PER_MS +
				    PROMPT_LEAD_MS + 200);
	}
	print_message("%d ms made in %d ms\n", (int)ahead * 20,
		      (int)((clock_mono_ns() - start_ns) / NS_PER_MS));
	assert_false(clip_whole(clip));
	/* unfinished work is dropped when everything is released */
	prompt_put(p);
	prompt_cache_free(cache);
}

static int64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Of an unprepared prompt this thread encodes only the first packets. */
static void test_head_costs_the_loop_little(void **state)
{
	struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	struct prompt_cache *cache;
	const struct clip *clip;
	int64_t all_ns, loop_ns;
	struct prompt *p;

	(void)state;
	wav_write(44100, 2.0, false);
	codec_settings_parse(&want.settings, "stereo=1;useinbandfec=1");
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	loop_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	begin(&clip, p, &want);
	loop_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - loop_ns;
	until_whole(clip);
	all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns;
	print_message("all: %.1f ms, the loop's part %.2f ms\n",
		      (double)all_ns / (double)NS_PER_MS,
		      (double)loop_ns / (double)NS_PER_MS);
	assert_true(loop_ns * 4 < all_ns);
	prompt_put(p);
	prompt_cache_free(cache);
}

static void test_head_of_a_short_prompt_is_all(void **state)
{
	const struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	struct prompt_cache *cache;
	const struct clip *clip;
	struct prompt *p;

	(void)state;
	wav_write(8000, 0.05, false);
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	assert_int_equal(prompt_clip_begin(&clip, p, &want, 0), 0);
	assert_true(clip_whole(clip));
	assert_int_equal(clip->count, 3);
	prompt_put(p);
	prompt_cache_free(cache);
}

/* The maximum number of different clips at the same time, and one more. */
static void test_clips_have_a_ceiling(void **state)
{
	struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	const struct clip *clips[PROMPT_CLIPS_MAX];
	struct prompt_cache *cache;
	const struct clip *clip;
	struct prompt *p;

	(void)state;
	wav_write(8000, 0.6, false);
	assert_int_equal(prompt_cache_new(&cache, -1, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	for (uint32_t i = 0; i < PROMPT_CLIPS_MAX; i++) {
		want.settings.max_bitrate = 6000 + i;
		begin(&clips[i], p, &want);
	}
	want.settings.max_bitrate = 5000;
	assert_int_equal(prompt_clip_begin(&clip, p, &want, 0), -ENOSPC);
	for (uint32_t i = 0; i < PROMPT_CLIPS_MAX; i++)
		until_whole(clips[i]);
	prompt_put(p);
	prompt_cache_free(cache);
}

/*
 * A clip that nobody plays any more is not encoded to its end, which is two
 * minutes away. A call that starts in time gets all of it.
 */
static void test_pieces_end_with_the_last_call(void **state)
{
	const struct prompt_want want = {.codec = &codec_opus, .ptime_ms = 20};
	int wake_fd = eventfd(0, EFD_NONBLOCK);
	struct prompt_cache *cache;
	const struct clip *clip;
	struct prompt *p;

	(void)state;
	wav_write(8000, 120, false);
	assert_int_equal(prompt_cache_new(&cache, wake_fd, false), 0);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	begin(&clip, p, &want);
	prompt_put(p);
	until_taken(cache, wake_fd);
	wav_write(8000, 1.5, false);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	begin(&clip, p, &want);
	prompt_put(p);
	assert_int_equal(prompt_get(&p, cache, PROMPT_FILE, path), 0);
	while (prompt_clip_begin(&clip, p, &want, 0) == -EINPROGRESS)
		until_taken(cache, wake_fd);
	assert_true(clip_whole(clip));
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

/* The threads may run before other work of this process. */
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

/* @return false: this thread was late, so more may have been sent */
static bool send_until(struct rig_log *log, int64_t until_ns)
{
	media_session_send_until(log->session, until_ns);
	return clock_mono_ns() < until_ns;
}

/* @param again  negotiate anew during the call */
static void check_call(bool again)
{
	struct rig rig;
	struct rig_log *a, *b;
	const struct audio_total *heard;
	struct media_evidence evidence;
	int64_t start_ns;
	bool in_time;

	wav_write(44100, 60, false);
	engine_open(&rig);
	a = session(&rig, 0, 0);
	b = session(&rig, 1, MEDIA_AUDIO_MEASURE);
	settle_way(b, a, "useinbandfec=1", 20, MEDIA_RECVONLY);
	settle(a, b, "stereo=1;maxaveragebitrate=40000", 20);
	start_ns = media_session_start_ns(a->session);
	in_time = send_until(a, start_ns + 2000 * NS_PER_MS);
	if (again) {
		rig_run_until(&rig, start_ns + 900 * NS_PER_MS);
		settle(a, b, "cbr=1", 40);
	}
	rig_run_until(&rig, start_ns + 2200 * NS_PER_MS);
	rig_stop(&rig, 2);
	assert_int_equal(b->total[0].packets, a->total[1].packets);
	assert_int_equal(b->total[0].lost, 0);
	media_engine_evidence(rig.engine, &evidence);
	if (!again && in_time)
		assert_int_equal(a->total[1].packets + evidence.packets_unsent,
				 100);
	/* wherever there was a packet, it had the same tone */
	heard = &b->audio[0];
	assert_int_equal(heard->tone_count, 1);
	assert_true(fabs(heard->tones[0].hz - TONE_HZ) < 1);
	print_message("%.0f ms of the tone in %u packets\n", heard->tones[0].ms,
		      (unsigned)a->total[1].packets);
	if (evidence.packets_unsent == 0)
		assert_true(heard->tones[0].ms >= (again ? 1600 : 1800));
	rig_close(&rig);
}

static void test_head_call_goes_on(void **state)
{
	(void)state;
	check_call(false);
}

static void test_head_call_settled_anew_goes_on(void **state)
{
	(void)state;
	check_call(true);
}

/* More than a lap of silence, and nothing of the prompt. */
static void test_silence_is_sent_while_it_grows(void **state)
{
	struct media_evidence evidence;
	struct rig_log *a, *b;
	int64_t start_ns;
	bool in_time;
	struct rig rig;

	(void)state;
	wav_write(44100, 2, false);
	engine_open(&rig);
	a = session(&rig, 0, 0);
	b = session(&rig, 1, MEDIA_AUDIO_MEASURE);
	assert_int_equal(media_session_mute(a->session, true), 0);
	settle_way(b, a, "", 20, MEDIA_RECVONLY);
	settle(a, b, "stereo=1;maxaveragebitrate=40000", 20);
	start_ns = media_session_start_ns(a->session);
	in_time = send_until(a, start_ns + 1500 * NS_PER_MS);
	rig_run_until(&rig, start_ns + 1700 * NS_PER_MS);
	rig_stop(&rig, 2);
	media_engine_evidence(rig.engine, &evidence);
	assert_int_equal(b->total[0].packets, a->total[1].packets);
	if (in_time)
		assert_int_equal(a->total[1].packets + evidence.packets_unsent,
				 75);
	assert_true(a->total[1].packets >= PROMPT_HEAD_MS / 20);
	assert_int_equal(b->audio[0].tone_count, 0);
	rig_close(&rig);
}

/* A task that keeps a thread busy. */
struct blocker {
	struct prompt_task task; /* must be first */
	sem_t *over;
};

static bool blocker_do(struct prompt_task *task)
{
	while (sem_wait(((struct blocker *)task)->over))
		;
	return false;
}

static void blocker_done(struct prompt_task *task, bool drop)
{
	(void)task;
	(void)drop;
}

static void workers_block(struct prompt_cache *cache,
			  struct blocker blockers[PROMPT_THREADS_MAX],
			  sem_t *over)
{
	assert_int_equal(sem_init(over, 0, 0), 0);
	for (size_t i = 0; i < PROMPT_THREADS_MAX; i++) {
		blockers[i] = (struct blocker){
			.task = {.work = blocker_do, .take = blocker_done},
			.over = over,
		};
		assert_int_equal(prompt_cache_give(cache, &blockers[i].task),
				 0);
	}
}

static void workers_free(sem_t *over)
{
	for (size_t i = 0; i < PROMPT_THREADS_MAX; i++)
		sem_post(over);
}

/* Nothing is encoded: the missing packets are counted, and time advances. */
static void test_head_outrun_is_told(void **state)
{
	struct media_evidence evidence;
	struct rig_log *a, *b;
	struct blocker blockers[PROMPT_THREADS_MAX];
	int64_t start_ns;
	bool in_time;
	struct rig rig;
	sem_t over;

	(void)state;
	wav_write(44100, 60, false);
	engine_open(&rig);
	workers_block(rig.engine->prompts, blockers, &over);
	a = session(&rig, 0, 0);
	b = session(&rig, 1, 0);
	settle_way(b, a, "", 20, MEDIA_RECVONLY);
	settle(a, b, "stereo=1;maxaveragebitrate=40000", 20);
	start_ns = media_session_start_ns(a->session);
	in_time = send_until(a, start_ns + 1000 * NS_PER_MS);
	rig_run_until(&rig, start_ns + 1200 * NS_PER_MS);
	rig_stop(&rig, 2);
	media_engine_evidence(rig.engine, &evidence);
	assert_int_equal(a->total[1].packets, PROMPT_HEAD_MS / 20);
	assert_int_equal(b->total[0].packets, a->total[1].packets);
	assert_int_equal(b->total[0].lost, 0);
	if (in_time)
		assert_int_equal(a->total[1].packets + evidence.packets_unsent,
				 50);
	workers_free(&over);
	rig_close(&rig);
	sem_destroy(&over);
}

#define file_test(test) \
	cmocka_unit_test_setup_teardown(test, prompt_rig_new, prompt_rig_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		file_test(test_pieces_are_the_whole),
		file_test(test_pieces_begin_where_it_is_played),
		file_test(test_pieces_keep_ahead),
		file_test(test_head_costs_the_loop_little),
		file_test(test_head_of_a_short_prompt_is_all),
		file_test(test_clips_have_a_ceiling),
		file_test(test_pieces_end_with_the_last_call),
		file_test(test_head_call_goes_on),
		file_test(test_head_call_settled_anew_goes_on),
		file_test(test_silence_is_sent_while_it_grows),
		file_test(test_head_outrun_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
