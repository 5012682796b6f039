/**
 * How much processor time this process used, and why it got less than it wanted: steal
 * by a hypervisor, throttling by control groups, waiting for a processor. The files of
 * /proc and /sys are opened before the sandbox forbids it, and read once an interval.
 * Source: proc_stat(5), Documentation/scheduler/sched-stats.rst,
 *         Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst of Linux
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_HOST_LOAD_H
#define OFFHOOK_AGENT_ENGINE_HOST_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Our control group and the ones above it: each can throttle us. */
#define HOST_LOAD_GROUPS 8

enum host_load_known {
	HOST_LOAD_STEAL = 1 << 0,
	HOST_LOAD_THROTTLED = 1 << 1,
	HOST_LOAD_WAIT = 1 << 2,
};

/* Counters since some start; only differences of two samples say anything. */
struct host_load_sample {
	unsigned known;         /* enum host_load_known */
	uint64_t host_ticks;    /* of all processors of the host */
	uint64_t steal_ticks;   /* of these: stolen */
	uint64_t throttled;     /* periods in which a group was throttled */
	int64_t throttled_ns;   /* how long; some kernels leave it 0 */
	int64_t loop_wait_ns;   /* the loop's thread waited for a processor */
	int64_t processor_ns;   /* used by all threads of this process */
	int64_t wall_offset_ns; /* wall clock minus monotonic clock */
	int64_t mono_ns;
};

struct host_load {
	int stat_fd;                    /* /proc/stat; -1: unknown */
	int sched_fd;                   /* /proc/self/schedstat */
	int group_fd[HOST_LOAD_GROUPS]; /* cpu.stat */
	size_t groups;
};

/** Open the files; what cannot be opened stays unknown. Before the sandbox. */
void host_load_open(struct host_load *h);
void host_load_close(struct host_load *h);
/** Read all counters. */
void host_load_read(const struct host_load *h, struct host_load_sample *ret);

/** Take over the first line of /proc/stat: HOST_LOAD_STEAL.
 * @param text  terminated; ret is unchanged if it is no such line */
void host_load_parse_stat(const char *text, struct host_load_sample *ret);
/** Add a cpu.stat of either version of control groups: HOST_LOAD_THROTTLED. The root
 * group of version 2 has no such lines: ret is unchanged then. */
void host_load_parse_group(const char *text, struct host_load_sample *ret);
/** Take over /proc/self/schedstat: HOST_LOAD_WAIT. */
void host_load_parse_schedstat(const char *text, struct host_load_sample *ret);

#endif
