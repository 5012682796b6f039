/**
 * Real numbers in JSON. The flags are for json_dumps() and related functions: by
 * default jansson prints 17 digits, 3.6000000000000001. Both print integers in
 * full, also those above 2^53.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_JSON_H
#define OFFHOOK_WIRE_JSON_H

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>

/** For the API: a decimal of up to 15 digits is printed as it was given (C11
 * 5.2.4.2.2, DBL_DIG). Any other number is rounded to 15 digits. */
#define JSON_DECIMAL JSON_REAL_PRECISION(DBL_DIG)

/** Between our own programs: the reader gets the same double (C11 5.2.4.2.2,
 * DBL_DECIMAL_DIG). */
#define JSON_EXACT JSON_REAL_PRECISION(DBL_DECIMAL_DIG)

/** @return x, or null where it is not known or not finite, which JSON cannot say
 * (RFC 8259, 6); NULL without memory. The caller owns the reference. */
static inline json_t *json_real_or_null(bool known, double x)
{
	return known && isfinite(x) ? json_real(x) : json_null();
}

#endif
