/**
 * The event dialogs of a user agent by their Call-ID, and the number of its
 * referrals.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_EVENT_TABLE_H
#define OFFHOOK_SIP_EVENT_EVENT_TABLE_H

#include <re.h>

struct event_dialog;
struct event_table;

/** An empty table, released with mem_deref() after its last dialog.
 * @param size  of the hash table, a power of two
 * @return 0; -ENOMEM */
int event_table_new(struct event_table **ret, uint32_t size);
/** Add an event dialog; hash_unlink() removes it.
 * @param he      of the event dialog, in no table
 * @param callid  of its dialog */
void event_table_add(struct event_table *table, struct event_dialog *d,
		     struct le *he, const char *callid);
/**
 * Find an event dialog.
 * @param match_h  asked about the dialogs with this hash of Call-ID: le->data is
 *                 a struct event_dialog. It compares the Call-ID, too
 * @return borrowed; NULL: match_h accepts none
 */
struct event_dialog *event_table_find(const struct event_table *table,
				      const struct pl *callid,
				      list_apply_h *match_h, void *arg);
/** REFERs outside of dialogs that are carried out. */
uint32_t event_table_referrals(const struct event_table *table);
void event_table_referral_begun(struct event_table *table);
void event_table_referral_ended(struct event_table *table);

#endif
