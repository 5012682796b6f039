/**
 * The commands backup, restore, check and copy of offhook-controller. Results go to
 * standard output, errors and warnings to the log.
 * Thread: main, with SIGINT and SIGTERM blocked: they end a command early.
 */
#ifndef OFFHOOK_SERVER_BACKUP_COMMAND_H
#define OFFHOOK_SERVER_BACKUP_COMMAND_H

#include <stdbool.h>

struct controller_conf;

struct backup_options {
	const char *file; /* NULL: none given, for check; copy: the source */
	const char *destination; /* of copy */
	bool force;              /* replace what is there */
	bool with_key;           /* backup: include the master key */
	bool without_key; /* restore: also if the master key is missing */
};

/** Write a backup of a running or stopped controller to a file.
 * @return 0; negative, logged; then the file is as it was */
int backup_command(const struct controller_conf *conf,
		   const struct backup_options *o);

/** Put a backup in the place of the controller's data.
 * @return 0; negative, logged; then nothing is changed */
int restore_command(const struct controller_conf *conf,
		    const struct backup_options *o);

/** Check a backup, or the data of a running or stopped controller.
 * @return 0 all is in order; negative: it is not, printed or logged */
int check_command(const struct controller_conf *conf,
		  const struct backup_options *o);

/** Copy the tables of a database into an empty one, and print counts and hashes.
 * Both are named as the key `database` names them.
 * @return 0; negative, logged; then the destination is empty */
int copy_command(const struct controller_conf *conf,
		 const struct backup_options *o);

#endif
