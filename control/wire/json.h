/**
 * Flags for json_dumps() and related functions: how real numbers are printed.
 * By default jansson prints 17 digits, 3.6000000000000001. Integers are printed
 * in full by either, those above 2^53 too.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_JSON_H
#define OFFHOOK_WIRE_JSON_H

#include <float.h>
#include <jansson.h>

/** For the API: a number given as a decimal of up to 15 digits is printed as
 * that decimal (C11 5.2.4.2.2, DBL_DIG), any other number loses at most half a
 * unit of the 15th digit. */
#define JSON_DECIMAL JSON_REAL_PRECISION(DBL_DIG)

/** Between our own programs: reading it gives the same double (C11 5.2.4.2.2,
 * DBL_DECIMAL_DIG). */
#define JSON_EXACT JSON_REAL_PRECISION(DBL_DECIMAL_DIG)

#endif
