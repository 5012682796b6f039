#include "media/analysis/emodel.h"

#include <strings.h>

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
/* The smallest Bpl there is: of a receiver that conceals nothing. Never better
 * than the codec. */
#define BPL_DEFAULT "Bpl the default of G.107 Table 2 (no concealment)"
#define BPL_DIOTIC  "Bpl,WB of the same mode's diotic row, Table IV.4"

#define BPL(x) true, (x)
#define NO_BPL false, 0.0
#define STD    EMODEL_STANDARD
#define DECL   EMODEL_DECLARED

/* Look-ahead: rtp-analysis 5.4; 0 where none is stated. */
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

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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
