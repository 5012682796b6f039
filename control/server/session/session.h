/**
 * Signing in to the pages: login, logout, password, the first user.
 * Handlers run on a worker; the rest is called by main.
 */
#ifndef OFFHOOK_SERVER_SESSION_SESSION_H
#define OFFHOOK_SERVER_SESSION_SESSION_H

#include "control/server/request/request.h"
#include "control/server/store/store_user.h"

#include <stdbool.h>

#define SESSION_COOKIE "offhook_session"

/* Text of a CSRF token with its end. */
#define SESSION_CSRF_BYTES 44

struct sessions;

/**
 * Start. If there is no user, write a setup code, which the first user has to
 * give, to state_dir/setup-code.
 * @return 0; -ENOMEM; -EIO; -errno
 */
int sessions_new(struct sessions **ret, struct controller *c);
/** Accepts NULL. @return NULL */
struct sessions *sessions_free(struct sessions *s);

/** Get the session token of a request's cookie. @return false: there is none */
bool session_token(const struct request *req,
		   char token[static SECRET_TOKEN_BYTES]);

/** Make the token that a page sends as X-CSRF-Token with every change. It is
 * derived from the session's token, which scripts cannot read. */
void session_csrf(const struct store *s, const char *token,
		  char csrf[static SESSION_CSRF_BYTES]);

/**
 * Hash a password (password.h); limits concurrent hashing together with logins.
 * @return 0; -EBUSY; -ENOMEM
 */
int session_hash(struct controller *c, const char *password,
		 char hash[static USER_PASSWORD_BYTES]);

/** End the setup of the first user: there is one. Thread: any. */
void setup_over(struct controller *c);

/* api_handler */
void session_get(struct request *req, struct reply *rep);
void session_login(struct request *req, struct reply *rep);
void session_logout(struct request *req, struct reply *rep);
void session_password(struct request *req, struct reply *rep);
void session_setup(struct request *req, struct reply *rep);

#endif
