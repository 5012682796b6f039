#include "prompt_rig.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

char prompt_rig_path[] = "/tmp/offhook-test-prompt-XXXXXX";

int prompt_rig_new(void **state)
{
	int fd;

	(void)state;
	memcpy(prompt_rig_path + sizeof(prompt_rig_path) - 7, "XXXXXX", 6);
	fd = mkstemp(prompt_rig_path);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

int prompt_rig_remove(void **state)
{
	(void)state;
	unlink(prompt_rig_path);
	return 0;
}

void until_taken(struct prompt_cache *cache, int wake_fd)
{
	struct pollfd wake = {.fd = wake_fd, .events = POLLIN};
	uint64_t count;

	do {
		assert_int_equal(poll(&wake, 1, 60000), 1);
		assert_int_equal(read(wake_fd, &count, sizeof(count)),
				 sizeof(count));
	} while (!prompt_cache_take(cache));
}

static void array_read(const struct pcm_source *s, int16_t *dst, size_t from,
		       size_t count)
{
	const int16_t *pcm = s->arg;

	memcpy(dst, pcm + from, count * sizeof(*dst));
}

struct pcm_source prompt_rig_source(const int16_t *pcm, size_t count)
{
	return (struct pcm_source){
		.count = count,
		.read = array_read,
		.arg = pcm,
	};
}

void prompt_rig_encode(struct clip *ret, const struct prompt_want *want,
		       const struct pcm_source *source)
{
	struct prompt_encoder *e;
	int more;

	assert_int_equal(prompt_encoder_new(&e, ret, want, source, 0), 0);
	do {
		more = prompt_encoder_step(e, 1000);
		assert_true(more >= 0);
	} while (more > 0);
	prompt_encoder_free(e);
}
