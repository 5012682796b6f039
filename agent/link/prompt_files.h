/**
 * Prompts that were uploaded to the controller, kept on this agent: files in
 * one folder, named by the SHA-256 of what is in them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_LINK_PROMPT_FILES_H
#define OFFHOOK_AGENT_LINK_PROMPT_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A prompt above it is not fetched: the controller's default upload_limit. */
#define PROMPT_FILE_BYTES (64u << 20)
/* All of them together; the ones not used for longest go first. */
#define PROMPTS_BYTES (1024ull << 20)

/**
 * Find the first prompt of a job whose file is missing. Files that are present
 * are marked as used now.
 * @return its hash, borrowed from the spec; NULL: none is missing
 */
const char *prompt_files_missing(const json_t *spec, const char *dir);

/**
 * Store a prompt that the controller sent, whole or not at all.
 * @return 0; -EBADMSG its hash is another one; -EFBIG; -errno
 */
int prompt_files_keep(const char *dir, const char *sha256, const void *data,
		      size_t len);

#endif
