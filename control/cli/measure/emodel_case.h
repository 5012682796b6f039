/**
 * One score of `offhook emodel`: its input values, from JSON or options, and
 * its terms as JSON.
 */
#ifndef OFFHOOK_CONTROL_CLI_MEASURE_EMODEL_CASE_H
#define OFFHOOK_CONTROL_CLI_MEASURE_EMODEL_CASE_H

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

/** Find a codec by its name in the table or its RTP encoding name.
 * @return static; NULL: unknown */
const struct emodel_codec *emodel_case_codec(const char *name);

/** Find a scale by name: "NB", "G.107" and so on. @return false: unknown */
bool emodel_case_model(const char *name, enum emodel_scale *ret);

/**
 * Read a case: the codec's values first, then those that the case gives itself.
 * @return false: invalid, reason written
 */
bool emodel_case_read(json_t *from, struct emodel_case *c,
		      char reason[EMODEL_REASON_BYTES]);

/** True if the input values are the codec's own and come from ITU-T. */
bool emodel_case_standard(const struct emodel_case *c);

/** Compute a score. @return new {model, ..., R, MOS}, or {error}; NULL: out of
 * memory */
json_t *emodel_case_rate(const struct emodel_case *c);

/** Make {error: reason}. @return NULL: out of memory */
json_t *emodel_case_error(const char *reason);

#endif
