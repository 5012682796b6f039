#include "control/server/sequence/mean_decision.h"

#include <math.h>

void mean_decision_begin(struct mean_decision *d, double above, double below,
			 double error)
{
	mean_test_begin(&d->above, above);
	mean_test_begin(&d->below, 1 - below);
	d->enough = -log(error);
	d->side = MEAN_OPEN;
	d->count = 0;
}

void mean_decision_add(struct mean_decision *d, double above, double below)
{
	if (d->side != MEAN_OPEN)
		return;
	d->count++;
	mean_test_add(&d->above, above);
	mean_test_add(&d->below, 1 - below);
	if (mean_test_evidence(&d->above) >= d->enough)
		d->side = MEAN_ABOVE;
	else if (mean_test_evidence(&d->below) >= d->enough)
		d->side = MEAN_BELOW;
}
