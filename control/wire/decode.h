/**
 * Read and check values of a JSON document. The reason of every refusal begins
 * with a JSON pointer (RFC 6901) to the value. Internal to control/wire.
 * A member that is absent or null leaves *ret untouched.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CONTROL_WIRE_DECODE_H
#define OFFHOOK_CONTROL_WIRE_DECODE_H

#include "control/wire/arena.h"
#include "control/wire/job_limits.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decoder {
	struct arena *arena;
	char *reason; /* WIRE_REASON_BYTES */
	char at[128]; /* the pointer so far */
	size_t at_used;
};

void decoder_init(struct decoder *d, struct arena *arena,
		  char reason[static WIRE_REASON_BYTES]);

/** Append elements to the pointer. @return the mark for decoder_leave() */
size_t decoder_enter(struct decoder *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void decoder_leave(struct decoder *d, size_t mark);

/** Write the reason: "pointer: text". @return -EINVAL */
int decoder_refuse(struct decoder *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Write the reason for a member of the current value. @return -EINVAL */
int decoder_refuse_member(struct decoder *d, const char *name, const char *fmt,
			  ...) __attribute__((format(printf, 3, 4)));

/* Characters that a text may contain. */
enum text_rule {
	TEXT_ANY,  /* for passwords */
	TEXT_LINE, /* no control character: for SIP messages */
	TEXT_WORD, /* a line without blanks, quotes, angle brackets */
};

/** True if the rule allows every character of a text. */
bool decode_text_allowed(enum text_rule rule, const char *text);

/** Decode a text into the arena. @return 0; -EINVAL wrong type, empty, longer
 * than max, or a character that the rule forbids; -ENOMEM */
int decode_text(struct decoder *d, json_t *object, const char *name,
		enum text_rule rule, size_t max, const char **ret);

/** Decode a JSON integer, or one as text. @return 0; -EINVAL */
int decode_u32(struct decoder *d, json_t *object, const char *name,
	       uint32_t min, uint32_t max, uint32_t *ret);
int decode_u16(struct decoder *d, json_t *object, const char *name,
	       uint16_t min, uint16_t max, uint16_t *ret);

/** Decode a JSON number, or one as text. @return 0; -EINVAL */
int decode_double(struct decoder *d, json_t *object, const char *name,
		  double min, double max, double *ret);

/** Decode true, false, 0, 1, or one of these as text. @return 0; -EINVAL */
int decode_bool(struct decoder *d, json_t *object, const char *name, bool *ret);

/** Get an array of at most max entries. *ret is NULL if it is absent.
 * @return 0; -EINVAL */
int decode_array(struct decoder *d, json_t *object, const char *name,
		 size_t max, json_t **ret);

/**
 * Decode every entry of an array into a list of the arena.
 * @param place  precedes the entry's index in the pointer: "/hosts", or ""
 * @param size   bytes of an item of the list
 * @param item_h decodes one entry into its item, which is all zeros
 * @return the list, json_array_size(array) items; NULL: *ret_err is -EINVAL,
 *         or -ENOMEM, or what item_h returned
 */
void *decode_items(struct decoder *d, json_t *array, const char *place,
		   size_t size,
		   int (*item_h)(struct decoder *d, json_t *entry, void *item),
		   int *ret_err);

/** Find a word in a NULL-terminated list, ignoring case.
 * @return true and its index in *ret; false: not in the list */
bool decode_word(const char *const *words, const char *text, size_t *ret);

#endif
