/**
 * How real numbers are printed as JSON. A flag of each goes into json_dumps()
 * and its kin; jansson alone would print all 17 digits, 3.6000000000000001.
 * Integers are printed in full by either, those above 2^53 too.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_JSON_H
#define OFFHOOK_WIRE_JSON_H

#include <float.h>
#include <jansson.h>

/** For whoever is no program of ours: what came from a decimal of up to 15
 * digits reads as that decimal (C11 5.2.4.2.2, DBL_DIG), and of any other
 * figure at most half a unit of the 15th digit is lost. */
#define JSON_DECIMAL JSON_REAL_PRECISION(DBL_DIG)

/** Between our own programs: read again it is the same double (C11
 * 5.2.4.2.2, DBL_DECIMAL_DIG). */
#define JSON_EXACT JSON_REAL_PRECISION(DBL_DECIMAL_DIG)

#endif
