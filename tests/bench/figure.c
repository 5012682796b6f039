#include "tests/bench/figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double *grow(double *x, size_t n)
{
	x = realloc(x, n * sizeof(*x));
	if (!x) {
		fprintf(stderr, "bench: out of memory\n");
		exit(1);
	}
	return x;
}

void figure_add(struct figure *f, double ns, double reference)
{
	if (f->n == f->room) {
		f->room = f->room ? 2 * f->room : 64;
		f->ns = grow(f->ns, f->room);
		f->reference = grow(f->reference, f->room);
	}
	f->ns[f->n] = ns;
	f->reference[f->n++] = reference;
}

void figure_release(struct figure *f)
{
	free(f->ns);
	free(f->reference);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

void figures_heading(void)
{
	double load;

	if (getloadavg(&load, 1) == 1)
		printf("%ld processors, load average %.1f\n",
		       sysconf(_SC_NPROCESSORS_ONLN), load);
	printf("%-38s %8s  %-13s %7s %12s %10s %6s\n", "ns", "median", "target",
	       "least", "undisturbed", "reference", "ratio");
}

void figure_print(struct figure *f)
{
	double ns = median(f->ns, f->n);
	double reference = median(f->reference, f->n);
	double limit = 1.25 * f->ns[f->n / 10];
	char target[32] = "-";
	size_t undisturbed = 0;

	while (undisturbed < f->n && f->ns[undisturbed] <= limit)
		undisturbed++;
	if (f->target > 0.0)
		snprintf(target, sizeof(target), "%3.0f %s", f->target,
			 ns <= f->target ? "met" : "MISSED");
	printf("%-38s %8.1f  %-13s %7.1f %11.0f%% %10.1f %6.2f\n", f->what, ns,
	       target, f->ns[0], 100.0 * (double)undisturbed / (double)f->n,
	       reference, ns / reference);
	fflush(stdout);
}
