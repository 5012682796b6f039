/**
 * Appimages, beyond what record.h does.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_APPIMAGE_H
#define OFFHOOK_SERVER_STORE_STORE_APPIMAGE_H

#include <stdint.h>

struct store;

/** Hex digits of a SHA-256 and a terminator. */
#define APPIMAGE_HASH_BYTES 65

/** Find one by its content that a job in progress of the agent names.
 * @return 0; -ENOENT: there is none, or it is of no concern to the agent; -EIO */
int store_appimage_of_agent(struct store *s, int64_t agent_id,
			    const char *sha256, int64_t *ret_id);

/** Find the hash of a prompt by name; of several uploads the latest counts.
 * @return 0; -ENOENT; -EMEDIUMTYPE there are uploads of the name, but none is a
 * prompt; -EIO */
int store_prompt_find(struct store *s, const char *name,
		      char sha256[static APPIMAGE_HASH_BYTES]);

/** Find the hash of an upload of any kind by name; the latest counts.
 * @return 0; -ENOENT; -EIO */
int store_file_find(struct store *s, const char *name,
		    char sha256[static APPIMAGE_HASH_BYTES]);

#endif
