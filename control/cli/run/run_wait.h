/**
 * Wait for the end of a run or of a project run. Standard error shows how far it
 * is; an interrupt asks whether to stop it; a controller that does not answer is
 * asked again for some time. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_WAIT_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_WAIT_H

#include <jansson.h>
#include <stdbool.h>

#define RUN_WAIT_RETRY_S     60 /* default of retry_s */
#define RUN_WAIT_RETRY_S_MAX 86400

struct client;

struct run_wait_params {
	struct client *client; /* connected */
	const char *uuid;      /* session id of a run, or id of a project run */
	bool project;
	const char *report_url; /* NULL: unknown */
	const char *waiting; /* `waiting_for` that was already printed; NULL */
	bool quiet;          /* do not tell the phases of the run */
	unsigned retry_s;    /* for how long a controller may be away */
	int signals; /* of run_signals_open(); -1: signals end the program, the
		      * run goes on */
	/* True: the run cannot end any more. Asked before each request; prints
	 * nothing. NULL: not asked */
	bool (*broken)(void *arg);
	void *arg;
};

/** Read the value of --retry-for. @return 0; exit status, the complaint was printed */
int run_wait_read_retry(const char *value, unsigned *ret_s);

/** Block SIGINT, SIGTERM and SIGHUP, so that none ends the program between the
 * start of a run and the wait for it. @return descriptor that tells them;
 * -errno */
int run_signals_open(void);

/** Let signals end the program again. */
void run_signals_close(int signals);

/**
 * Wait.
 * An interrupt asks on the terminal whether to stop the run; a second one stops
 * it. Without a terminal, and on SIGTERM and SIGHUP, it is stopped at once. After
 * that one more interrupt ends the wait.
 * @param ret  new reference: the run of the last attempt, as of GET /runs/ID, or
 *             the project run
 * @return 0; exit status CLI_EXIT_ERRORED: the end is not known, the complaint was
 *         printed, but by `broken`
 */
int run_wait(const struct run_wait_params *p, json_t **ret);

#endif
