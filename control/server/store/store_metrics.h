/**
 * Figures of the whole installation, for monitoring.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_METRICS_H
#define OFFHOOK_SERVER_STORE_STORE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct store;

/** Called per group with its count. @return 0; else stop */
typedef int(store_count_h)(const char *group, int64_t count, void *arg);

/** Count runs in progress by phase. @return 0; -EIO; or the handler's value */
int store_count_active(struct store *s, store_count_h *count_h, void *arg);

/** Count stored runs that are over by status. @return as
 * store_count_active() */
int store_count_done(struct store *s, store_count_h *count_h, void *arg);

/**
 * Count agents by state (online, draining, offline), including states without
 * agents.
 * @param seen_after_ms  since 1970: agents not seen after it are offline
 * @return as store_count_active()
 */
int store_count_agents(struct store *s, int64_t seen_after_ms,
		       store_count_h *count_h, void *arg);

/* Ceiling of agents with figures of their own; others have none. */
#define METRICS_AGENTS_MAX 1000

struct agent_figures {
	const char *pool; /* names, not escaped */
	const char *name;
	bool up;
	int64_t capacity;
	int64_t in_use;
	int64_t last_seen_ms; /* since 1970; 0: never */
	bool has_offset;
	int64_t clock_offset_us;
};
typedef int(store_agent_h)(const struct agent_figures *agent, void *arg);

/** Call a function with each agent, up to METRICS_AGENTS_MAX, the most recently
 * seen one first. @return 0; -EIO; or the handler's value */
int store_each_agent(struct store *s, int64_t seen_after_ms,
		     store_agent_h *agent_h, void *arg);
/** Count the enrolled agents. @return 0; -EIO */
int store_count_all_agents(struct store *s, int64_t *ret);

/* Ceiling of tests with figures of their own; others have none. */
#define METRICS_TESTS_MAX 1000

struct test_figure {
	bool known;
	double value;
};

/* A test with its last verdict: that of the last run that passed, failed or was
 * errored and is not tried again. The figures are of that run. */
struct test_figures {
	const char *project; /* names, not escaped */
	const char *name;
	const char *verdict;        /* NULL: no run has one */
	struct test_figure ended_s; /* since 1970 */
	struct test_figure duration_s;
	struct test_figure mos; /* mean of the received streams' seconds */
	struct test_figure mos_min;
	struct test_figure loss; /* 0..1, mean of the same */
	struct test_figure pdd_s;
	struct test_figure pdd_max_s;
};
typedef int(store_test_h)(const struct test_figures *test, void *arg);

/** Call a function with each of the first METRICS_TESTS_MAX tests, in the order
 * of ids. @return 0; -EIO; or the handler's value */
int store_each_test(struct store *s, store_test_h *test_h, void *arg);

/** Count all tests. @return 0; -EIO */
int store_count_tests(struct store *s, int64_t *ret);

/** Sum the bytes of all artifacts. @return 0; -EIO */
int store_artifact_bytes(struct store *s, int64_t *ret);

/** Sum "capacity" and "in_use" over the agents that are not offline.
 * @return as store_count_active() */
int store_count_places(struct store *s, int64_t seen_after_ms,
		       store_count_h *count_h, void *arg);

#endif
