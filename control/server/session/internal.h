/** What session.c and setup.c share. */
#ifndef OFFHOOK_SERVER_SESSION_INTERNAL_H
#define OFFHOOK_SERVER_SESSION_INTERNAL_H

#include "conf/load.h"
#include "control/server/session/session.h"
#include "control/server/session/throttle.h"

#include <semaphore.h>
#include <stdatomic.h>

/* Passwords that are hashed at the same time: each takes 64 MiB and a worker. */
#define HASHES_AT_ONCE 2

struct sessions {
	struct throttle *throttle;
	sem_t hashing;
	/* Relaxed: whether the page offers it; the store decides. */
	atomic_bool setup;
	char code_file[CONF_PATH_BYTES];
};

/**
 * Take a place for hashing, after looking whether the client has to wait.
 * @return true: give it back with sem_post(); false: the reply is made
 */
bool session_enter(struct request *req, struct reply *rep, const char *name);

/** Begin a session and answer with its cookie. */
void session_start(struct request *req, struct reply *rep, int64_t user_id);

/** Read the members of a JSON body (no form: those need no script of ours).
 * @return new object; NULL: the reply is made */
json_t *session_fields(struct request *req, struct reply *rep,
		       const char *const *names, size_t count);

/** Make the setup code if there is no user. @return 0; -errno */
int setup_prepare(struct sessions *s, struct store *store,
		  const char *state_dir);

#endif
