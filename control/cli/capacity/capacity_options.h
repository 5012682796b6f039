/**
 * The command line of `offhook capacity`. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_OPTIONS_H
#define OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_OPTIONS_H

#include "control/capacity/search.h"
#include "control/capacity/trial.h"

#define CAPACITY_SETS_MAX 1000

struct capacity_options {
	const char *test;       /* name or id */
	const char *action;     /* STEP.ACTION; NULL: the only one */
	struct trial_plan plan; /* without its action */
	struct search_params search;
	unsigned cool_down_s;
	unsigned retry_s;
	double least;     /* 0: not asked */
	const char *plot; /* files; NULL: none */
	const char *junit;
	const char *state; /* goes on from there; NULL: from nothing */
	char *sets[CAPACITY_SETS_MAX]; /* borrowed from argv */
	int set_count;
};

/** Read it. @param argv  [0] is the command; borrowed
 * @return 0; CLI_EXIT_USAGE, the complaint was printed */
int capacity_options_read(struct capacity_options *ret, int argc, char **argv);

#endif
