#include "control/cli/client/login.h"

#include "base/loopback.h"
#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/client/profile.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LINE_BYTES 2048

/* Read a line of standard input, on a terminal after a question. @param secret
 * do not echo it. @return false: there is none */
static bool ask(const char *question, bool secret, char line[static LINE_BYTES])
{
	struct termios shown, hidden;
	bool quiet = secret && tcgetattr(STDIN_FILENO, &shown) == 0;
	bool read;

	if (isatty(STDIN_FILENO) == 1) {
		fprintf(stderr, "%s: ", question);
		fflush(stderr);
	}
	if (quiet) {
		hidden = shown;
		hidden.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
	}
	read = fgets(line, LINE_BYTES, stdin) != NULL;
	if (quiet) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
		fputc('\n', stderr);
	}
	line[strcspn(line, "\r\n")] = '\0';
	return read && line[0];
}

/* Send one request with the key.
 * @param ret_unknown  set: no authority has signed the certificate
 * @return 0; exit status */
static int verify(const struct remote_params *p, bool *ret_unknown)
{
	char reason[REMOTE_REASON_BYTES];
	struct remote_answer a;
	struct remote *r;
	int status = 0;
	int err = remote_new(&r, p, reason);

	if (err)
		return client_usage("%s",
				    err == -EINVAL ? reason : strerror(-err));
	if (remote_call_json(r, "GET", "/", NULL, NULL, &a, reason)) {
		status = CLI_EXIT_ERRORED;
		*ret_unknown = remote_is_unknown(r);
		fputs("offhook: nothing was kept: ", stderr);
		terminal_print(stderr, reason, 0);
		fputc('\n', stderr);
	} else {
		remote_answer_release(&a);
	}
	remote_free(r);
	return status;
}

/* Show the fingerprint of a certificate that nobody vouches for, and ask on a terminal
 * whether it is the controller's. @return 0: it is; exit status */
static int ask_fingerprint(const char *url, char pin[static KEY_PIN_BYTES])
{
	char reason[REMOTE_REASON_BYTES], answer[LINE_BYTES] = "";

	if (remote_fingerprint(pin, url, reason)) {
		fprintf(stderr, "offhook: %s\n", reason);
		return CLI_EXIT_ERRORED;
	}
	fprintf(stderr,
		"       The certificate's fingerprint is %s\n"
		"       The controller's host prints the right one: "
		"offhook-controller fingerprint\n",
		pin);
	if (isatty(STDIN_FILENO) != 1) {
		fputs("       If they are equal: offhook login --fingerprint "
		      "with it\n",
		      stderr);
		return CLI_EXIT_ERRORED;
	}
	if (ask("Are they equal? (yes/no)", false, answer) &&
	    strcmp(answer, "yes") == 0)
		return 0;
	fputs("offhook: nothing was kept\n", stderr);
	return CLI_EXIT_ERRORED;
}

static int keep(const char *name, const struct remote_params *p)
{
	char reason[PROFILE_REASON_BYTES];
	json_t *all;
	int err = profile_read(&all, reason);

	if (err)
		return client_usage("%s", reason);
	err = json_object_set_new(
		      json_object_get(all, "profiles"), name,
		      json_pack("{s:s, s:s, s:s*, s:s*, s:o*}", "url", p->url,
				"key", p->key, "ca_file", p->ca_file,
				"fingerprint", p->fingerprint, "plain_http",
				p->plain_http ? json_true() : NULL)) ||
	      json_object_set_new(all, "current", json_string(name));
	if (err)
		str_print(reason, sizeof(reason), "%s", strerror(ENOMEM));
	else
		err = profile_write(all, reason);
	json_decref(all);
	if (err) {
		fprintf(stderr, "offhook: %s\n", reason);
		return CLI_EXIT_ERRORED;
	}
	printf("%s: %s\n", name, p->url);
	return 0;
}

/* Try the key, and keep all that the controller has accepted. */
static int verify_and_keep(const char *name, struct remote_params *p)
{
	const char *given = p->fingerprint;
	char pin[KEY_PIN_BYTES];
	bool unknown = false;
	int status = verify(p, &unknown);

	if (status && unknown && !p->ca_file) {
		status = ask_fingerprint(p->url, pin);
		p->fingerprint = pin;
		if (!status)
			status = verify(p, &unknown);
	}
	if (!status)
		status = keep(name, p);
	p->fingerprint = given;
	return status;
}

/* Take the URL, of the option or the terminal. A bare argument is the URL, too. */
static int read_url(const struct client *c, int argc, char **argv,
		    char url[static LINE_BYTES])
{
	const char *given = client_given_url(c);

	if (argc > 2 || (argc > 1 && given))
		return client_usage("%s is too much", argv[argc - 1]);
	if (argc > 1)
		given = argv[1];
	if (given ? str_copy(url, LINE_BYTES, given) < 0
		  : !ask("URL of the controller", false, url))
		return client_usage("which controller? --url URL");
	return 0;
}

int login_main(struct client *c, int argc, char **argv)
{
	char url[LINE_BYTES] = "", key[LINE_BYTES] = "", ca[PATH_MAX] = "";
	const char *name = client_given_profile(c);
	const char *file = client_given_ca_file(c);
	struct remote_params p = {.url = url,
				  .key = key,
				  .fingerprint = client_given_fingerprint(c),
				  .plain_http = client_plain_http()};
	int status;

	if (!name)
		name = PROFILE_DEFAULT;
	if (!profile_name_valid(name))
		return client_usage("a profile's name is 1 to 64 letters, "
				    "digits, '.', '_' and '-'");
	if (file &&
	    !realpath(file, ca)) /* a relative path is of no use later */
		return client_usage("%s: %s", file, strerror(errno));
	p.ca_file = file ? ca : NULL;
	status = read_url(c, argc, argv, url);
	if (status)
		return status;
	if (!p.plain_http &&
	    loopback_url_exposed(url)) /* before a key is typed */
		return client_usage("%s: the key would be sent over plain HTTP "
				    "to another host; use https://, or set "
				    "OFFHOOK_PLAIN_HTTP=1",
				    url);
	if (client_given_key_file(c))
		status = client_read_key_file(client_given_key_file(c), key,
					      sizeof(key));
	else if (!ask("API key (PUBLIC:SECRET)", true, key))
		status = client_usage("there is no key: --key-file FILE, or "
				      "standard input");
	if (!status)
		status = verify_and_keep(name, &p);
	explicit_bzero(key, sizeof(key));
	return status;
}

/* Read all profiles and find one. @return 0; exit status */
static int find(json_t **ret, const char *name)
{
	char reason[PROFILE_REASON_BYTES];

	if (profile_read(ret, reason))
		return client_usage("%s", reason);
	if (profile_find(*ret, name))
		return 0;
	json_decref(*ret);
	return client_usage("there is no profile %s: offhook profile list",
			    name ? name : PROFILE_DEFAULT);
}

static int write_and_release(json_t *all)
{
	char reason[PROFILE_REASON_BYTES];
	int err = profile_write(all, reason);

	json_decref(all);
	if (err)
		fprintf(stderr, "offhook: %s\n", reason);
	return err ? CLI_EXIT_ERRORED : CLI_EXIT_OK;
}

int login_logout(struct client *c, int argc, char **argv)
{
	const char *name = client_given_profile(c);
	json_t *all;
	int status;

	if (argc > 1)
		return client_usage("%s is too much; --profile NAME names it",
				    argv[1]);
	status = find(&all, name);
	if (status)
		return status;
	if (!name)
		name = json_string_value(json_object_get(all, "current"));
	json_object_del(json_object_get(all, "profiles"), name);
	return write_and_release(all);
}

int login_profile_use(struct client *c, int argc, char **argv)
{
	json_t *all;
	int status;

	(void)c;
	if (argc != 2)
		return client_usage("use which profile?");
	status = find(&all, argv[1]);
	if (status)
		return status;
	json_object_set_new(all, "current", json_string(argv[1]));
	return write_and_release(all);
}

int login_profile_list(struct client *c, int argc, char **argv)
{
	char reason[PROFILE_REASON_BYTES];
	const char *name, *current;
	json_t *all, *profile;

	(void)c;
	if (argc > 1)
		return client_usage("%s is too much", argv[1]);
	if (profile_read(&all, reason))
		return client_usage("%s", reason);
	current = json_string_value(json_object_get(all, "current"));
	json_object_foreach(json_object_get(all, "profiles"), name, profile)
	{
		const char *url =
			json_string_value(json_object_get(profile, "url"));

		printf("%s ",
		       current && strcmp(name, current) == 0 ? "*" : " ");
		terminal_print(stdout, name, 0);
		fputs("  ", stdout);
		terminal_print(stdout, url ? url : "-", 0);
		putchar('\n');
	}
	json_decref(all);
	return CLI_EXIT_OK;
}
