/* One figure of a benchmark: the times of many short blocks, spread over the
 * whole run, each with a reference measured right before it. */
#ifndef OFFHOOK_TESTS_BENCH_FIGURE_H
#define OFFHOOK_TESTS_BENCH_FIGURE_H

#include <stddef.h>

struct figure {
	const char *what;
	double target; /* at most; 0: none */
	size_t n;
	size_t room;
	double *ns;        /* of each block, a packet, stream or record */
	double *reference; /* the same */
};

void figure_add(struct figure *f, double ns, double reference);

/* Print the column names, and the machine's load. */
void figures_heading(void);

/* Print a figure: its median, and whether it meets the target; the fastest
 * block; the share of undisturbed blocks (less than a quarter slower than the
 * fastest tenth); the median of the reference, and the ratio to it. */
void figure_print(struct figure *f);

void figure_release(struct figure *f);

#endif
