/**
 * Enrolment of agents.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LEASE_AGENT_H
#define OFFHOOK_SERVER_STORE_STORE_LEASE_AGENT_H

#include "control/server/store/store_secret.h"

#include <jansson.h>
#include <stdint.h>

struct db;
struct store;

struct agent_new {
	const char *token; /* join token of the pool */
	const char *name;
	const char *version;
	int64_t protocol;
	const json_t
		*further_tokens; /* of more pools; array of texts; or NULL */
	json_t *features;        /* NULL: none */
	json_t *calibration;     /* checked; NULL: none */
	int64_t capacity;
	const char *address; /* may be NULL */
	int64_t now;
};

/**
 * Enrol an agent.
 * @param secret  receives the agent's secret: only its hash is stored
 * @return 0 and the id; -EACCES no pool has one of the tokens; -EEXIST the pool has
 *         an agent of this name; -EIO; -ENOMEM
 */
int store_agent_enrol(struct store *s, const struct agent_new *agent,
		      char secret[SECRET_TOKEN_BYTES], int64_t *ret_id);

/* An agent serves at most so many pools besides its first one. */
#define STORE_FURTHER_POOLS_MAX 32

/**
 * Read the further pools of an agent, without its first one, in order of ids.
 * @param ret_ids, ret_names  new arrays
 * @return 0; -EIO; -ENOMEM
 */
int store_agent_further_pools(struct store *s, int64_t id, json_t **ret_ids,
			      json_t **ret_names);

/** Replace them by "further_pool_ids" of the values: a record_children_h. */
int store_agent_serve(struct store *s, struct db *db, int64_t id,
		      json_t *values);

/* Names that agents enrol with are shorter. */
#define STORE_AGENT_NAME_BYTES 256

/** Read an agent's name. @return 0; -ENOENT; -EMSGSIZE; -EIO */
int store_agent_name(struct store *s, int64_t id,
		     char ret[static STORE_AGENT_NAME_BYTES]);

#endif
