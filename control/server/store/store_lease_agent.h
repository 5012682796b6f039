/**
 * Enrolment of agents.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LEASE_AGENT_H
#define OFFHOOK_SERVER_STORE_STORE_LEASE_AGENT_H

#include "control/server/store/store_secret.h"

#include <jansson.h>
#include <stdint.h>

struct store;

struct agent_new {
	const char *token; /* join token of the pool */
	const char *name;
	const char *version;
	int64_t protocol;
	json_t *features; /* NULL: none */
	int64_t capacity;
	const char *address; /* may be NULL */
	int64_t now;
};

/**
 * Enrol an agent.
 * @param secret  receives the agent's secret: only its hash is stored
 * @return 0 and the id; -EACCES no pool has this token; -EEXIST the pool has
 *         an agent of this name; -EIO; -ENOMEM
 */
int store_agent_enrol(struct store *s, const struct agent_new *agent,
		      char secret[SECRET_TOKEN_BYTES], int64_t *ret_id);

/* Names that agents enrol with are shorter. */
#define STORE_AGENT_NAME_BYTES 256

/** Read an agent's name. @return 0; -ENOENT; -EMSGSIZE; -EIO */
int store_agent_name(struct store *s, int64_t id,
		     char ret[static STORE_AGENT_NAME_BYTES]);

#endif
