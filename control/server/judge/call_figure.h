/**
 * Figures of many calls, for conditions with confidence: what each call adds, in the order in which the
 * calls began.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_JUDGE_CALL_FIGURE_H
#define OFFHOOK_SERVER_JUDGE_CALL_FIGURE_H

#include "control/server/judge/condition.h"

/* What confidence is about, in %. */
#define CONFIDENCE_DEFAULT 95
#define CONFIDENCE_MIN     50
#define CONFIDENCE_MAX     99.999

/* A figure is a mean, or a percentile, of a value of each call. */
struct call_figure {
	const char *name; /* for sentences */
	const char *unit;
	double min;
	double max;
	double share;        /* 0.95: the 95th percentile; 0: the mean */
	enum compare usual;  /* LE: high values are bad */
	const char *few;     /* "longer than"; of percentiles */
	const char *many;    /* with the other operator: "of at least" */
	const char *ordinal; /* "95th percentile" */
	/* @return false: the call does not count */
	bool (*value)(const struct call_values *call, double *ret);
};

/* The option stop_early, the only one of the types. */
extern const char *const call_figure_options[];

/* Names of `figure`, NULL-terminated, and the figures in their order. */
extern const char *const call_figure_names[];
extern const struct call_figure call_figures[];

/** Parse the member `confidence` into c. @return 0; -EINVAL */
int call_figure_confidence(struct condition *c, struct judge_problem *problem);

struct condition_range call_figure_confidence_range(unsigned choice);

/** Whether a call that is not established is expected: the figure is the answer-seizure
 * ratio. */
bool call_figure_replaces_calls(const struct condition *c);

/**
 * Collect the values of a role's calls in the order in which they began: calls that end soon are not like the
 * others, and must not come first. Of a run in progress only those before the first one that has not ended.
 * @param ret  allocated; in the unit of the figure, INFINITY: worse than any
 * @return 0; -ENOMEM
 */
int call_figure_collect(const struct judge_input *in, const char *role,
			const struct call_figure *f, double **ret,
			size_t *ret_count);

/** A value as the mean that is tested has it, 0 to 1: of a percentile, whether it is beyond the limit. */
double call_figure_part(const struct call_figure *f, enum compare compare,
			double limit, double value);

#define CALL_FIGURE_BYTES 200

/**
 * Describe where the figure lies: "98.50 % over 400 calls (between 96.40 and 99.50 %)", "95th percentile
 * between 1702 and 2130 ms over 400 calls"; "?": too few calls to tell.
 * @param values  they are sorted, and those of a mean divided by 100
 * @param count   at least 1
 */
void call_figure_text(char text[static CALL_FIGURE_BYTES],
		      const struct call_figure *f, double *values, size_t count,
		      double error);

#endif
