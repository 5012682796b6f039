/**
 * The parameter call_duration (docs/reference/parameters.md).
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_DURATION_H
#define OFFHOOK_WIRE_DURATION_H

/* How long a call lasts (docs/reference/parameters.md, call_duration). */
struct wire_duration {
	enum {
		WIRE_DURATION_FIXED,
		WIRE_DURATION_UNIFORM,
		WIRE_DURATION_EXPONENTIAL,
		WIRE_DURATION_NORMAL,
	} kind;
	double a_s; /* fixed: value; uniform: low; exponential, normal: mean */
	double b_s; /* uniform: high; normal: standard deviation */
};

/** Parse call_duration: seconds or a distribution. @return 0; -EINVAL */
int wire_duration_parse(const char *text, struct wire_duration *ret);

#endif
