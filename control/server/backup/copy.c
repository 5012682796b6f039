#include "control/server/backup/command.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/backup/snapshot.h"
#include "control/server/store/store.h"
#include "control/server/store/table_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time between two reports of the progress on a terminal. */
#define PROGRESS_NS (200 * NS_PER_MS)

struct progress {
	int64_t told_ns; /* 0: nothing was told */
};

/* A name as the key `database` has it. */
static int find_place(char place[static CONF_PATH_BYTES],
		      const struct controller_conf *conf, const char *name)
{
	int err = database_is_file(name)
			  ? conf_path(place, CONF_PATH_BYTES, conf->state_dir,
				      name)
			  : str_copy(place, CONF_PATH_BYTES, name);

	if (err < 0)
		log_error("%.40s...: the name is too long", name);
	return err < 0 ? err : 0;
}

static void show_progress(const char *verb, const char *table, int64_t done,
			  int64_t total, void *arg)
{
	struct progress *p = arg;
	const int64_t now = clock_mono_ns();

	if (p->told_ns && now - p->told_ns < PROGRESS_NS)
		return;
	p->told_ns = now;
	fprintf(stderr, "\r\033[K%3d %%  %s %s",
		total > 0 ? (int)(100 * done / total) : 100, verb, table);
	fflush(stderr);
}

static void end_progress(const struct progress *p)
{
	if (p->told_ns)
		fputs("\r\033[K", stderr);
}

/* The first number of the hash is enough to look at; all were compared. */
static void print_table(const struct table_copies *copies)
{
	int64_t rows = 0;

	printf("%-20s %12s %12s  %-16s  %s\n", "TABLE", "SOURCE", "DESTINATION",
	       "HASH OF SOURCE", "OF DESTINATION");
	for (size_t i = 0; i < copies->count; i++) {
		const struct table_copied *t = &copies->tables[i];

		rows += t->source.count;
		printf("%-20s %12" PRId64 " %12" PRId64 "  %016" PRIx64
		       "  %016" PRIx64 "%s\n",
		       t->name, t->source.count, t->destination.count,
		       t->source.sums[0], t->destination.sums[0],
		       table_rows_equal(&t->source, &t->destination)
			       ? ""
			       : "  DIFFERENT");
	}
	printf("%zu tables, %" PRId64 " rows\n", copies->count, rows);
}

static void tell_rest(const struct controller_conf *conf, const char *place)
{
	char key_file[CONF_PATH_BYTES], name[PATH_MAX];

	if (table_copy_name(name, sizeof(name), place) ||
	    conf_path(key_file, sizeof(key_file), conf->state_dir,
		      conf->key_file) < 0)
		return;
	printf("%s has all that the source has.\n"
	       "Next: set `database` in the configuration to it and start the "
	       "controller.\n"
	       "Files are not in a database, and stay where they are: the "
	       "master key %s,\nwithout which the stored secrets are of no "
	       "use, and artifacts/, appimages/ and\ntls.pem in %s. A "
	       "controller with another state_dir needs copies of them.\n",
	       name, key_file, conf->state_dir);
}

int copy_command(const struct controller_conf *conf,
		 const struct backup_options *o)
{
	static struct table_copies copies;
	char source[CONF_PATH_BYTES], destination[CONF_PATH_BYTES];
	struct progress progress = {.told_ns = 0};
	struct table_copy_params p = {
		.source = source,
		.destination = destination,
		.stop_h = snapshot_interrupted,
		.progress_h = isatty(STDERR_FILENO) ? show_progress : NULL,
		.arg = &progress};
	int err = find_place(source, conf, o->file);

	if (err == 0)
		err = find_place(destination, conf, o->destination);
	if (err)
		return err;
	if (strcmp(source, destination) == 0) {
		log_error("source and destination are the same database");
		return -EINVAL;
	}
	err = table_copy_all(&p, &copies);
	end_progress(&progress);
	if (err == 0 || err == -EBADMSG)
		print_table(&copies);
	if (err == -ECANCELED)
		log_error("interrupted; nothing was copied");
	else if (err && err != -ENOTCONN)
		log_error("nothing was copied: %s", strerror(-err));
	else if (err == 0)
		tell_rest(conf, destination);
	return err;
}
