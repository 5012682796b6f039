/**
 * Hides keys in the text of a SIP message.
 * Thread: any; pure
 */
#ifndef OFFHOOK_AGENT_ENGINE_REPORT_REDACT_H
#define OFFHOOK_AGENT_ENGINE_REPORT_REDACT_H

#include <stddef.h>

/**
 * Overwrite the keys of a=crypto lines (RFC 4568) and the passwords of
 * a=ice-pwd lines (RFC 8839) with asterisks, in place; the length stays.
 * @param text  in/out, len bytes, need not end with a NUL
 */
void redact_keys(char *text, size_t len);

#endif
