/**
 * Selects the Ie and Bpl with which a payload type is scored: the values of
 * G.113 if there are any, otherwise declared ones. Every figure computed with
 * declared values is marked.
 * Docs: docs/reference/measurement.md "Declared values"
 * Thread: any; no state.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_EMODEL_VALUES_H
#define OFFHOOK_MEDIA_ANALYSIS_EMODEL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/emodel.h"

/** Find a row by its name ("G.711-PLC"), any case.
 * @return NULL: no such row */
const struct emodel_codec *emodel_codec_by_name(const char *name);

/** @return all rows: Ie, Bpl and their source */
const struct emodel_codec *emodel_codecs(size_t *ret_count);

/** Values of a payload type. The rows are borrowed. All zero: no score. */
struct emodel_values {
	const struct emodel_codec *standard; /* from G.113; NULL: none */
	const struct emodel_codec *declared; /* NULL: none */
	bool prefer_declared; /* a user declared it for this measurement */
};

/** @return both give the same scores: same rows, same preference */
bool emodel_values_equal(const struct emodel_values *a,
			 const struct emodel_values *b);

/**
 * Get the built-in values of an encoding.
 * @param encoding  RTP encoding name, any case
 * @param clock_hz  distinguishes the sampling rates of L16
 * @param fmtp      format parameters of the SDP (they contain the mode of AMR,
 *                  AMR-WB, EVS, G.723.1 and G.722.1); NULL or "": none
 */
void emodel_values_of(struct emodel_values *ret, const char *encoding,
		      uint32_t clock_hz, const char *fmtp);

/**
 * Get the row for a score with this packet loss.
 * @param ppl         %; above 0 the row needs a Bpl
 * @param ret_reason  static, written if there is no row
 * @return NULL: none
 */
const struct emodel_codec *emodel_values_pick(const struct emodel_values *v,
					      double ppl,
					      const char **ret_reason);

#define EMODEL_DECLARATIONS_MAX  16
#define EMODEL_DECLARATION_BYTES 160

/** Values that a user declared. All zero: none. Contains pointers into itself:
 * do not copy it. */
struct emodel_declarations {
	size_t count;
	struct {
		char encoding[16];
		const struct emodel_codec *row; /* row of the table; NULL:
						 * `own` */
		struct emodel_codec own;
		char text[EMODEL_DECLARATION_BYTES]; /* name and source */
	} entry[EMODEL_DECLARATIONS_MAX];
};

/**
 * Parse declarations and add them: ENCODING=ROW (a name of emodel_codecs()), or
 * ENCODING=IE[,BPL[,SCALE[,SOURCE]]] with SCALE nb, wb or fb (default nb; empty
 * BPL: none). Several are separated by semicolons. A later declaration for an
 * encoding replaces an earlier one.
 * @param ret_reason  static, written on failure
 * @return 0; -EINVAL (d must not be used any more)
 */
int emodel_declare(struct emodel_declarations *d, const char *text,
		   const char **ret_reason);

/** Add the declaration for the encoding, if any, to *v.
 * @param d  borrowed by *v; NULL: no declarations */
void emodel_declarations_apply(const struct emodel_declarations *d,
			       const char *encoding, struct emodel_values *v);

#endif
