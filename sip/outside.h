/**
 * Requests outside of dialogs: OPTIONS, MESSAGE.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_OUTSIDE_H
#define OFFHOOK_SIP_OUTSIDE_H

struct sip_account;

/** The account is released: nothing is heard of them any more. */
void outside_stop(struct sip_account *account);

#endif
