#include "capture/samples.h"

#include <stdlib.h>

#define FIRST 64

static bool grow(struct samples *s, struct samples_budget *budget)
{
	size_t n = s->allocated ? 2 * s->allocated : FIRST;
	double *all;

	if (n > SAMPLES_MAX || n - s->allocated > budget->left)
		return false;
	all = realloc(s->all, n * sizeof(*all));
	if (!all)
		return false;
	budget->left -= n - s->allocated;
	s->all = all;
	s->allocated = n;
	return true;
}

void samples_add(struct samples *s, struct samples_budget *budget, double x)
{
	if (s->over)
		return;
	if (s->n == s->allocated && !grow(s, budget)) {
		budget->left += s->allocated;
		samples_release(s);
		s->over = true;
		return;
	}
	s->all[s->n++] = x;
}

bool samples_distribution(struct samples *s, const struct histogram *h,
			  struct distribution *ret)
{
	if (s->over)
		distribution_of_histogram(ret, h);
	else
		distribution_of_samples(ret, s->all, s->n);
	return !s->over;
}

void samples_release(struct samples *s)
{
	free(s->all);
	*s = (struct samples){0};
}
