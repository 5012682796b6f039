#include "base/clock.h"
#include "base/log.h"
#include "control/server/api/resource.h"
#include "control/server/request/controller.h"
#include "control/server/request/fields.h"
#include "control/server/session/internal.h"
#include "control/server/session/password.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define CODE_FILE "setup-code"

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

int setup_prepare(struct sessions *s, struct store *store,
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
	struct sessions *s = req->controller->sessions;
	const char *refused = password_refused(name, password);
	char hash[USER_PASSWORD_BYTES];
	int64_t id;
	int err;

	if (!code_matches(s, code)) {
		throttle_failed(s->throttle, "setup", req->remote_addr,
				clock_mono_ns());
		field_error(rep, "/code", "is not that of %s", s->code_file);
		return;
	}
	if (!name[0] || strlen(name) >= USER_NAME_BYTES)
		field_error(rep, "/name", "must have 1 to %d bytes",
			    USER_NAME_BYTES - 1);
	if (refused)
		field_error(rep, "/password", "%s", refused);
	if (rep->status)
		return;
	err = password_hash(password, hash);
	if (err == 0)
		err = store_user_first(req->store, name, hash, &id);
	if (err) {
		reply_store_error(rep, err, "user");
		return;
	}
	setup_over(req->controller);
	log_info("the first user was made from %s", req->remote_addr);
	session_start(req, rep, id);
}

void session_setup(struct request *req, struct reply *rep)
{
	static const char *const names[] = {"code", "name", "password"};
	struct sessions *s = req->controller->sessions;
	json_t *values;

	if (!atomic_load_explicit(&s->setup, memory_order_relaxed)) {
		reply_problem(rep, 409, "there is a first user already");
		return;
	}
	values = session_fields(req, rep, names, 3);
	if (!values)
		return;
	if (session_enter(req, rep, "setup")) {
		first_user(
			req, rep,
			json_string_value(json_object_get(values, "code")),
			json_string_value(json_object_get(values, "name")),
			json_string_value(json_object_get(values, "password")));
		sem_post(&s->hashing);
	}
	json_decref(values);
}
