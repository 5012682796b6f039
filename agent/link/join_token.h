/**
 * Where the join token comes from: the command line, the configuration, or a
 * file that it names.
 */
#ifndef OFFHOOK_AGENT_LINK_JOIN_TOKEN_H
#define OFFHOOK_AGENT_LINK_JOIN_TOKEN_H

#include "conf/agent_conf.h"

/**
 * Set conf->join_token to the one to use; empty: there is none. A file that is
 * missing is no error: the token is needed once only.
 * @param given  of the command line; empty: none
 * @return 0; -errno, and a reason in error
 */
int join_token_resolve(struct agent_conf *conf, const char *given,
		       struct conf_error *error);

#endif
