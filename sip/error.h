/**
 * Errors of libre are positive errno values, ours are negative: the sign is
 * changed where the value comes from, and nowhere else.
 * Thread: any.
 */
#ifndef OFFHOOK_SIP_ERROR_H
#define OFFHOOK_SIP_ERROR_H

/** @return the error of libre as one of ours; 0 stays 0 */
static inline int neg(int libre_error)
{
	return libre_error > 0 ? -libre_error : libre_error;
}

#endif
