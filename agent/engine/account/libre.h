/**
 * The parts of libre an engine uses itself: descriptors and lists; and timers.
 * Not <re.h>: its JSON names clash with jansson's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_ACCOUNT_LIBRE_H
#define OFFHOOK_AGENT_ENGINE_ACCOUNT_LIBRE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct pl;
struct re_printf;

/* Each needs the ones before it. */
/* clang-format off */
#include <re_types.h>
#include <re_list.h>
#include <re_tmr.h>
#include <re_main.h>
/* clang-format on */

#include "sip/mono_timer.h"

#endif
