/**
 * Profiles: controllers and their keys, kept in the user's configuration folder
 * ($XDG_CONFIG_HOME/offhook, else ~/.config/offhook), file profiles.json of mode
 * 0600 in a folder of mode 0700.
 */
#ifndef OFFHOOK_CONTROL_CLI_CLIENT_PROFILE_H
#define OFFHOOK_CONTROL_CLI_CLIENT_PROFILE_H

#include <jansson.h>
#include <stdbool.h>

#define PROFILE_REASON_BYTES 400
#define PROFILE_DEFAULT      "default"

/**
 * Read the file of profiles.
 * @param ret     {"current": NAME, "profiles": {NAME: {"url", "key",
 *                "ca_file", "fingerprint", "plain_http"}}},
 *                owned by the caller; empty without a file
 * @param reason  filled on failure
 * @return 0; -EPERM others can read or replace the file; -EINVAL it is no such
 *         file; another -errno
 */
int profile_read(json_t **ret, char reason[static PROFILE_REASON_BYTES]);

/** Replace the file by rename. The folder is made. @return 0; -errno */
int profile_write(const json_t *all, char reason[static PROFILE_REASON_BYTES]);

/** Find a profile. @param name  NULL: the current one
 * @return borrowed; NULL: none */
json_t *profile_find(const json_t *all, const char *name);

/** Find a profile by its URL. @return borrowed; NULL: none */
json_t *profile_of_url(const json_t *all, const char *url);

/** True if the text may name a profile: 1 to 64 letters, digits, '.', '_', '-'. */
bool profile_name_valid(const char *name);

#endif
