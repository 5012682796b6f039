/**
 * What a job may hold at most, and the checks of its texts that need no job:
 * for whoever writes one, or refuses it before it is sent.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_JOB_LIMITS_H
#define OFFHOOK_WIRE_JOB_LIMITS_H

#include <stdbool.h>

/* Ceilings; a spec above one is refused with its name in the reason. */
#define WIRE_STEPS_MAX          32
#define WIRE_ACTIONS_MAX        32 /* a step */
#define WIRE_CREDENTIALS_MAX    10000
#define WIRE_HOSTS_MAX          16
#define WIRE_HEADERS_MAX        32
#define WIRE_CLIENT_ACTIONS_MAX 200
#define WIRE_CODECS_MAX         16
#define WIRE_SRTP_SUITES_MAX    6

#define WIRE_PEM_BYTES_MAX 65536

#define WIRE_FMTP_BYTES_MAX 110 /* of MEDIA_FMTP_BYTES, with our own words */

/* The sentence that says why a message was refused, with its terminator. */
#define WIRE_REASON_BYTES 256

/* An argument of sipclient_actions, filled in. */
#define WIRE_ARGUMENT_BYTES 1024

/** An argument of sipclient_actions has placeholders to fill in. */
bool wire_argument_is_template(const char *argument);

/** Letters, digits, '.', '_' and '-', no '.' first; 64 bytes at most: a part
 * of a file's name (docs/internals/signalling.md). Thread: any. */
bool wire_certificate_name_valid(const char *name);

#endif
