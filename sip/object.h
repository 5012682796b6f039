/**
 * What a user agent, an account and a call begin with: the functions of the
 * user agent they belong to. sip/ua/ua_ops.h has the table.
 */
#ifndef OFFHOOK_SIP_OBJECT_H
#define OFFHOOK_SIP_OBJECT_H

struct sip_ops;

/** The first member of every user agent, account and call. */
struct sip_object {
	const struct sip_ops *ops;
};

#endif
