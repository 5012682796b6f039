/**
 * Parameters that are arrays of short arrays of texts, or such an array as text
 * (forms send it so). Internal to control/wire.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CONTROL_WIRE_PAIRS_H
#define OFFHOOK_CONTROL_WIRE_PAIRS_H

#include "control/wire/decode.h"

/**
 * Decode every entry into a list of the arena.
 * @param value  d points at it
 * @param max    entries
 * @param size   bytes of an item
 * @param item_h as of decode_items()
 * @param ret    the items, in the arena
 * @return 0; -EINVAL; -ENOMEM
 */
int decode_pairs(struct decoder *d, json_t *value, size_t max, size_t size,
		 int (*item_h)(struct decoder *d, json_t *entry, void *item),
		 void **ret, size_t *ret_count);

/**
 * Decode a text of an entry. A whole number is accepted as its text.
 * @param i    position in the entry
 * @param max  bytes
 * @param ret  untouched if the entry has no such text
 * @return 0; -EINVAL; -ENOMEM
 */
int decode_pair_text(struct decoder *d, json_t *entry, size_t i, size_t max,
		     const char **ret);

#endif
