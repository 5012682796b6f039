/**
 * Ceilings of a job, and checks of its texts that need no job. They serve
 * modules that write a job, or refuse it before it is sent.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_JOB_LIMITS_H
#define OFFHOOK_WIRE_JOB_LIMITS_H

#include <stdbool.h>

/* Ceilings; a spec above one is refused with its name in the reason. */
#define WIRE_STEPS_MAX          32
#define WIRE_ACTIONS_MAX        32 /* per step */
#define WIRE_CREDENTIALS_MAX    10000
#define WIRE_HOSTS_MAX          16
#define WIRE_HEADERS_MAX        32
#define WIRE_CLIENT_ACTIONS_MAX 200
#define WIRE_CODECS_MAX         16
#define WIRE_SRTP_SUITES_MAX    6

#define WIRE_PEM_BYTES_MAX 65536

#define WIRE_FMTP_BYTES_MAX 110 /* of MEDIA_FMTP_BYTES, with our own words */

/* The reason why a message was refused: one sentence, with its terminator. */
#define WIRE_REASON_BYTES 256

/* An argument of sipclient_actions with its placeholders replaced. */
#define WIRE_ARGUMENT_BYTES 1024

/** True if an argument of sipclient_actions has placeholders. */
bool wire_argument_is_template(const char *argument);

/** True for 1 to 64 letters, digits, '.', '_' and '-' that do not begin with
 * '.': the name is part of a file name (docs/internals/signalling.md). */
bool wire_certificate_name_valid(const char *name);

#endif
