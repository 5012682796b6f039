/**
 * `offhook emodel`: R and MOS of codec, loss and delay.
 */
#ifndef OFFHOOK_CONTROL_CLI_MEASURE_EMODEL_H
#define OFFHOOK_CONTROL_CLI_MEASURE_EMODEL_H

#include "media/analysis/emodel.h"

/** The name of a scale's model: "G.107", "G.107.1" or "G.107.2-reduced". */
const char *emodel_model_name(enum emodel_scale scale);

/** Run `offhook emodel`; argv[0] is "emodel". @return exit status: 0; 1 no
 * score, or the input cannot be read; 2 wrong usage */
int emodel_main(int argc, char **argv);

#endif
