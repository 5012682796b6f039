/**
 * What this agent is able to do, as it tells the controller when it enrols and
 * when it polls (docs/internals/orchestration.md).
 * Thread: any.
 */
#ifndef OFFHOOK_AGENT_CAPABILITIES_H
#define OFFHOOK_AGENT_CAPABILITIES_H

#include "conf/agent_conf.h"

#include <jansson.h>

/**
 * List the capabilities of this build on this host, as KIND:VALUE, and the
 * labels of the configuration. Looks at the host (programs, rights): call it
 * once and keep the list.
 * @param conf  borrowed
 * @return new array; NULL
 */
json_t *capabilities_list(const struct agent_conf *conf);

#endif
