#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg),
		 void *arg)
{
	static const int own[] = {SIGSYS, SIGSEGV, SIGBUS, SIGILL,
				  SIGFPE, SIGTRAP, SIGABRT};
	sigset_t blocked, before;
	pthread_t id;
	int err;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&blocked, own[i]);
	/* the thread inherits the mask */
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	err = -pthread_create(&id, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return err;
	pthread_setname_np(id, name);
	*ret = id;
	return 0;
}
