/**
 * Counts of values, and figures, by key; whether two counts differ.
 * Thread: the owner of the objects.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_TALLY_H
#define OFFHOOK_SERVER_DIFFERENCE_TALLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Figures of one key; later ones are not compared. */
#define DIFFERENCE_SAMPLES_MAX 4096

/* Bytes of a key of a tally or a sample: "role|part|part...". */
#define KEY_BYTES 400

/** Count a value under a key, once per dialog, call or stream.
 * @return 0; -ENOMEM */
int tally_add(json_t *tallies, const char *key, const char *value);

/** Add a figure. @return 0; -ENOMEM */
int sample_add(json_t *samples, const char *key, double value);

/** How often something was seen, and of how many. */
struct share {
	size_t hits;
	size_t count;
};

/** The values of a tally whose shares fell and rose most, if they differ. */
struct tally_change {
	const char *before;     /* borrowed; NULL: none fell */
	const char *after;      /* borrowed; NULL: none rose */
	struct share before_of; /* of `after` if there is one, else of `before`:
				 * in the earlier run */
	struct share after_of;  /* likewise, in the later run */
	bool single; /* it rests on one of several: it may be chance */
};

/** @return the values of a key differ, and *ret is set */
bool tally_differs(const json_t *before, const json_t *after, const char *key,
		   struct tally_change *ret);

/** Get part i of a key; parts are separated by '|'. @return dst */
const char *key_part(const char *key, unsigned i, char dst[static KEY_BYTES]);

#endif
