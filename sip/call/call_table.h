/**
 * The calls of a user agent by their Call-ID, and what all of them share: the
 * limit of their number and the socket that asks for routes of media.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_CALL_TABLE_H
#define OFFHOOK_SIP_CALL_CALL_TABLE_H

#include <re.h>

struct call_table;
struct sdp_route;
struct sip_call;

/**
 * An empty table, released with mem_deref() after its last call.
 * @param size       of the hash table, a power of two
 * @param calls_max  calls that the user agent is made for
 * @return 0; -ENOMEM
 */
int call_table_new(struct call_table **ret, uint32_t size, uint32_t calls_max);
/** Twice as many calls as it is made for, and 16, are there: no more are begun. */
bool call_table_is_full(const struct call_table *table);
/** Calls in the table. */
uint32_t call_table_count(const struct call_table *table);
/**
 * Add a call.
 * @param he      of the call, in no table
 * @param callid  of its dialog
 */
void call_table_add(struct call_table *table, struct sip_call *call,
		    struct le *he, const char *callid);
/** Remove a call. @param he  of the call; in no table: nothing is done */
void call_table_remove(struct call_table *table, struct le *he);
/**
 * Find a call.
 * @param match_h  asked about the calls with this hash of Call-ID: le->data is a
 *                 struct sip_call. It compares the Call-ID, too
 * @return borrowed; NULL: match_h accepts none
 */
struct sip_call *call_table_find(const struct call_table *table,
				 const struct pl *callid, list_apply_h *match_h,
				 void *arg);
/** Call the handler with each call as le->data until it returns true. It must not
 * release calls. */
void call_table_apply(const struct call_table *table, list_apply_h *handler,
		      void *arg);
/** For sdp_address_route(); borrowed. */
struct sdp_route *call_table_route(struct call_table *table);

#endif
