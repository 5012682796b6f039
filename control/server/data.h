/**
 * The controller's data: its master key and the database, and another master key for
 * them.
 * Thread: main, before others use the data.
 */
#ifndef OFFHOOK_SERVER_DATA_H
#define OFFHOOK_SERVER_DATA_H

struct backup_options;
struct controller_conf;
struct database;
struct secrets;

/**
 * Open key and database of the configuration; both are made if they are missing. A
 * change of the key that was interrupted is completed, or undone.
 * @param ret_secrets   owned by the caller, also after a failure; outlives the database
 * @param ret_database  likewise
 * @return 0; -EBUSY another process has them; -errno; the reason is in the log
 */
int data_open(const struct controller_conf *conf, struct secrets **ret_secrets,
	      struct database **ret_database);

/**
 * `offhook-controller rotate-key`: make another master key, and encrypt all secrets with
 * it. At each moment one of the two keys opens all of them.
 * @return 0; negative, logged: all is as it was
 */
int rotate_key_command(const struct controller_conf *conf,
		       const struct backup_options *o);

#endif
