/**
 * Parses parts of received messages: URIs, addresses, parameters, and the header
 * fields that every message has. Each function gives the same result as libre's,
 * for every input, but is faster: usual forms are read in one pass, all others by
 * libre, which matches a regular expression for each. Results point into the text.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_MESSAGE_PARSE_H
#define OFFHOOK_SIP_MESSAGE_PARSE_H

#include <re.h>

/**
 * Find the value of a parameter (RFC 3261 7.3.1), as msg_param_decode().
 * @param params  text from the first ";" on; p may be NULL
 * @param name    only letters and digits
 * @param ret     written on success only
 * @return 0; -ENOENT
 */
int parse_param(const struct pl *params, const char *name, struct pl *ret);
/** Parse a URI (RFC 3261 19.1), as uri_decode(). @return 0; -errno: *ret is
 * undefined */
int parse_uri(struct uri *ret, const struct pl *text);
/** Parse a name-addr or addr-spec with its parameters (RFC 3261 20.10), as
 * sip_addr_decode(). @return 0; -errno: *ret is undefined */
int parse_addr(struct sip_addr *ret, const struct pl *text);
/** Parse Via (RFC 3261 20.42), as sip_via_decode(). @return 0; -errno */
int parse_via(struct sip_via *ret, const struct pl *text);
/** Parse CSeq (RFC 3261 20.16), as sip_cseq_decode(). @return 0; -errno */
int parse_cseq(struct sip_cseq *ret, const struct pl *text);
/** Parse Content-Type (RFC 3261 20.15), as msg_ctype_decode(). @return 0; -errno */
int parse_ctype(struct msg_ctype *ret, const struct pl *text);

#endif
