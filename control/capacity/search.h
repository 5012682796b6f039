/**
 * The search for a capacity: the highest load at which a system under test still does what is asked
 * of it, found by trials that either hold or fail. Pure: it says which load to try next, and where
 * the capacity lies after the trials so far.
 *
 * Method: that of PLRsearch (draft-vpolak-bmwg-plrsearch) for the question of MLRsearch
 * (draft-ietf-bmwg-mlrsearch) with an exceed ratio of 0.5: the capacity is the load at which half of
 * the trials hold. The chance that a trial holds falls with the load by a logistic function of its
 * logarithm, whose middle (the capacity) and spread (0.5 to 32 %) are unknown; one trial in 50 goes
 * the other way for no reason (a lapse). Each trial changes the probabilities of all pairs of
 * capacity and spread by Bayes' rule, beginning with equal ones. The next load is the one whose
 * outcome is expected to tell most about the capacity (Kontsevich and Tyler, Bayesian adaptive
 * estimation of psychometric slope and threshold, 1999). A sharp limit so takes little more than a
 * bisection, a soft one as many repeats as its spread needs.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_CONTROL_CAPACITY_SEARCH_H
#define OFFHOOK_CONTROL_CAPACITY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#define SEARCH_RATIO_MAX  1e6 /* of the highest and the lowest load */
#define SEARCH_WIDTH_MIN  0.01
#define SEARCH_WIDTH_MAX  1.0
#define SEARCH_TRIALS_MAX 1000
#define SEARCH_CAUSE_NONE (~0U)

struct search;

struct search_params {
	double min; /* lowest and highest load that may be tried */
	double max;
	double step;         /* loads are whole multiples of it; > 0 */
	double width;        /* of the interval, relative to its lower end */
	unsigned repeats;    /* trials that hold at the lower end, and that
			      * fail at the upper one; >= 1 */
	unsigned trials_max; /* 1 to SEARCH_TRIALS_MAX */
};

enum search_outcome {
	SEARCH_HELD,      /* all conditions held */
	SEARCH_FAILED,    /* the target did not hold one */
	SEARCH_SATURATED, /* the tester could not offer the load */
};

struct search_trial {
	double load;
	enum search_outcome outcome;
	unsigned cause; /* of a failed one: number of the condition;
			 * SEARCH_CAUSE_NONE */
	bool discarded; /* the target had not recovered from the trial before:
			 * the same load held after a longer pause. Or the tester
			 * was not saturated when it was tried again */
};

struct search_next {
	double load;
	unsigned pause; /* how many times the cool-down to wait before: 1, 2,
			 * 4, ... */
};

enum search_limit {
	SEARCH_LIMIT_TARGET, /* what fails above the interval is the target */
	SEARCH_LIMIT_TESTER, /* is the tester: the target can do more */
	SEARCH_LIMIT_ABOVE,  /* the highest load holds */
	SEARCH_LIMIT_BELOW,  /* the lowest load fails */
};

struct search_result {
	bool has_lower; /* false: no load is known to hold */
	bool has_upper; /* false: no load is known to fail */
	double lower;
	double upper;
	double capacity; /* the median; within [min, max] */
	double spread;   /* of the limit, relative: 0.01 is a sharp one */
	enum search_limit limit;
	unsigned cause;    /* most frequent one of the trials that failed about
			    * the upper end; SEARCH_CAUSE_NONE */
	bool reached;      /* the interval is as narrow as was asked */
	bool not_monotone; /* a higher load held, and a lower one failed: the
			    * interval is about the lower one */
};

/** @return 0; -EINVAL a parameter is out of range; -ENOMEM */
int search_new(struct search **ret, const struct search_params *p);
struct search *search_free(struct search *s);

/**
 * What to try next.
 * The first trial is at the lowest load: a test that fails there needs no search. A trial that fails
 * just after another one that failed is tried once more after a longer pause, each time a longer one,
 * until a trial that held after one that failed has shown that the target recovers in time. If that
 * was a repeat, the failures between are discarded, and all further pauses are as long. A load that
 * is the lowest at which the tester is saturated is tried once more, too.
 * @return false: the search is over; ret is untouched
 */
bool search_next(const struct search *s, struct search_next *ret);

/** Take the outcome of a trial. @return 0; -EINVAL the load is out of range;
 * -ENOSPC there were SEARCH_TRIALS_MAX */
int search_add(struct search *s, const struct search_trial *trial);

/** What is known by now; also while the search is not over. */
void search_result(const struct search *s, struct search_result *ret);

/** The trials so far, in their order. */
const struct search_trial *search_trials(const struct search *s,
					 size_t *ret_count);

/** The chance that a trial at a load holds, by what is known by now. */
double search_chance(const struct search *s, double load);

#endif
