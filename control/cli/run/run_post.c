#include "control/cli/run/run_post.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "control/cli/common/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#define RETRY_FIRST_MS 500
#define RETRY_MAX_MS   5000

/* The first request with this key is not answered yet. */
static bool is_in_progress(const struct remote *r)
{
	return remote_status(r) == 409 && remote_retry_after(r) > 0;
}

/* True if the controller may have carried the request out. A gateway answers 502
 * or 504 for a controller whose answer it did not get. */
static bool is_lost(const struct remote *r)
{
	long status = remote_status(r);

	return status == 0
		       ? remote_was_sent(r)
		       : status == 502 || status == 504 || is_in_progress(r);
}

/* True if a repetition may be answered later. */
static bool is_passing(const struct remote *r)
{
	return remote_is_passing(r) || is_in_progress(r);
}

/* @return true: a signal came */
static bool pause_for(int signals, int ms)
{
	struct pollfd fd = {.fd = signals, .events = POLLIN};

	return poll(&fd, 1, ms) > 0;
}

/* Repeat the request until an answer tells whether it was carried out. */
static int repeat(const struct run_post_params *p, const char *key,
		  struct remote_answer *ret,
		  char reason[static REMOTE_REASON_BYTES])
{
	int64_t start_ns = clock_mono_ns();
	int err, ms = RETRY_FIRST_MS;

	fprintf(stderr, "offhook: the answer to the start was lost (");
	terminal_print(stderr, reason, 0);
	fprintf(stderr,
		"); trying again for %u s, the run is started once only\n",
		p->retry_s);
	do {
		if (pause_for(p->signals, ms))
			return -EINTR;
		err = remote_start(p->remote, p->path, p->fields, key, ret,
				   reason);
		if (err == -EINTR)
			return err;
		if (!err || !is_passing(p->remote)) {
			fprintf(stderr,
				"offhook: the controller is back after %lld "
				"s\n",
				(long long)((clock_mono_ns() - start_ns) /
					    NS_PER_S));
			return err;
		}
		ms = 2 * ms < RETRY_MAX_MS ? 2 * ms : RETRY_MAX_MS;
	} while (clock_mono_ns() - start_ns < (int64_t)p->retry_s * NS_PER_S);
	fprintf(stderr,
		"offhook: the controller did not answer for %u s; --retry-for "
		"S tries longer\n",
		p->retry_s);
	return -EIO;
}

void run_post_key(char ret[static RUN_POST_KEY_BYTES])
{
	str_print(ret, RUN_POST_KEY_BYTES, "%016" PRIx64 "%016" PRIx64,
		  random_u64(), random_u64());
}

int run_post(const struct run_post_params *p, struct remote_answer *ret,
	     char reason[static REMOTE_REASON_BYTES])
{
	char new_key[RUN_POST_KEY_BYTES];
	const char *key = p->key ? p->key : new_key;
	int err;

	run_post_key(new_key);
	err = remote_start(p->remote, p->path, p->fields, key, ret, reason);
	if (err != -EIO && err != -EINVAL)
		return err;
	if (!is_lost(p->remote))
		return remote_status(p->remote) ? err : -ENOTCONN;
	if (!p->retry_s)
		return -EIO;
	remote_stop_on(p->remote, p->signals);
	err = repeat(p, key, ret, reason);
	remote_stop_on(p->remote, -1);
	return err;
}
