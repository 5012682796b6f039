#include "control/cli/run/run_files.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/wire/artifact.h"
#include "control/wire/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 400

/* Where files go. */
struct place {
	struct client *client;
	const char *folder;
	bool replace;
	json_t *saved;
};

static int make_folder(const char *folder)
{
	if (mkdir(folder, 0777) == 0 || errno == EEXIST)
		return 0;
	fprintf(stderr, "offhook: %s: %s\n", folder, strerror(errno));
	return CLI_EXIT_ERRORED;
}

/* Give a file that is whole its name. @return 0; -errno */
static int appear(const char *part, const char *file, bool replace)
{
	if (renameat2(AT_FDCWD, part, AT_FDCWD, file,
		      replace ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL || replace)
		return -errno;
	/* a file system that cannot rename without replacing can link */
	return link(part, file) || unlink(part) ? -errno : 0;
}

/* @param name  of the file, safe */
static int save(const struct place *p, const char *path, const char *name)
{
	char file[PATH_MAX], part[PATH_MAX];
	int status, err = 0;

	if (str_print(file, sizeof(file), "%s/%s", p->folder, name) < 0 ||
	    str_print(part, sizeof(part), "%s.%ld.part", file, (long)getpid()) <
		    0)
		return client_usage("the name of the folder is too long");
	if (!p->replace && access(file, F_OK) == 0)
		err = -EEXIST;
	if (!err) {
		status = client_save(p->client, path, part);
		if (status)
			return status;
		err = appear(part, file, p->replace);
		if (err)
			unlink(part);
	}
	if (err) {
		fprintf(stderr, "offhook: %s: %s%s\n", file, strerror(-err),
			err == -EEXIST ? "; --force replaces it" : "");
		return CLI_EXIT_ERRORED;
	}
	json_array_append_new(p->saved, wire_text(file));
	return 0;
}

/* ---- artifacts ---- */

/* Refuse names from the controller that would lead out of the folder. */
static bool names_valid(const char *role, const char *name)
{
	size_t i = 0;

	while (isalnum((unsigned char)role[i]) || role[i] == '_')
		i++;
	return i > 0 && !role[i] && wire_artifact_name_valid(name);
}

static int save_artifact(const struct place *p, const char *run,
			 const json_t *row)
{
	const char *role = text_of(row, "role"), *name = text_of(row, "name");
	char path[PATH_BYTES], file[NAME_MAX];

	if (!names_valid(role, name) ||
	    str_print(file, sizeof(file), "%s-%s", role, name) < 0 ||
	    str_print(path, sizeof(path), "/runs/%s/artifacts/%s/%s", run, role,
		      name) < 0) {
		fprintf(stderr, "offhook: a name that is no file's\n");
		return CLI_EXIT_ERRORED;
	}
	return save(p, path, file);
}

int run_files_artifacts(struct client *c, const char *run, const char *folder,
			bool replace, json_t *saved)
{
	const struct place p = {c, folder, replace, saved};
	json_t *rows = json_array(), *row;
	char path[PATH_BYTES];
	size_t i;
	int status;

	str_print(path, sizeof(path), "/runs/%s/artifacts", run);
	status = client_list(c, path, "artifacts", rows);
	if (!status)
		status = make_folder(folder);
	json_array_foreach(rows, i, row)
	{
		if (!status)
			status = save_artifact(&p, run, row);
	}
	json_decref(rows);
	return status;
}

/* ---- what the controller makes of a run ---- */

struct made {
	const char *path; /* below the run's */
	const char *name;
};

static int save_made(const struct place *p, const char *run_path,
		     const struct made *made, size_t count)
{
	char path[PATH_BYTES];
	int status = make_folder(p->folder);

	for (size_t i = 0; i < count && !status; i++) {
		str_print(path, sizeof(path), "%s/%s", run_path, made[i].path);
		status = save(p, path, made[i].name);
	}
	return status;
}

int run_files_recorded(struct client *c, const char *session,
		       const char *folder, bool replace, json_t *saved)
{
	static const struct made made[] = {
		{"sip.txt", "sip.txt"},
		{"sip.pcap", "sip.pcap"},
		{"packets.pcapng", "packets.pcapng"},
		{"stats.csv", "stats.csv"},
	};
	const struct place p = {c, folder, replace, saved};
	char path[PATH_BYTES];

	str_print(path, sizeof(path), "/run/details/%s", session);
	return save_made(&p, path, made, sizeof(made) / sizeof(*made));
}

int run_files_reports(struct client *c, const char *session, const char *folder,
		      bool replace, json_t *saved)
{
	static const struct made made[] = {
		{"report/junit", "junit.xml"},
		{"report/markdown", "report.markdown"},
		{"report/html", "report.html"},
	};
	const struct place p = {c, folder, replace, saved};
	char path[PATH_BYTES];

	str_print(path, sizeof(path), "/runs/%s", session);
	return save_made(&p, path, made, sizeof(made) / sizeof(*made));
}
