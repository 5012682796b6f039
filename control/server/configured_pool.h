/**
 * The agent pool of the configuration (join_pool, join_token_file).
 * Thread: main, before requests are served.
 */
#ifndef OFFHOOK_SERVER_CONFIGURED_POOL_H
#define OFFHOOK_SERVER_CONFIGURED_POOL_H

struct controller_conf;
struct store;

/** Give the pool its token, and make it if it is missing; nothing without
 * join_token_file. @return 0; -EINVAL no token in the file; -EEXIST another pool has
 * this token; -errno; logged */
int configured_pool_begin(const struct controller_conf *conf,
			  struct store *store);

#endif
