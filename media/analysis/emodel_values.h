/**
 * Which values of Ie and Bpl a payload type is scored with: those of G.113
 * where it has them, else declared ones, which every figure made of them is
 * marked with.
 * Docs: docs/reference/measurement.md "Declared values"
 * Thread: any; no state.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_EMODEL_VALUES_H
#define OFFHOOK_MEDIA_ANALYSIS_EMODEL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/emodel.h"

/** A row by its own name ("G.711-PLC"), any case. @return NULL: no such row */
const struct emodel_codec *emodel_codec_by_name(const char *name);

/** All rows: Ie, Bpl and their source. */
const struct emodel_codec *emodel_codecs(size_t *ret_count);

/** All zero: no score. The rows are borrowed. */
struct emodel_values {
	const struct emodel_codec *standard; /* G.113; NULL: no row */
	const struct emodel_codec *declared; /* NULL: none */
	bool prefer_declared; /* somebody declared it for this measurement */
};

/** Both score alike: the same rows, in the same order. */
bool emodel_values_equal(const struct emodel_values *a,
			 const struct emodel_values *b);

/**
 * What is shipped for an encoding.
 * @param encoding  RTP encoding name, any case
 * @param clock_hz  tells the sampling rates of L16 apart
 * @param fmtp      format parameters of the SDP (the mode of AMR, AMR-WB, EVS,
 *                  G.723.1 and G.722.1 stands there); NULL or "": none
 */
void emodel_values_of(struct emodel_values *ret, const char *encoding,
		      uint32_t clock_hz, const char *fmtp);

/**
 * The row that a score with this loss uses.
 * @param ppl         %; above 0 the row needs a Bpl
 * @param ret_reason  static text, written if there is none
 * @return NULL: none
 */
const struct emodel_codec *emodel_values_pick(const struct emodel_values *v,
					      double ppl,
					      const char **ret_reason);

#define EMODEL_DECLARATIONS_MAX  16
#define EMODEL_DECLARATION_BYTES 160

/** What a user declared. All zero: nothing. Points into itself: no copies. */
struct emodel_declarations {
	size_t count;
	struct {
		char encoding[16];
		const struct emodel_codec *row; /* of the table; NULL: own */
		struct emodel_codec own;
		char text[EMODEL_DECLARATION_BYTES]; /* name and source */
	} entry[EMODEL_DECLARATIONS_MAX];
};

/**
 * Read declarations and add them: ENCODING=ROW (a name of emodel_codecs()), or
 * ENCODING=IE[,BPL[,SCALE[,SOURCE]]] with SCALE nb, wb or fb (default nb; BPL
 * empty: none). Several stand one behind the other with semicolons. A later one
 * of the same encoding replaces the earlier.
 * @param ret_reason  static text, written on failure
 * @return 0; -EINVAL (d is then not to be used)
 */
int emodel_declare(struct emodel_declarations *d, const char *text,
		   const char **ret_reason);

/** Put what is declared for the encoding into *v. @param d  borrowed by *v;
 * NULL: nothing is declared */
void emodel_declarations_apply(const struct emodel_declarations *d,
			       const char *encoding, struct emodel_values *v);

#endif
