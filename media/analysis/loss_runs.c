#include "media/analysis/loss_runs.h"

void loss_runs_add(struct loss_runs *l, bool lost)
{
	if (lost)
		loss_runs_add_lost(l, 1);
	else if (l->open)
		l->open = 0;
}

void loss_runs_add_lost(struct loss_runs *l, uint64_t count)
{
	if (count == 0)
		return;
	if (l->open == 0)
		l->runs++;
	l->lost += count;
	l->open += count;
	if (l->open > l->longest)
		l->longest = l->open;
}

double loss_runs_burst_r(const struct loss_runs *l, uint64_t expected)
{
	double r;

	if (l->runs == 0 || expected == 0)
		return 1.0;
	r = (double)l->lost / (double)l->runs *
	    (1.0 - (double)l->lost / (double)expected);
	return r > 1.0 ? r : 1.0;
}
