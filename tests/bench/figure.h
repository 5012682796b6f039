/* One figure of a bench: the times of many short blocks, spread over the whole
 * run, each beside a reference that was measured right before it. */
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

/* Columns, and how busy the machine was. */
void figures_heading(void);

/* The median, whether it meets the target; the quickest block; how many blocks
 * were undisturbed, that is not a quarter slower than the quickest tenth; median
 * of the reference, and how many times that the figure is. */
void figure_print(struct figure *f);

void figure_release(struct figure *f);

#endif
