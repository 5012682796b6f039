#include "agent/supervisor/supervisor_internal.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void on_terminate(struct supervisor *s)
{
	switch (s->terminations++) {
	case 0:
		log_info("stopping: running jobs may finish for %u s",
			 s->conf->stop_s);
		event_loop_arm(s->loop, &s->stop_timer,
			       (int64_t)s->conf->stop_s * 1000);
		supervisor_stop(s, STOP_DRAINING);
		break;
	case 1:
		log_info("stopping: running jobs are cancelled");
		supervisor_stop(s, STOP_CANCELLING);
		break;
	default:
		log_warning("stopping at once");
		event_loop_stop(s->loop);
		break;
	}
}

static void on_signal(uint32_t events, void *arg)
{
	struct supervisor *s = arg;
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1) {
		log_info("draining: no new jobs; the end comes with the last "
			 "one");
		supervisor_stop(s, STOP_DRAINING);
	} else {
		on_terminate(s);
	}
}

int signals_begin(struct supervisor *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	s->signals.ready_h = on_signal;
	s->signals.arg = s;
	s->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals.fd < 0)
		return -errno;
	return event_loop_watch(s->loop, &s->signals, EPOLLIN);
}

void signals_release(struct supervisor *s)
{
	if (s->signals.fd < 0)
		return;
	event_loop_unwatch(s->loop, &s->signals);
	close(s->signals.fd);
}
