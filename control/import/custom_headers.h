/**
 * The custom headers of a call from a captured INVITE: those that are neither
 * made by Offhook itself nor of the captured call alone.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_CUSTOM_HEADERS_H
#define OFFHOOK_CONTROL_IMPORT_CUSTOM_HEADERS_H

#include <jansson.h>

#include "control/import/anonymise.h"

/**
 * @param text   the INVITE
 * @param notes  array of sentences: what is left out is appended
 * @return new reference: an array of [name, value, "invites"]; NULL: no memory
 */
json_t *custom_headers_make(const char *text, struct anonymise *anonymise,
			    json_t *notes);

#endif
