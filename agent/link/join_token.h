/**
 * Where the join token comes from: the command line, the configuration, or a
 * file that it names.
 */
#ifndef OFFHOOK_AGENT_LINK_JOIN_TOKEN_H
#define OFFHOOK_AGENT_LINK_JOIN_TOKEN_H

#include "conf/agent_conf.h"

/**
 * Set conf->join_token to the token to use; empty: there is none. A missing file
 * is no error, as the token is needed only once.
 * @param given  from the command line; empty: none
 * @return 0; -errno, and a reason in error
 */
int join_token_resolve(struct agent_conf *conf, const char *given,
		       struct conf_error *error);

#endif
