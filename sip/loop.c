#include <re.h>
#include <signal.h>
#include <sys/resource.h>

#include "sip/error.h"
#include "sip/mono_timer.h"
#include "sip/ua.h"

/* libre keeps a table of this size; one entry a descriptor number. */
#define DESCRIPTORS_MAX 65536

int sip_loop_init(void)
{
	struct rlimit limit;
	int descriptors = 1024;
	int err;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		if (limit.rlim_cur < limit.rlim_max) {
			limit.rlim_cur = limit.rlim_max;
			if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
				(void)getrlimit(RLIMIT_NOFILE, &limit);
		}
		descriptors = limit.rlim_cur < DESCRIPTORS_MAX
				      ? (int)limit.rlim_cur
				      : DESCRIPTORS_MAX;
	}
	/* OpenSSL writes to sockets that the peer may have closed. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* The descriptors' table must have its size before all else. */
	err = fd_setsize(descriptors);
	if (err)
		return neg(err);
	err = libre_init();
	if (err)
		return neg(err);
	err = neg(poll_method_set(METHOD_EPOLL));
	if (!err)
		err = mono_timers_open();
	if (err)
		libre_close();
	return err;
}

int sip_loop_run(void)
{
	return neg(re_main(NULL));
}

void sip_loop_stop(void)
{
	re_cancel();
}

void sip_loop_close(void)
{
	mono_timers_close();
	libre_close();
	fd_setsize(0);
	tmr_debug();
	mem_debug();
}
