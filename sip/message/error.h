/**
 * libre's errors are positive errnos; ours are negative. Each is turned once,
 * where it comes from.
 */
#ifndef OFFHOOK_SIP_MESSAGE_ERROR_H
#define OFFHOOK_SIP_MESSAGE_ERROR_H

static inline int neg(int libre_error)
{
	return libre_error > 0 ? -libre_error : libre_error;
}

#endif
