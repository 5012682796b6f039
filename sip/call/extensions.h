/**
 * Methods and option tags: Allow, Supported, Require (RFC 3261 8.2.2.3, 19.2).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_EXTENSIONS_H
#define OFFHOOK_SIP_CALL_EXTENSIONS_H

#include <re.h>

struct session_timer;
struct sip_call_options;
struct transaction_layer;

#define ALLOW_HEADER                                                       \
	"Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, " \
	"NOTIFY, PRACK, UPDATE\r\n"

/** What the INVITE that begins a call says besides. */
struct extensions_invite_params {
	const char *replaces_line; /* header lines; NULL: none */
};

/**
 * Header lines of a request that begins or refreshes the session.
 * @param ret    the caller's
 * @param first  of the INVITE that begins the call; NULL: another request
 * @return 0; -ENOMEM
 */
int extensions_request(char **ret, const struct sip_call_options *options,
		       const struct session_timer *timer,
		       const struct extensions_invite_params *first);
/** Header lines of our response to one. @return 0; -ENOMEM */
int extensions_response(char **ret, const struct sip_call_options *options);
/** Answer OPTIONS with what we understand (RFC 3261 11.2).
 * @param options  of who is addressed; NULL: nobody we know */
void extensions_reply(struct transaction_layer *layer,
		      const struct sip_msg *msg,
		      const struct sip_call_options *options);
/** Refuse a request, 420 or 421, that asks for more, or less, than we do.
 * @return true: it was answered */
bool extensions_refuse(struct transaction_layer *layer,
		       const struct sip_msg *msg,
		       const struct sip_call_options *options);
/** Refuse a request for its method: 405, or 501 if it is not known.
 * @param layer  of the user agent */
void extensions_refuse_method(struct transaction_layer *layer,
			      const struct sip_msg *msg);
bool extensions_has(const struct sip_msg *msg, enum sip_hdrid id,
		    const char *tag);

#endif
