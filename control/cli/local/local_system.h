/**
 * A controller and agents of one command's own: on loopback, with keys that are
 * made for them, in a folder that is removed at the end. They end with this
 * process, however it ends.
 * Thread: main, which started them.
 */
#ifndef OFFHOOK_CONTROL_CLI_LOCAL_LOCAL_SYSTEM_H
#define OFFHOOK_CONTROL_CLI_LOCAL_LOCAL_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#define LOCAL_AGENTS_MAX 64

struct local_system;

struct local_system_params {
	const char *bind; /* address of the agents */
	uint16_t rtp_min, rtp_max;
	bool keep; /* leave the folder, and say where it is */
};

/**
 * Start the controller and wait until it listens. From now on SIGINT, SIGTERM and
 * SIGHUP do not end this process: see local_system_signals().
 * @param params  borrowed
 * @return 0; CLI_EXIT_ERRORED, the complaint was printed
 */
int local_system_new(struct local_system **ret,
		     const struct local_system_params *params);

/** Stop the programs and remove the folder. Jobs in progress are cancelled; a
 * second signal kills their agents. Accepts NULL. @return NULL */
struct local_system *local_system_free(struct local_system *s);

/** URL and API key (PUBLIC:SECRET) of the controller. */
const char *local_system_url(const struct local_system *s);
const char *local_system_key(const struct local_system *s);

/** Start an agent; it enrols by itself.
 * @param join_token  of its pool
 * @return as local_system_new() */
int local_system_add_agent(struct local_system *s, const char *join_token);

/** Descriptor that tells signals, of run_signals_open(). */
int local_system_signals(const struct local_system *s);

/** True if a program has ended by itself; see local_system_complain(). For
 * run_wait(). @param arg  struct local_system */
bool local_system_broken(void *arg);

/** Print which program ended by itself, and the end of its log. Nothing if none
 * did. */
void local_system_complain(const struct local_system *s);

/**
 * Wait a moment, less where a signal comes.
 * @return 0; CLI_EXIT_ERRORED, a signal asked to end or a program ended by itself;
 *         the complaint was printed
 */
int local_system_pause(struct local_system *s);

#endif
