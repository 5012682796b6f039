/* Recordings: the content of the files against what was played. */
#include "media/audio/audio_record.h"
#include "media/audio/audio_tone.h"

#include "base/clock.h"
#include "media_rig.h"
#include "tone.h"

#include <errno.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct file {
	SF_INFO info;
	float *pcm;
};

static void file_read(struct file *f, const char *path)
{
	SNDFILE *file;

	memset(f, 0, sizeof(*f));
	file = sf_open(path, SFM_READ, &f->info);
	assert_non_null(file);
	assert_int_equal(f->info.channels, 1);
	assert_int_equal(f->info.format, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
	f->pcm = calloc((size_t)f->info.frames + 1, sizeof(float));
	assert_non_null(f->pcm);
	assert_int_equal(sf_readf_float(file, f->pcm, f->info.frames),
			 f->info.frames);
	sf_close(file);
}

static void file_release(struct file *f)
{
	free(f->pcm);
}

static char *folder_make(void)
{
	char *folder = strdup("/tmp/offhook-record-XXXXXX");

	assert_non_null(folder);
	assert_non_null(mkdtemp(folder));
	return folder;
}

static void path_in(char *dst, size_t size, const char *folder,
		    const char *name)
{
	assert_true(snprintf(dst, size, "%s/%s", folder, name) < (int)size);
}

/*
 * A recording follows real time: silence before the first packet and for a gap;
 * audio of another rate takes the time that it took.
 */
static void test_file_is_the_line_of_time(void **state)
{
	char *folder = folder_make();
	char path[128];
	struct audio_recorder r;
	struct audio_recorded how;
	struct audio_tone found;
	int16_t pcm[3200];
	struct file f;

	(void)state;
	path_in(path, sizeof(path), folder, "a.wav");
	audio_recorder_begin(&r, strdup(path));
	audio_recorder_start(&r, NS_PER_S);
	audio_recorder_start(&r, 5 * NS_PER_S); /* changes nothing */
	tone(pcm, 1600, 1000, 8000, 8000);
	/* starts 100 ms after the start, 200 ms long; then a gap of 50 ms */
	audio_recorder_write(&r, pcm, 1600, 8000, NS_PER_S + 100 * NS_PER_MS,
			     0);
	audio_recorder_write(&r, pcm, 1600, 8000, 0, 50);
	tone(pcm, 3200, 500, 8000, 16000);
	audio_recorder_write(&r, pcm, 3200, 16000, 0, 0);
	assert_true(audio_recorder_end(&r, &how));
	assert_true(how.written);
	assert_false(how.cut);
	assert_float_equal(how.ms, 750, 0.2);
	assert_false(audio_recorder_end(&r, &how));
	file_read(&f, path);
	assert_int_equal(f.info.samplerate, 8000);
	assert_int_equal(f.info.frames, 6000);
	for (int i = 0; i < 800; i++)
		assert_true(fabsf(f.pcm[i]) <= 0);
	assert_true(audio_tone_find(&found, f.pcm + 800, 1600, 8000));
	assert_float_equal(found.hz, 1000, 0.1);
	for (int i = 2400; i < 2800; i++)
		assert_true(fabsf(f.pcm[i]) <= 0);
	assert_true(audio_tone_find(&found, f.pcm + 4400, 1600, 8000));
	assert_float_equal(found.hz, 500, 0.1);
	assert_float_equal(found.dbov, -15.26, 0.1);
	file_release(&f);
	unlink(path);
	rmdir(folder);
	free(folder);
}

static double power_dbov(const float *pcm, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)pcm[i] * pcm[i];
	return 10 * log10(sum / (double)count);
}

/* How much of the power changes from sample to sample: 2 for white noise. */
static double roughness(const float *pcm, size_t count)
{
	double change = 0;
	double sum = 0;

	for (size_t i = 1; i < count; i++) {
		change += pow((double)pcm[i] - pcm[i - 1], 2);
		sum += (double)pcm[i] * pcm[i];
	}
	return change / sum;
}

/*
 * From a comfort noise packet until the next one, or until audio, there is
 * noise of its level. Before the first one there is silence.
 */
static void test_comfort_noise_is_heard(void **state)
{
	/* -40 dBov white; -50 dBov with a first coefficient of -0.7 */
	static const uint8_t white[] = {40}, low[] = {0x80 | 50, 38, 127};
	char *folder = folder_make();
	int16_t pcm[160] = {0};
	struct audio_recorded how;
	struct audio_recorder r;
	char path[128];
	struct file f;

	(void)state;
	path_in(path, sizeof(path), folder, "a.wav");
	audio_recorder_begin(&r, strdup(path));
	audio_recorder_noise(&r, white, 1, 0); /* no packet before it */
	audio_recorder_write(&r, pcm, 160, 8000, NS_PER_S, 0);
	audio_recorder_noise(&r, white, sizeof(white), 100);
	audio_recorder_noise(&r, white, 0, 300); /* empty */
	audio_recorder_noise(&r, low, sizeof(low), 1100);
	audio_recorder_noise(&r, white, sizeof(white), 600); /* late */
	audio_recorder_write(&r, pcm, 160, 8000, 0, 2100);
	audio_recorder_write(&r, pcm, 160, 8000, 0, 500);
	assert_true(audio_recorder_end(&r, &how));
	assert_float_equal(how.ms, 60 + 2100 + 500, 0.2);
	file_read(&f, path);
	for (int i = 0; i < 160 + 800; i++)
		assert_true(fabsf(f.pcm[i]) <= 0);
	assert_float_equal(power_dbov(f.pcm + 960, 8000), -40, 0.3);
	assert_float_equal(roughness(f.pcm + 960, 8000), 2, 0.15);
	assert_float_equal(power_dbov(f.pcm + 8960, 8000), -50, 0.5);
	print_message("roughness %.2f\n", roughness(f.pcm + 8960, 8000));
	/*
	 * with one pole, the correlation of neighbouring samples is the
	 * coefficient
	 */
	assert_float_equal(roughness(f.pcm + 8960, 8000), 0.6F, 0.1F);
	for (int i = 16960; i < f.info.frames; i++)
		assert_true(fabsf(f.pcm[i]) <= 0);
	file_release(&f);
	unlink(path);
	rmdir(folder);
	free(folder);
}

static void test_recording_that_cannot_be_written(void **state)
{
	struct audio_recorder r;
	struct audio_recorded how;
	int16_t pcm[160] = {0};

	(void)state;
	audio_recorder_begin(&r, strdup("/nowhere/at/all.wav"));
	audio_recorder_write(&r, pcm, 160, 8000, 1, 0);
	audio_recorder_write(&r, pcm, 160, 8000, 2, 0);
	assert_true(audio_recorder_end(&r, &how));
	assert_false(how.written);
	assert_true(how.cut);
	assert_int_equal(how.err, -ENOENT);
	/* nothing was received: no file, and no error */
	audio_recorder_begin(&r, strdup("/nowhere/at/all.wav"));
	assert_true(audio_recorder_end(&r, &how));
	assert_false(how.written);
	assert_false(how.cut);
	assert_int_equal(how.err, 0);
}

static void test_full_disk_is_told(void **state)
{
	char *folder = folder_make();
	struct audio_recorder r;
	struct audio_recorded how;
	int16_t pcm[160] = {0};
	char path[128];

	(void)state;
	path_in(path, sizeof(path), folder, "a.wav");
	assert_int_equal(symlink("/dev/full", path), 0);
	audio_recorder_begin(&r, strdup(path));
	audio_recorder_write(&r, pcm, 160, 8000, 1, 0);
	assert_true(audio_recorder_end(&r, &how));
	assert_false(how.written);
	assert_int_equal(how.err, -ENOSPC);
	assert_int_equal(access(path, F_OK), -1);
	rmdir(folder);
	free(folder);
}

/* The beginning is kept; what follows is cut off, and said. */
static void test_recording_has_a_ceiling(void **state)
{
	const double rate_hz = 48000;
	const int64_t full_ns = (int64_t)(AUDIO_RECORD_BYTES_MAX / 2 / rate_hz *
					  (double)NS_PER_S);
	char *folder = folder_make();
	struct audio_recorder r;
	struct audio_recorded how;
	int16_t pcm[960] = {0};
	char path[128];
	SF_INFO info = {0};
	SNDFILE *file;

	(void)state;
	path_in(path, sizeof(path), folder, "a.wav");
	audio_recorder_begin(&r, strdup(path));
	audio_recorder_start(&r, 0);
	/* silence until the first packet, whose end is above the ceiling */
	audio_recorder_write(&r, pcm, 960, 48000, full_ns - 10 * NS_PER_MS, 0);
	audio_recorder_write(&r, pcm, 960, 48000, full_ns, 0);
	assert_true(audio_recorder_end(&r, &how));
	assert_true(how.written);
	assert_true(how.cut);
	assert_int_equal(how.err, 0);
	file = sf_open(path, SFM_READ, &info);
	assert_non_null(file);
	assert_int_equal(info.frames, AUDIO_RECORD_BYTES_MAX / 2);
	sf_close(file);
	unlink(path);
	rmdir(folder);
	free(folder);
}

static void settle(struct rig_log *log, const struct rig_log *peer)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&at->rtp, &at->rtcp, MEDIA_SENDRECV);

	assert_int_equal(media_session_apply(log->session, &n), 0);
}

static void test_session_is_recorded(void **state)
{
	static const char *const names[] = {"1-in", "1-out", "2-in", "2-out"};
	char *folder = folder_make();
	char paths[4][128];
	struct rig_log *a, *b;
	struct rig r;

	(void)state;
	for (int i = 0; i < 4; i++)
		path_in(paths[i], sizeof(paths[i]), folder, names[i]);
	rig_open(&r, RIG_SESSIONS, 0);
	a = rig_session_audio(&r, 0, MEDIA_AUDIO_RECORD);
	b = rig_session(&r, 1);
	assert_int_equal(media_session_record(b->session, "/a", "/b"),
			 -ENOTSUP);
	assert_int_equal(media_session_record_stop(a->session), -EINVAL);
	assert_int_equal(media_session_record(a->session, paths[0], paths[1]),
			 0);
	assert_int_equal(media_session_record(a->session, "/a", "/b"), -EBUSY);
	settle(a, b);
	settle(b, a);
	rig_run_ms(&r, 1200);
	assert_int_equal(media_session_record_stop(a->session), 0);
	rig_run_ms(&r, 400);
	assert_int_equal(media_session_record(a->session, paths[2], paths[3]),
			 0);
	rig_run_ms(&r, 600);
	rig_stop(&r, 2);
	for (int out = 0; out < 2; out++) {
		struct audio_tone found;
		struct file f;

		assert_int_equal(a->recordings[out], 2);
		assert_true(a->recorded[out].written);
		/* the last second is as long as its packets */
		assert_true(a->recorded[out].ms >= 500);
		file_read(&f, paths[out]);
		assert_int_equal(f.info.samplerate, 8000);
		assert_true(f.info.frames >= 8 * 1100);
		/* the built-in tones: 425 Hz for 0.4 s */
		assert_true(audio_tone_find(&found, f.pcm + 800, 1600, 8000));
		assert_float_equal(found.hz, 425, 1);
		file_release(&f);
		unlink(paths[out]);
		unlink(paths[2 + out]);
	}
	assert_int_equal(a->audio_totals[0], 0);
	rig_close(&r);
	assert_int_equal(rmdir(folder), 0);
	free(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_is_the_line_of_time),
		cmocka_unit_test(test_comfort_noise_is_heard),
		cmocka_unit_test(test_recording_that_cannot_be_written),
		cmocka_unit_test(test_full_disk_is_told),
		cmocka_unit_test(test_recording_has_a_ceiling),
		cmocka_unit_test(test_session_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
