/**
 * Requests outside of dialogs: OPTIONS, MESSAGE.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_OUT_OF_DIALOG_H
#define OFFHOOK_SIP_UA_OUT_OF_DIALOG_H

struct sip_account;

/** The account is released: nothing is heard of them any more. */
void out_of_dialog_stop(struct sip_account *account);

#endif
