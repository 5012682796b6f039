#include "control/server/session/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "conf/load.h"
#include "control/server/request/controller.h"
#include "control/server/request/fields.h"
#include "control/server/session/password.h"
#include "control/server/session/throttle.h"
#include "control/server/store/store.h"
#include "control/server/store/store_audit.h"
#include "control/server/store/store_key.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE_FILE "setup-code"

/* Ceiling of concurrent password hashes: each takes 64 MiB and a worker. */
#define HASHES_AT_ONCE 2

struct sessions {
	struct throttle *throttle;
	sem_t hashing;
	/* Relaxed: only tells the page whether to offer the setup; the store
	 * decides. */
	atomic_bool setup;
	char code_file[CONF_PATH_BYTES];
};

static int write_code(const char *path, const char *code)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, code, strlen(code));
	if (n == (ssize_t)strlen(code))
		n = write(fd, "\n", 1);
	close(fd);
	return n > 0 ? 0 : -EIO;
}

/* Make the setup code if there is no user. @return 0; -errno */
static int setup_prepare(struct sessions *s, struct store *store,
			 const char *state_dir)
{
	char code[SECRET_TOKEN_BYTES];
	int64_t users = 0;
	int err = conf_path(s->code_file, sizeof(s->code_file), state_dir,
			    CODE_FILE);

	if (err >= 0)
		err = store_user_count(store, &users);
	if (err < 0)
		return err;
	if (users > 0) {
		unlink(s->code_file);
		return 0;
	}
	secret_token(code);
	err = write_code(s->code_file, code);
	sodium_memzero(code, sizeof(code));
	if (err) {
		log_error("%s: %s", s->code_file, strerror(-err));
		return err;
	}
	atomic_store_explicit(&s->setup, true, memory_order_relaxed);
	log_info(
		"nobody can sign in yet: the page /setup makes the first user; "
		"the code it asks for is in %s",
		s->code_file);
	return 0;
}

int sessions_new(struct sessions **ret, struct controller *c)
{
	struct sessions *s = calloc(1, sizeof(*s));
	struct store *store;
	int err;

	if (!s)
		return -ENOMEM;
	sem_init(&s->hashing, 0, HASHES_AT_ONCE);
	err = throttle_new(&s->throttle);
	if (err == 0)
		err = store_new(&store, c->database);
	if (err == 0) {
		err = setup_prepare(s, store, c->conf->state_dir);
		store_free(store);
	}
	if (err) {
		sessions_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct sessions *sessions_free(struct sessions *s)
{
	if (!s)
		return NULL;
	throttle_free(s->throttle);
	sem_destroy(&s->hashing);
	free(s);
	return NULL;
}

bool session_token(const struct request *req,
		   char token[static SECRET_TOKEN_BYTES])
{
	const char *value = request_cookie(req, SESSION_COOKIE);

	return value && str_copy(token, SECRET_TOKEN_BYTES, value) == 0;
}

void session_csrf(const struct store *s, const char *token,
		  char csrf[static SESSION_CSRF_BYTES])
{
	char text[SECRET_TOKEN_BYTES + 8];
	uint8_t hash[SECRET_HASH_BYTES];

	str_print(text, sizeof(text), "csrf %s", token);
	secret_hash(store_secrets(s), text, hash);
	sodium_bin2base64(csrf, SESSION_CSRF_BYTES, hash, sizeof(hash),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

/* A password that was sent with a name, now. */
static struct guess guess_of(struct request *req, const char *name)
{
	struct store *store = request_store(req);
	const bool shared = store_is_shared(store);

	return (struct guess){
		.shared = shared ? store : NULL,
		.name = name,
		.address = request_remote_addr(req),
		.now_ns = shared ? clock_wall_ns() : clock_mono_ns(),
	};
}

static void note_failed(struct request *req, const char *name)
{
	const struct guess guess = guess_of(req, name);

	if (throttle_failed(request_controller(req)->sessions->throttle,
			    &guess))
		log_error("a failed login could not be counted");
}

/* Wait for one of the places for hashing, unless the client is throttled.
 * @return true: give it back with sem_post(); false: the reply is made */
static bool hashing_enter(struct request *req, struct reply *rep,
			  const char *name)
{
	struct sessions *s = request_controller(req)->sessions;
	struct guess guess;
	int64_t wait_ns;
	int err;

	if (sem_trywait(&s->hashing)) {
		reply_unavailable(rep, 1, "too many people sign in at once");
		return false;
	}
	/* checked with the place taken: concurrent guesses are throttled by
	 * those that failed before */
	guess = guess_of(req, name);
	err = throttle_wait(s->throttle, &guess, &wait_ns);
	if (err == 0 && wait_ns == 0)
		return true;
	sem_post(&s->hashing);
	if (err) {
		reply_store_error(rep, err, "user");
		return false;
	}
	reply_problem(rep, 429, "too many wrong passwords: wait %lld s",
		      (long long)((wait_ns + NS_PER_S - 1) / NS_PER_S));
	reply_header(rep, "Retry-After", "%lld",
		     (long long)((wait_ns + NS_PER_S - 1) / NS_PER_S));
	return false;
}

int session_hash(struct controller *c, const char *password,
		 char hash[static USER_PASSWORD_BYTES])
{
	int err;

	if (sem_trywait(&c->sessions->hashing))
		return -EBUSY;
	err = password_hash(password, hash);
	sem_post(&c->sessions->hashing);
	return err;
}

static void set_cookie(struct request *req, struct reply *rep,
		       const char *token, int64_t max_age_s)
{
	/* Lax: links to a report work, forms of other sites do not send it */
	reply_header(rep, "Set-Cookie",
		     SESSION_COOKIE
		     "=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%lld%s",
		     token, (long long)max_age_s,
		     request_secure(req) ? "; Secure" : "");
}

/* Begin a session and answer with its cookie. */
static void begin_session(struct request *req, struct reply *rep,
			  int64_t user_id)
{
	char token[SECRET_TOKEN_BYTES];
	int err = store_session_begin(request_store(req), user_id, token);

	if (err) {
		reply_store_error(rep, err, "user");
		return;
	}
	reply_json(rep, 200, NULL);
	set_cookie(req, rep, token, SESSION_MS / 1000);
	sodium_memzero(token, sizeof(token));
}

/* Read the members of a JSON body. Forms are refused: other sites can send them
 * without a script.
 * @return new object; NULL: the reply is made */
static json_t *read_fields(struct request *req, struct reply *rep,
			   const char *const *names, size_t count)
{
	struct field fields[3];

	if (count > sizeof(fields) / sizeof(*fields) ||
	    request_body_is_form(req)) {
		reply_problem(rep, 415, "the body must be application/json");
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		fields[i] = (struct field){.name = names[i],
					   .kind = FIELD_TEXT,
					   .required = true,
					   .max = PASSWORD_MAX};
	return fields_read(req, request_body(req), false, "", fields, count,
			   rep);
}

static const char *text_or_null(const json_t *values, const char *name)
{
	return json_string_value(json_object_get(values, name));
}

static void sign_in(struct request *req, struct reply *rep, const char *name,
		    const char *password)
{
	struct throttle *throttle = request_controller(req)->sessions->throttle;
	struct web_user user = {.id = 0};
	struct guess guess;
	int err = store_user_find(request_store(req), name, &user);
	bool matches;

	if (err && err != -ENOENT) {
		reply_store_error(rep, err, "user");
		return;
	}
	matches = password_matches(err ? NULL : user.password_hash, password);
	sodium_memzero(user.password_hash, sizeof(user.password_hash));
	if (matches) {
		guess = guess_of(req, name);
		if (throttle_passed(throttle, &guess))
			log_error("failed logins of a user could not be "
				  "forgotten");
		store_audit_actor(request_store(req), -user.id);
		log_info("user %lld signed in from %s", (long long)user.id,
			 request_remote_addr(req));
		begin_session(req, rep, user.id);
		return;
	}
	note_failed(req, name);
	if (store_audit_refused(request_store(req), user.id))
		log_error("a refused login could not be noted");
	log_warning("a wrong name or password from %s",
		    request_remote_addr(req));
	reply_problem(rep, 403, "the name or the password is wrong");
}

void session_login(struct request *req, struct reply *rep)
{
	static const char *const names[] = {"name", "password"};
	json_t *values = read_fields(req, rep, names, 2);

	if (!values)
		return;
	if (hashing_enter(req, rep, text_or_null(values, "name"))) {
		sign_in(req, rep, text_or_null(values, "name"),
			text_or_null(values, "password"));
		sem_post(&request_controller(req)->sessions->hashing);
	}
	json_decref(values);
}

void session_logout(struct request *req, struct reply *rep)
{
	char token[SECRET_TOKEN_BYTES];
	int err = session_token(req, token)
			  ? store_session_end(request_store(req), token)
			  : 0;

	if (err) {
		reply_store_error(rep, err, "session");
		return;
	}
	reply_json(rep, 200, NULL);
	set_cookie(req, rep, "", 0);
}

/* Whether the first user is still to be made. Another controller on the database may
 * have made it. */
static bool setup_open(const struct request *req)
{
	struct controller *c = request_controller(req);
	int64_t users = 0;

	if (!atomic_load_explicit(&c->sessions->setup, memory_order_relaxed))
		return false;
	if (store_user_count(request_store(req), &users) == 0 && users > 0)
		setup_over(c);
	return users == 0;
}

void session_get(struct request *req, struct reply *rep)
{
	const bool setup = setup_open(req);
	char token[SECRET_TOKEN_BYTES], csrf[SESSION_CSRF_BYTES];
	struct web_user user;
	int err = -EACCES;

	if (session_token(req, token))
		err = store_session_find(request_store(req), token, &user);
	if (err == -EACCES) {
		reply_json(rep, 200,
			   json_pack("{s:n, s:b}", "user", "setup", setup));
		return;
	}
	if (err) {
		reply_store_error(rep, err, "session");
		return;
	}
	session_csrf(request_store(req), token, csrf);
	reply_json(rep, 200,
		   json_pack("{s:{s:s, s:s}, s:s, s:b}", "user", "name",
			     user.name, "rights", right_text(user.right),
			     "csrf", csrf, "setup", setup));
}

static void change(struct request *req, struct reply *rep,
		   const struct web_user *user, const char *old,
		   const char *password)
{
	char hash[USER_PASSWORD_BYTES];
	const char *refused = password_refused(user->name, password);
	int64_t id;
	int err;

	if (refused) {
		field_error(rep, "/new_password", "%s", refused);
		return;
	}
	if (!password_matches(user->password_hash, old)) {
		note_failed(req, user->name);
		field_error(rep, "/password", "is wrong");
		return;
	}
	err = password_hash(password, hash);
	if (err == 0)
		err = store_user_put(request_store(req), user->name, hash, NULL,
				     &id);
	if (err)
		reply_store_error(rep, err, "user");
	else /* all sessions have ended: begin a new one */
		begin_session(req, rep, id);
}

void session_password(struct request *req, struct reply *rep)
{
	static const char *const names[] = {"password", "new_password"};
	char token[SECRET_TOKEN_BYTES];
	struct web_user user;
	json_t *values;

	if (!session_token(req, token) ||
	    store_session_find(request_store(req), token, &user)) {
		reply_problem(rep, 403, "sign in first");
		return;
	}
	values = read_fields(req, rep, names, 2);
	if (!values)
		return;
	if (hashing_enter(req, rep, user.name)) {
		change(req, rep, &user, text_or_null(values, "password"),
		       text_or_null(values, "new_password"));
		sem_post(&request_controller(req)->sessions->hashing);
	}
	json_decref(values);
}

/* ---- the first user ---- */

void setup_over(struct controller *c)
{
	/* relaxed: it publishes nothing */
	if (atomic_exchange_explicit(&c->sessions->setup, false,
				     memory_order_relaxed))
		unlink(c->sessions->code_file);
}

static bool code_matches(const struct sessions *s, const char *code)
{
	char text[SECRET_TOKEN_BYTES] = "";
	int fd = open(s->code_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool matches = false;

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) == sizeof(text) - 1)
		matches = strlen(code) == strlen(text) &&
			  sodium_memcmp(code, text, strlen(text)) == 0;
	close(fd);
	sodium_memzero(text, sizeof(text));
	return matches;
}

static void first_user(struct request *req, struct reply *rep, const char *code,
		       const char *name, const char *password)
{
	struct sessions *s = request_controller(req)->sessions;
	const char *refused = password_refused(name, password);
	char hash[USER_PASSWORD_BYTES];
	int64_t id;
	int err;

	if (!code_matches(s, code)) {
		note_failed(req, "setup");
		field_error(rep, "/code", "is not that of %s", s->code_file);
		return;
	}
	if (!name[0] || strlen(name) >= USER_NAME_BYTES)
		field_error(rep, "/name", "must have 1 to %d bytes",
			    USER_NAME_BYTES - 1);
	if (refused)
		field_error(rep, "/password", "%s", refused);
	if (reply_status(rep))
		return;
	err = password_hash(password, hash);
	if (err == 0)
		err = store_user_first(request_store(req), name, hash, &id);
	if (err) {
		reply_store_error(rep, err, "user");
		return;
	}
	setup_over(request_controller(req));
	log_info("the first user was made from %s", request_remote_addr(req));
	begin_session(req, rep, id);
}

void session_setup(struct request *req, struct reply *rep)
{
	static const char *const names[] = {"code", "name", "password"};
	struct sessions *s = request_controller(req)->sessions;
	json_t *values;

	if (!setup_open(req)) {
		reply_problem(rep, 409, "there is a first user already");
		return;
	}
	values = read_fields(req, rep, names, 3);
	if (!values)
		return;
	if (hashing_enter(req, rep, "setup")) {
		first_user(
			req, rep,
			json_string_value(json_object_get(values, "code")),
			json_string_value(json_object_get(values, "name")),
			json_string_value(json_object_get(values, "password")));
		sem_post(&s->hashing);
	}
	json_decref(values);
}
