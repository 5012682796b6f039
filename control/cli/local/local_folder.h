/**
 * The folder of `offhook local`: made for one command, locked while that lives,
 * removed at its end. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_LOCAL_LOCAL_FOLDER_H
#define OFFHOOK_CONTROL_CLI_LOCAL_LOCAL_FOLDER_H

#include <stdbool.h>

#define LOCAL_FOLDER_BYTES 512

struct local_folder {
	char path[LOCAL_FOLDER_BYTES]; /* "": there is none */
	int lock;                      /* -1: none */
};

/**
 * Make a folder of mode 0700 in $TMPDIR, else /tmp. Folders there that a killed
 * command of the same user left are removed.
 * @return 0; -errno (f: nothing to remove)
 */
int local_folder_make(struct local_folder *f);

/** Write a file of mode 0600. @return 0; -errno */
int local_folder_write(const struct local_folder *f, const char *name,
		       const char *text);

/** Remove the folder, or leave it for the user. */
void local_folder_end(struct local_folder *f, bool keep);

#endif
