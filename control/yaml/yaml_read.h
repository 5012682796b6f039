/**
 * Read YAML into JSON values, strictly. Scalars follow the core schema of YAML
 * 1.2.2 (10.3.2), so that no, on and 12:30 are texts. Plain scalars that other
 * readers take for another value (010, +49, 0x1f, 0o17, .inf) are refused: they
 * have to be quoted. Duplicate keys, tags and keys that are no text are refused.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_YAML_READ_H
#define OFFHOOK_CONTROL_YAML_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define YAML_BYTES_MAX     (4u << 20) /* of one file */
#define YAML_DEPTH_MAX     32
#define YAML_NODES_MAX     200000 /* of one file, aliases expanded */
#define YAML_ANCHORS_MAX   100
#define YAML_DOCUMENTS_MAX 1000
#define YAML_REASON_BYTES  256

/** Where something stands: both count from 1. */
struct yaml_place {
	size_t line, column;
};

/** Documents of a file. */
struct yaml_file {
	json_t *documents; /* array of values */
	/* array of places with the shape of documents: each value is
	 * {"at": line * 2^20 + column, "of": members of the value} */
	json_t *places;
};

struct yaml_error {
	struct yaml_place place;
	char reason[YAML_REASON_BYTES];
};

/**
 * Read a file's text.
 * @param error  filled on -EINVAL
 * @return 0; -EINVAL; -ENOMEM
 */
int yaml_read(const char *text, size_t len, struct yaml_file *ret,
	      struct yaml_error *error);
void yaml_file_release(struct yaml_file *file);

/**
 * Find the place of a value. A mapping's member is placed at its key.
 * @param places   of the value that the pointer begins at
 * @param pointer  "/steps/0/type"; "" the value itself. Where it leads to nothing,
 *                 the last member on the way is found.
 */
struct yaml_place yaml_place_of(json_t *places, const char *pointer);

/** Places of a member. @param key  NULL: index counts. @return borrowed, or NULL */
json_t *yaml_places_in(json_t *places, const char *key, size_t index);

/** True if a plain scalar of this text would not be read as the same text. */
bool yaml_plain_differs(const char *text, size_t len);

#endif
