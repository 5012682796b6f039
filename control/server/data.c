#include "control/server/data.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/store/store.h"
#include "control/server/store/store_reseal.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The order of a change, so that a power cut leaves a key that opens all boxes:
 * 1. KEY.part is written and synced, and renamed to KEY.new: the next key. Boxes are under
 *    the former one.
 * 2. One transaction puts all boxes under the next key.
 * 3. KEY is linked to KEY.replaced-TIME, and KEY.new is renamed to KEY.
 * After a cut between 2 and 3 a box opens with KEY.new: then 3 is done at the next start. */

#define SUFFIX_BYTES 40

struct data {
	const struct controller_conf *conf;
	char key_file[CONF_PATH_BYTES];
	char part_file[CONF_PATH_BYTES + SUFFIX_BYTES];
	char next_file[CONF_PATH_BYTES + SUFFIX_BYTES];
	char database_place[CONF_PATH_BYTES]; /* a file, or a URI */
	struct secrets *secrets;
	struct database *database;
};

static int find_files(struct data *d, const struct controller_conf *conf)
{
	int err = conf_path(d->key_file, sizeof(d->key_file), conf->state_dir,
			    conf->key_file);

	d->conf = conf;
	if (err >= 0 && database_is_file(conf->database))
		err = conf_path(d->database_place, sizeof(d->database_place),
				conf->state_dir, conf->database);
	else if (err >= 0)
		err = str_copy(d->database_place, sizeof(d->database_place),
			       conf->database);
	if (err >= 0)
		err = str_print(d->part_file, sizeof(d->part_file), "%s.part",
				d->key_file);
	if (err >= 0)
		err = str_print(d->next_file, sizeof(d->next_file), "%s.new",
				d->key_file);
	if (err < 0)
		log_error("state_dir %s: %s", conf->state_dir, strerror(-err));
	return err < 0 ? err : 0;
}

static int open_both(struct data *d)
{
	int err = secrets_load(&d->secrets, d->key_file);

	return err ? err
		   : database_open(&d->database, d->database_place, d->secrets);
}

static void close_both(struct data *d)
{
	d->database = database_close(d->database);
	d->secrets = secrets_free(d->secrets);
}

/* Step 3. The former key is kept, as backups that were made with it need it. */
static int put_in_place(struct data *d, char kept[static CONF_PATH_BYTES])
{
	const time_t now = (time_t)(clock_wall_ns() / NS_PER_S);
	char stamp[24] = "";
	struct tm tm;
	int err = 0;

	if (gmtime_r(&now, &tm))
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	if (str_print(kept, CONF_PATH_BYTES, "%s.replaced-%s", d->key_file,
		      stamp) < 0)
		err = -ENAMETOOLONG;
	else if ((link(d->key_file, kept) && errno != EEXIST) ||
		 rename(d->next_file, d->key_file))
		err = -errno;
	if (err == 0)
		err = file_sync_folder_of(d->key_file);
	if (err)
		log_error("%s: %s", d->key_file, strerror(-err));
	return err;
}

/* @return 1 boxes are under the key of next_file; 0 they are not; negative, logged */
static int is_next_in_use(struct data *d)
{
	struct secrets *next = NULL;
	struct store *store;
	int err = secrets_load(&next, d->next_file);

	if (err)
		return err;
	err = store_new(&store, d->database);
	if (err == 0) {
		err = store_sealed_by(store, next);
		store_free(store);
	}
	secrets_free(next);
	if (err < 0)
		log_error("%s: %s", d->next_file, strerror(-err));
	return err;
}

/* Complete or undo a change of the key that was interrupted. */
static int settle(struct data *d)
{
	char kept[CONF_PATH_BYTES];
	int err;

	if (access(d->next_file, F_OK))
		return 0;
	err = is_next_in_use(d);
	if (err < 0)
		return err;
	if (err == 0) {
		if (unlink(d->next_file)) {
			err = -errno;
			log_error("%s: %s", d->next_file, strerror(-err));
			return err;
		}
		log_info("the change of the master key was interrupted: it is "
			 "as it was");
		return 0;
	}
	close_both(d);
	err = put_in_place(d, kept);
	if (err)
		return err;
	log_info("the change of the master key was interrupted after it: the "
		 "former key is %s",
		 kept);
	return open_both(d);
}

int data_open(const struct controller_conf *conf, struct secrets **ret_secrets,
	      struct database **ret_database)
{
	struct data d = {.conf = conf};
	int err;

	if (mkdir(conf->state_dir, 0700) && errno != EEXIST) {
		err = -errno;
		log_error("state_dir %s: %s", conf->state_dir, strerror(errno));
		return err;
	}
	err = find_files(&d, conf);
	if (err == 0)
		err = open_both(&d);
	if (err == 0)
		err = settle(&d);
	*ret_secrets = d.secrets;
	*ret_database = d.database;
	return err;
}

/* Steps 1 and 2. */
static int reseal(struct data *d, struct reseal_counts *ret)
{
	struct secrets *next = NULL;
	struct store *store;
	int err = secrets_make_next(d->secrets, d->part_file);

	if (err == 0 && rename(d->part_file, d->next_file))
		err = -errno;
	if (err == 0)
		err = file_sync_folder_of(d->next_file);
	if (err) {
		log_error("%s: %s", d->next_file, strerror(-err));
		return err;
	}
	err = secrets_load(&next, d->next_file);
	if (err)
		return err;
	err = store_new(&store, d->database);
	if (err == 0) {
		err = store_reseal(store, next, ret);
		store_free(store);
	}
	secrets_free(next);
	if (err)
		log_error("the secrets could not be encrypted anew: %s",
			  strerror(-err));
	return err;
}

/* A missing file is not made by this command. */
static int check_there(const char *file)
{
	int err = access(file, F_OK) ? -errno : 0;

	if (err)
		log_error("%s: %s; is this the configuration of the controller "
			  "(--config FILE)?",
			  file, strerror(-err));
	return err;
}

static int rotate(struct data *d)
{
	struct reseal_counts counts;
	char kept[CONF_PATH_BYTES];
	int err = settle(d);

	if (err == 0)
		err = reseal(d, &counts);
	if (err)
		return err;
	err = put_in_place(d, kept);
	if (err)
		return err; /* the next start does it */
	printf("%zu secrets are encrypted with the new master key %s\n",
	       counts.sealed, d->key_file);
	if (counts.foreign)
		log_warning("%zu secrets were of another master key before, "
			    "and stay as they are",
			    counts.foreign);
	printf("the former key is %s: backups made until now need it; delete "
	       "it with them\n",
	       kept);
	return 0;
}

int rotate_key_command(const struct controller_conf *conf,
		       const struct backup_options *o)
{
	struct data d = {.conf = conf};
	int err = find_files(&d, conf);

	(void)o;
	if (err == 0)
		err = check_there(d.key_file);
	if (err == 0 && database_is_file(conf->database))
		err = check_there(d.database_place);
	if (err == 0)
		err = open_both(&d);
	if (err == 0)
		err = database_lock_alone(d.database);
	if (err == 0)
		err = rotate(&d);
	close_both(&d);
	return err;
}
