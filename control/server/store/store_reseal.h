/**
 * All encrypted boxes of the database under another key.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_RESEAL_H
#define OFFHOOK_SERVER_STORE_STORE_RESEAL_H

#include <stddef.h>

struct secrets;
struct store;

struct reseal_counts {
	size_t sealed;  /* now under the other key */
	size_t foreign; /* of a key that we do not have: unchanged */
};

/**
 * Decrypt every box and encrypt it under another key, in one transaction.
 * @param to  the key; the store's own one opens the boxes
 * @return 0; -EBUSY; -ENOMEM; -EIO; then nothing is changed
 */
int store_reseal(struct store *s, const struct secrets *to,
		 struct reseal_counts *ret);

/**
 * Whether a box of the database opens with a key.
 * @return 1 one does; 0 none does; negative: error
 */
int store_sealed_by(struct store *s, const struct secrets *key);

#endif
