/**
 * Which system calls the threads of this process may make from now on, by seccomp.
 *
 * A call that is not allowed is not made. It fails with EPERM, and the log names it, once
 * each: a C library, an OpenSSL or a kernel that is newer than the list must cost a
 * measurement neither its calls nor its report, and the call is refused either way.
 */
#ifndef OFFHOOK_AGENT_ENGINE_SYSCALL_FILTER_H
#define OFFHOOK_AGENT_ENGINE_SYSCALL_FILTER_H

#include <stdbool.h>

/** Whether this kernel can filter system calls. */
bool syscall_filter_supported(void);

/** Install the filter in all threads of the process, for good. Sets no_new_privs.
 * Thread: any, once in a process
 * @param programs  allow to start programs and to end them, as a job with the client
 *                  baresip needs; they inherit the filter. What they and we are refused is
 *                  not logged then, but for calls that no program of ours makes
 * @param who       "run=ID role=NAME", put before what is logged; copied
 * @return 0; -ENOTSUP: the kernel has no seccomp; another -errno. Nothing is refused then */
int syscall_filter_install(bool programs, const char *who);

#endif
