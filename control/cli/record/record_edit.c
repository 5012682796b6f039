#include "control/cli/record/record_edit.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/client/record_kinds.h"
#include "control/cli/code/apply.h"
#include "control/cli/code/code_state.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/yaml/yaml_write.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_BYTES 4096
#define EXPORT_ARGS   20

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static enum code_kind_index code_kind_of(const struct record_kind *kind)
{
	return (enum code_kind_index)code_kind_find(kind->plural);
}

/* ---- the text ---- */

/* Write the record to a new file that only we may read. @return 0; -errno */
static int write_text(const struct record_kind *kind, json_t *record,
		      char path[static PATH_MAX])
{
	const char *folder = variable("TMPDIR");
	json_t *document = json_pack("{s:[O]}", kind->plural, record);
	FILE *out;
	int fd, err;

	str_print(path, PATH_MAX, "%s/offhook-%s-XXXXXX.yaml",
		  folder ? folder : "/tmp", kind->command);
	fd = mkstemps(path, (int)strlen(".yaml"));
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		err = -errno;
		json_decref(document);
		return err;
	}
	fputs("# Save and close: the controller gets what you changed. Closed "
	      "unchanged,\n"
	      "# nothing happens. Secrets stay as they are.\n",
	      out);
	err = yaml_write(out, document);
	if (fclose(out) && !err)
		err = -EIO;
	json_decref(document);
	return err;
}

/* The same file may be another one after the editor: compare what is in it.
 * @return new string; NULL: it cannot be read */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

/* ---- the editor ---- */

/* Interrupts are for the editor. @return its exit status; -errno */
static int wait_for(pid_t pid)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
	int status, err = 0;

	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			err = -errno;
			break;
		}
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	if (err)
		return err;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* @return true: the editor ended well */
static bool edit_text(const char *path)
{
	const char *editor = variable("VISUAL");
	char command[COMMAND_BYTES];
	int status;
	pid_t pid;

	if (!editor)
		editor = variable("EDITOR");
	if (!editor)
		editor = "vi";
	/* the variable may hold options, as for other programs */
	if (str_print(command, sizeof(command), "%s \"$@\"", editor) < 0) {
		fprintf(stderr,
			"offhook: the name of the editor is too long\n");
		return false;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, editor, path, NULL);
		_exit(127);
	}
	status = pid < 0 ? -errno : wait_for(pid);
	if (status == 0)
		return true;
	fprintf(stderr,
		"offhook: the editor %s ended with %d\n"
		"       VISUAL or EDITOR names another one\n",
		editor, status);
	return false;
}

static int keep(const char *path, int status)
{
	fprintf(stderr,
		"offhook: your text is kept in %s\n"
		"       `offhook apply -f %s` sends it\n",
		path, path);
	return status;
}

/* Edit and apply until it is accepted or given up. */
static int edit_loop(struct client *c, const struct apply_only *only,
		     const char *path)
{
	char *before = read_text(path), *after = NULL;
	int status = 0;

	do {
		if (!edit_text(path)) {
			status = keep(path, CLI_EXIT_ERRORED);
			break;
		}
		free(after);
		after = read_text(path);
		if (before && after && strcmp(before, after) == 0) {
			puts("nothing was changed");
			unlink(path);
			status = 0;
			break;
		}
		status = apply_only(c, path, only);
		if (!status)
			unlink(path);
		else
			keep(path, status);
	} while (status && terminal_confirm("Edit it again?"));
	free(before);
	free(after);
	return status;
}

int record_edit(struct client *c, const struct record_kind *kind, json_int_t id)
{
	struct apply_only only = {.kind = code_kind_of(kind), .id = id};
	char path[PATH_MAX], etag[REMOTE_ETAG_BYTES];
	json_t *schema = code_schema_new(), *record = NULL;
	struct code_state *state = NULL;
	int status = code_state_new(&state, c, schema), err;

	if (!status)
		status = code_state_read(state, only.kind, id, &record, etag);
	code_state_free(state);
	json_decref(schema);
	if (status)
		return status;
	err = write_text(kind, record, path);
	json_decref(record);
	if (err) {
		fprintf(stderr, "offhook: %s: %s\n", path, strerror(-err));
		return CLI_EXIT_ERRORED;
	}
	only.etag = etag;
	return edit_loop(c, &only, path);
}

int record_create_from(struct client *c, const struct record_kind *kind,
		       const char *file)
{
	const struct apply_only only = {.kind = code_kind_of(kind)};

	return apply_only(c, file, &only);
}

int record_test_export(struct client *c, int argc, char **argv)
{
	char *args[EXPORT_ARGS + 3] = {(char[]){"export"}, (char[]){"tests"}};

	if (argc > EXPORT_ARGS)
		return client_usage("%s is too much", argv[EXPORT_ARGS]);
	for (int i = 1; i < argc; i++)
		args[i + 1] = argv[i];
	return export_main(c, argc + 1, args);
}
