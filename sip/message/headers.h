/**
 * Custom header fields: which requests have them, and which fields they replace.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_HEADERS_H
#define OFFHOOK_SIP_MESSAGE_HEADERS_H

#include <re.h>

#include "sip/account.h"

/** Released and shared with mem_deref() and mem_ref(). */
struct header_list;

/**
 * Check and copy custom header fields.
 * @param ret    a libre object, the caller's
 * @return 0; -EINVAL a field may not be set, or would break the message; -ENOMEM
 */
int headers_new(struct header_list **ret,
		const struct sip_custom_header *headers, size_t count);
/**
 * The scopes a request belongs to, as bits 1 << enum sip_header_scope.
 * @param lines  its own header lines, may be NULL: they tell a NOTIFY of a REFER
 *               from one of presence
 */
unsigned headers_scopes(const char *method, bool in_dialog, const char *lines);
/** Append the custom headers of these scopes, without From. @return 0; -ENOMEM */
int headers_write(struct mbuf *mb, const struct header_list *list,
		  unsigned scopes);
/** Append header lines of the user agent, without those that a custom header
 * replaces. @return 0; -ENOMEM */
int headers_write_own(struct mbuf *mb, const struct header_list *list,
		      unsigned scopes, const char *lines);
/** Value of the custom header of this name; borrowed. @return NULL: there is none */
const char *headers_find(const struct header_list *list, unsigned scopes,
			 const char *name);
/** Whether the text has no control characters, and so may be a header value. */
bool header_text_valid(const char *text);

#endif
