/**
 * One score of `offhook emodel`: from the values that go in, read from JSON or
 * from options, to its terms as JSON.
 */
#ifndef OFFHOOK_CONTROL_CLI_EMODEL_CASE_H
#define OFFHOOK_CONTROL_CLI_EMODEL_CASE_H

#include <jansson.h>
#include <stdbool.h>

#include "media/analysis/emodel.h"

#define EMODEL_REASON_BYTES 160

struct emodel_case {
	enum emodel_scale scale;
	bool has_bpl;
	const struct emodel_codec *codec; /* NULL: named by its values only */
	struct emodel_params params;
};

/** By a name of the table, or of RTP. @return NULL: there is none */
const struct emodel_codec *emodel_case_codec(const char *name);

/** By "NB", "G.107" and so on. @return false: there is none */
bool emodel_case_model(const char *name, enum emodel_scale *ret);

/**
 * Codec first, then what the case says itself.
 * @return false: reason written
 */
bool emodel_case_read(json_t *from, struct emodel_case *c,
		      char reason[EMODEL_REASON_BYTES]);

/** The values that go in are those of the codec, and ITU-T's. */
bool emodel_case_standard(const struct emodel_case *c);

/** @return {model, ..., R, MOS}, or {error}; NULL out of memory */
json_t *emodel_case_rate(const struct emodel_case *c);

/** {error: reason}. @return NULL out of memory */
json_t *emodel_case_error(const char *reason);

#endif
