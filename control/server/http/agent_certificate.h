/**
 * The client certificates of agents (agent_ca_file): who has none that is valid, or one of
 * another agent, gets 403 from the agent protocol, with the reason as member "certificate"
 * (docs/internals/wire.md). Other routes ask for none.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_HTTP_AGENT_CERTIFICATE_H
#define OFFHOOK_SERVER_HTTP_AGENT_CERTIFICATE_H

#include <stdbool.h>

struct exchange;
struct reply;
struct request;

/** Verify the connection's certificate, before the credentials are looked at.
 * @return false: the reply is a 403 */
bool agent_certificate_check(struct exchange *x, struct reply *rep);

/** Check that it is the certificate of the agent whose credentials were verified.
 * @return false: the reply is a 403, or a 503 */
bool agent_certificate_check_owner(struct exchange *x, struct reply *rep);

/** Check that the client certificate of the connection has this agent name as its common name or
 * as a DNS name. @return true, also where agents need no certificate; false: the reply is a 403 */
bool agent_certificate_check_name(struct request *req, struct reply *rep,
				  const char *name);

#endif
