/**
 * Parts of received messages: URIs, addresses, parameters, and the header
 * fields that are read of every message. Each function here does what libre's
 * of the same purpose does, with the same result for every input: the usual
 * forms are read in one pass, all others are given to libre, which compiles
 * a regular expression for each. Results point into the text.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_MESSAGE_PARSE_H
#define OFFHOOK_SIP_MESSAGE_PARSE_H

#include <re.h>

/**
 * The value of a parameter (RFC 3261 7.3.1), as msg_param_decode().
 * @param params  what stands behind the first ";", with it; p may be NULL
 * @param name    letters and digits alone
 * @param ret     written on success only
 * @return 0; -ENOENT
 */
int parse_param(const struct pl *params, const char *name, struct pl *ret);
/** A URI (RFC 3261 19.1), as uri_decode(). @return 0; -errno: *ret is not to
 * be used */
int parse_uri(struct uri *ret, const struct pl *text);
/** A name-addr or addr-spec with its parameters (RFC 3261 20.10), as
 * sip_addr_decode(). @return 0; -errno: *ret is all zero, or not to be used */
int parse_addr(struct sip_addr *ret, const struct pl *text);
/** Via (RFC 3261 20.42), as sip_via_decode(). @return 0; -errno */
int parse_via(struct sip_via *ret, const struct pl *text);
/** CSeq (RFC 3261 20.16), as sip_cseq_decode(). @return 0; -errno */
int parse_cseq(struct sip_cseq *ret, const struct pl *text);
/** Content-Type (RFC 3261 20.15), as msg_ctype_decode(). @return 0; -errno */
int parse_ctype(struct msg_ctype *ret, const struct pl *text);

#endif
