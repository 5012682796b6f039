#include "media/analysis/emodel_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the rows of Ie and Bpl ---- */

#define G113_2007 "ITU-T G.113 (11/2007) Appendix I"
#define G113_IE   "ITU-T G.113 Appendix I (Ie; no Bpl is published)"
/* Known from publications that cite them: docs/reference/measurement.md "Scores" */
#define SECOND_HAND "; second-hand"
#define G113_WB \
	"ITU-T G.113 Appendix IV (Ie,WB; no Bpl,WB is published)" SECOND_HAND
#define G113_AMR \
	"ITU-T G.113 Table IV.1, monotic (no Bpl,WB is published)" SECOND_HAND
#define G113_DIO "ITU-T G.113 Tables IV.3 and IV.4, diotic" SECOND_HAND
#define G113_FB  "ITU-T G.113 (09/2024) Appendix V, diotic" SECOND_HAND
/* The smallest Bpl: that of a receiver without concealment. Never better than
 * the codec. */
#define BPL_DEFAULT "Bpl the default of G.107 Table 2 (no concealment)"
#define BPL_DIOTIC  "Bpl,WB of the same mode's diotic row, Table IV.4"

#define BPL(x) true, (x)
#define NO_BPL false, 0.0
#define STD    EMODEL_STANDARD
#define DECL   EMODEL_DECLARED

/* Look-ahead: 0 if none is stated. */
static const struct emodel_codec codecs[] = {
	{"G.711-noPLC", EMODEL_NB, 0, BPL(4.3), STD, G113_2007, 0.25},
	{"G.711-PLC", EMODEL_NB, 0, BPL(25.1), STD,
	 G113_2007 ", with G.711 Appendix I concealment", 0.25},
	{"G.729A+VAD", EMODEL_NB, 11, BPL(19.0), STD, G113_2007, 5},
	{"G.723.1-6.3+VAD", EMODEL_NB, 15, BPL(16.1), STD, G113_2007, 0},
	{"GSM-EFR", EMODEL_NB, 5, BPL(10.0), STD, G113_2007, 0},
	{"G.729", EMODEL_NB, 10, NO_BPL, STD, G113_IE, 5},
	{"G.723.1-5.3", EMODEL_NB, 19, NO_BPL, STD, G113_IE, 0},
	{"GSM-FR", EMODEL_NB, 20, NO_BPL, STD, G113_IE, 0},
	{"GSM-HR", EMODEL_NB, 23, NO_BPL, STD, G113_IE, 0},
	{"G.726-40", EMODEL_NB, 2, NO_BPL, STD, G113_IE, 0},
	{"G.726-32", EMODEL_NB, 7, NO_BPL, STD, G113_IE, 0},
	{"G.726-24", EMODEL_NB, 25, NO_BPL, STD, G113_IE, 0},
	{"G.726-16", EMODEL_NB, 50, NO_BPL, STD, G113_IE, 0},
	{"G.728-16", EMODEL_NB, 7, NO_BPL, STD, G113_IE, 0},
	{"G.728-12.8", EMODEL_NB, 20, NO_BPL, STD, G113_IE, 0},
	{"IS-641-7.4", EMODEL_NB, 10, NO_BPL, STD, G113_IE, 0},
	{"iLBC", EMODEL_NB, 11, BPL(32.0), DECL,
	 "declared: a value in circulation, no row in G.113", 0},
	{"AMR-12.2", EMODEL_NB, 5, BPL(10.0), DECL,
	 "declared: as GSM-EFR (the same codec core), no row in G.113", 0},
	{"AMR-7.4", EMODEL_NB, 10, NO_BPL, DECL,
	 "declared: as IS-641 (the same codec core), no row in G.113", 0},
	{"GSM-FR-declared", EMODEL_NB, 20, BPL(4.3), DECL,
	 "declared: Ie of G.113; " BPL_DEFAULT, 0},
	{"G.726-32-declared", EMODEL_NB, 7, BPL(4.3), DECL,
	 "declared: Ie of G.113; " BPL_DEFAULT, 0},
	{"L16-8", EMODEL_NB, 0, BPL(4.3), DECL,
	 "declared: linear PCM is no worse than G.711; " BPL_DEFAULT, 0},
	{"G.722-64", EMODEL_WB, 13, NO_BPL, STD, G113_WB, 1.5},
	{"G.722-56", EMODEL_WB, 20, NO_BPL, STD, G113_WB, 1.5},
	{"G.722-48", EMODEL_WB, 31, NO_BPL, STD, G113_WB, 1.5},
	{"G.722.1-32", EMODEL_WB, 13, NO_BPL, STD, G113_WB, 0},
	{"G.722.1-24", EMODEL_WB, 19, NO_BPL, STD, G113_WB, 0},
	{"AMR-WB-6.6", EMODEL_WB, 41, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-8.85", EMODEL_WB, 26, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-12.65", EMODEL_WB, 13, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-14.25", EMODEL_WB, 10, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-15.85", EMODEL_WB, 7, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-18.25", EMODEL_WB, 5, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-19.85", EMODEL_WB, 3, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-23.05", EMODEL_WB, 1, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-23.85", EMODEL_WB, 8, NO_BPL, STD, G113_AMR, 0},
	{"AMR-WB-12.65-diotic", EMODEL_WB, 20, BPL(4.3), STD, G113_DIO, 0},
	{"AMR-WB-23.05-diotic", EMODEL_WB, 8, BPL(4.6), STD, G113_DIO, 0},
	{"AMR-WB-23.85-diotic", EMODEL_WB, 10, BPL(4.9), STD, G113_DIO, 0},
	{"G.722-64-declared", EMODEL_WB, 13, BPL(4.3), DECL,
	 "declared: Ie,WB of G.113; " BPL_DEFAULT, 1.5},
	{"AMR-WB-12.65-declared", EMODEL_WB, 13, BPL(4.3), DECL,
	 "declared: monotic Ie,WB of G.113; " BPL_DIOTIC, 0},
	{"AMR-WB-23.05-declared", EMODEL_WB, 1, BPL(4.6), DECL,
	 "declared: monotic Ie,WB of G.113; " BPL_DIOTIC, 0},
	{"AMR-WB-23.85-declared", EMODEL_WB, 8, BPL(4.9), DECL,
	 "declared: monotic Ie,WB of G.113; " BPL_DIOTIC, 0},
	{"L16-16", EMODEL_WB, 0, BPL(4.3), DECL,
	 "declared: linear PCM of the scale's bandwidth; " BPL_DEFAULT, 0},
	{"L16-48", EMODEL_FB, 0, BPL(4.3), DECL,
	 "declared: linear PCM of the scale's bandwidth; " BPL_DEFAULT, 0},
	{"opus", EMODEL_FB, 10.2, BPL(9.6), DECL,
	 "declared: as EVS-SWB 48 kbit/s, the worst of EVS from 24.4 kbit/s; "
	 "no ITU-T value for Opus on any scale",
	 6.5},
	{"EVS-SWB-48", EMODEL_FB, 10.2, BPL(9.6), STD, G113_FB, 0},
	{"EVS-SWB-32", EMODEL_FB, 8.7, BPL(9.3), STD,
	 "ITU-T G.113 (09/2024) Appendix V, Erratum 1 (01/2026), diotic" SECOND_HAND,
	 0},
	{"EVS-SWB-24.4", EMODEL_FB, 7.2, BPL(11.4), STD, G113_FB, 0},
	{"EVS-SWB-16.4", EMODEL_FB, 10.8, BPL(10.3), STD, G113_FB, 0},
	{"EVS-SWB-13.2", EMODEL_FB, 17.1, BPL(11.7), STD, G113_FB, 0},
	{"EVS-SWB-9.6", EMODEL_FB, 22.7, BPL(13.0), STD, G113_FB, 0},
};

const struct emodel_codec *emodel_codec_by_name(const char *name)
{
	for (size_t i = 0; i < COUNT(codecs); i++) {
		if (!strcasecmp(codecs[i].name, name))
			return &codecs[i];
	}
	return NULL;
}

const struct emodel_codec *emodel_codecs(size_t *ret_count)
{
	*ret_count = COUNT(codecs);
	return codecs;
}

/* ---- rows of encodings ---- */

/* An encoding name alone stands for the mode in common use. */
static const struct {
	const char *encoding;
	uint32_t clock_hz;    /* 0: any */
	const char *standard; /* NULL: G.113 has none */
	const char *declared;
} encodings[] = {
	{"PCMU", 0, "G.711-PLC", NULL},
	{"PCMA", 0, "G.711-PLC", NULL},
	{"G729", 0, "G.729A+VAD", NULL},
	{"G723", 0, "G.723.1-6.3+VAD", NULL},
	{"GSM", 0, "GSM-FR", "GSM-FR-declared"},
	{"GSM-EFR", 0, "GSM-EFR", NULL},
	{"GSM-HR-08", 0, "GSM-HR", NULL},
	{"G726-40", 0, "G.726-40", NULL},
	{"G726-32", 0, "G.726-32", "G.726-32-declared"},
	{"G726-24", 0, "G.726-24", NULL},
	{"G726-16", 0, "G.726-16", NULL},
	{"G728", 0, "G.728-16", NULL},
	{"iLBC", 0, NULL, "iLBC"},
	{"AMR", 0, NULL, "AMR-12.2"},
	{"G722", 0, "G.722-64", "G.722-64-declared"},
	{"opus", 0, NULL, "opus"},
	{"L16", 8000, NULL, "L16-8"},
	{"L16", 16000, NULL, "L16-16"},
	{"L16", 44100, NULL, "L16-48"},
	{"L16", 48000, NULL, "L16-48"},
};

/* Modes given by a format parameter. */
static const struct {
	const char *encoding;
	const char *parameter;
	const char *value;
	const char *standard; /* NULL: none for any mode */
	const char *declared;
} modes[] = {
	{"AMR", "mode-set", "7", NULL, "AMR-12.2"},
	{"AMR", "mode-set", "4", NULL, "AMR-7.4"},
	{"AMR-WB", "mode-set", "0", "AMR-WB-6.6", NULL},
	{"AMR-WB", "mode-set", "1", "AMR-WB-8.85", NULL},
	{"AMR-WB", "mode-set", "2", "AMR-WB-12.65", "AMR-WB-12.65-declared"},
	{"AMR-WB", "mode-set", "3", "AMR-WB-14.25", NULL},
	{"AMR-WB", "mode-set", "4", "AMR-WB-15.85", NULL},
	{"AMR-WB", "mode-set", "5", "AMR-WB-18.25", NULL},
	{"AMR-WB", "mode-set", "6", "AMR-WB-19.85", NULL},
	{"AMR-WB", "mode-set", "7", "AMR-WB-23.05", "AMR-WB-23.05-declared"},
	{"AMR-WB", "mode-set", "8", "AMR-WB-23.85", "AMR-WB-23.85-declared"},
	{"G723", "bitrate", "5.3", "G.723.1-5.3", NULL},
	{"G7221", "bitrate", "24000", "G.722.1-24", NULL},
	{"G7221", "bitrate", "32000", "G.722.1-32", NULL},
	{"EVS", "br", "9.6", "EVS-SWB-9.6", NULL},
	{"EVS", "br", "13.2", "EVS-SWB-13.2", NULL},
	{"EVS", "br", "16.4", "EVS-SWB-16.4", NULL},
	{"EVS", "br", "24.4", "EVS-SWB-24.4", NULL},
	{"EVS", "br", "32", "EVS-SWB-32", NULL},
	{"EVS", "br", "48", "EVS-SWB-48", NULL},
};

static const struct emodel_codec *row(const char *name)
{
	return name ? emodel_codec_by_name(name) : NULL;
}

/* The last value of a list or range, which is the highest mode.
 * @return its length; 0: no such parameter */
static size_t parameter_last(const char *fmtp, const char *name,
			     const char **ret)
{
	size_t n = strlen(name);

	while (*fmtp) {
		size_t length;

		fmtp += strspn(fmtp, " ;");
		length = strcspn(fmtp, ";");
		if (length > n && fmtp[n] == '=' &&
		    strncasecmp(fmtp, name, n) == 0) {
			const char *end = fmtp + length;
			const char *at;

			while (end[-1] == ' ')
				end--;
			at = end;
			while (at > fmtp + n + 1 && !strchr(",- ", at[-1]))
				at--;
			*ret = at;
			return (size_t)(end - at);
		}
		fmtp += length;
	}
	return 0;
}

/* @return the parameters name a mode, known or not */
static bool by_mode(struct emodel_values *ret, const char *encoding,
		    const char *fmtp)
{
	const char *value;
	bool named = false;

	for (size_t i = 0; i < COUNT(modes); i++) {
		size_t n;

		if (strcasecmp(modes[i].encoding, encoding) != 0)
			continue;
		n = parameter_last(fmtp, modes[i].parameter, &value);
		if (n == 0)
			continue;
		named = true;
		if (n != strlen(modes[i].value) ||
		    memcmp(modes[i].value, value, n) != 0)
			continue;
		ret->standard = row(modes[i].standard);
		ret->declared = row(modes[i].declared);
		return true;
	}
	/* G.723.1 has one other rate, which is the default */
	return named && strcasecmp(encoding, "G723") != 0;
}

void emodel_values_of(struct emodel_values *ret, const char *encoding,
		      uint32_t clock_hz, const char *fmtp)
{
	*ret = (struct emodel_values){0};
	if (fmtp && *fmtp && by_mode(ret, encoding, fmtp))
		return;
	for (size_t i = 0; i < COUNT(encodings); i++) {
		if (strcasecmp(encodings[i].encoding, encoding) != 0 ||
		    (encodings[i].clock_hz &&
		     encodings[i].clock_hz != clock_hz))
			continue;
		ret->standard = row(encodings[i].standard);
		ret->declared = row(encodings[i].declared);
		return;
	}
}

static bool applies(const struct emodel_codec *codec, double ppl)
{
	return codec && (codec->has_bpl || !(ppl > 0.0));
}

bool emodel_values_equal(const struct emodel_values *a,
			 const struct emodel_values *b)
{
	return a->standard == b->standard && a->declared == b->declared &&
	       a->prefer_declared == b->prefer_declared;
}

const struct emodel_codec *emodel_values_pick(const struct emodel_values *v,
					      double ppl,
					      const char **ret_reason)
{
	if (v->prefer_declared && v->declared) {
		if (applies(v->declared, ppl))
			return v->declared;
		*ret_reason = "no Bpl declared: loss not computable";
		return NULL;
	}
	if (applies(v->standard, ppl))
		return v->standard;
	if (applies(v->declared, ppl))
		return v->declared;
	*ret_reason = v->standard || v->declared
			      ? "no Bpl published: loss not computable"
			      : "no standardised Ie/Bpl";
	return NULL;
}

/* ---- declarations of users ---- */

/* Cut off the next field at `separator`.
 * @return NULL: there is none */
static char *field(char **rest, char separator)
{
	char *at = *rest;
	char *end;

	if (!at)
		return NULL;
	end = strchr(at, separator);
	*rest = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return at;
}

static bool number(const char *text, double max, double *ret)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !(x >= 0.0 && x <= max))
		return false;
	*ret = x;
	return true;
}

static bool scale(const char *text, enum emodel_scale *ret)
{
	static const char *const names[] = {"nb", "wb", "fb"};

	for (size_t i = 0; i < COUNT(names); i++) {
		if (strcasecmp(text, names[i]) != 0)
			continue;
		*ret = (enum emodel_scale)i;
		return true;
	}
	return false;
}

/* Parse IE[,BPL[,SCALE[,SOURCE]]]. The text is cut up; the row points into
 * it. */
static const char *own_row(struct emodel_codec *ret, char *text)
{
	char *rest = text;
	char *ie = field(&rest, ',');
	char *bpl = field(&rest, ',');
	char *band = field(&rest, ',');

	if (!number(ie, 200.0, &ret->ie))
		return "the value is no codec of emodel --list and no Ie of 0 to 200";
	if (bpl && *bpl) {
		if (!number(bpl, 1000.0, &ret->bpl) || ret->bpl < 1e-3)
			return "Bpl is 0.001 to 1000";
		ret->has_bpl = true;
	}
	if (band && *band && !scale(band, &ret->scale))
		return "the scale is nb, wb or fb";
	ret->provenance = EMODEL_DECLARED;
	ret->source = rest && *rest ? rest : "declared by the user";
	return NULL;
}

/* Parse one declaration, without semicolon.
 * @return NULL, or the reason of the failure */
static const char *declare(struct emodel_declarations *d, const char *text,
			   size_t bytes)
{
	const char *equal = memchr(text, '=', bytes);
	size_t name = equal ? (size_t)(equal - text) : 0;
	size_t i = 0;
	const char *reason;

	if (name == 0 || name >= sizeof(d->entry[0].encoding))
		return "a declaration is ENCODING=CODEC or ENCODING=IE,BPL,SCALE";
	if (bytes >= EMODEL_DECLARATION_BYTES)
		return "a declaration is too long";
	while (i < d->count && (strncasecmp(d->entry[i].encoding, text, name) ||
				d->entry[i].encoding[name]))
		i++;
	if (i == EMODEL_DECLARATIONS_MAX)
		return "too many declarations";
	memset(&d->entry[i], 0, sizeof(d->entry[i]));
	memcpy(d->entry[i].encoding, text, name);
	memcpy(d->entry[i].text, equal + 1, bytes - name - 1);
	d->entry[i].row = emodel_codec_by_name(d->entry[i].text);
	if (!d->entry[i].row) {
		reason = own_row(&d->entry[i].own, d->entry[i].text);
		if (reason)
			return reason;
		d->entry[i].own.name = d->entry[i].encoding;
	}
	d->count += i == d->count;
	return NULL;
}

int emodel_declare(struct emodel_declarations *d, const char *text,
		   const char **ret_reason)
{
	const char *reason = NULL;

	while (!reason && *text) {
		size_t n;

		text += strspn(text, "; ");
		n = strcspn(text, ";");
		if (n > 0)
			reason = declare(d, text, n);
		text += n;
	}
	if (reason)
		*ret_reason = reason;
	return reason ? -EINVAL : 0;
}

void emodel_declarations_apply(const struct emodel_declarations *d,
			       const char *encoding, struct emodel_values *v)
{
	for (size_t i = 0; d && i < d->count; i++) {
		const struct emodel_codec *own;

		if (strcasecmp(d->entry[i].encoding, encoding) != 0)
			continue;
		own = d->entry[i].row ? d->entry[i].row : &d->entry[i].own;
		if (own->provenance == EMODEL_STANDARD) {
			v->standard = own;
			v->prefer_declared = false;
		} else {
			v->declared = own;
			v->prefer_declared = true;
		}
		return;
	}
}
