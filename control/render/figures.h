/**
 * The figures of a run by role: calls, post-dial delay, MOS, loss.
 * Pure; thread: any.
 */
#ifndef OFFHOOK_RENDER_FIGURES_H
#define OFFHOOK_RENDER_FIGURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of a run; further roles are left out. */
#define FIGURES_ROLES_MAX 32

struct figure {
	size_t n; /* 0: the figure is unknown */
	double min;
	double max;
	double sum;
};

struct role_figures {
	const char *role; /* borrowed from the report */
	size_t calls;
	size_t established;
	size_t failed; /* not established, or not ended as expected */
	size_t registrations;
	size_t registered;
	const char
		*mos_scale; /* nb, wb, fb; "": unknown or several; borrowed */
	struct figure register_ms;
	struct figure pdd_ms;
	/* of received streams */
	struct figure mos;
	struct figure loss_pct;
	struct figure jitter_ms;
	struct figure rtt_ms;
	/* their error bounds, of streams that an agent with a calibration measured */
	struct figure loss_bound_pct;
	struct figure jitter_bound_ms;
	struct figure rtt_bound_ms;
};

#define FIGURES_BOUND_BYTES 32

/**
 * The error bound of a figure, for a text beside it: the largest, rounded up.
 * @return " ± 0.05"; "" if not each stream has one
 */
const char *figure_bound(char text[static FIGURES_BOUND_BYTES],
			 const struct figure *f, const struct figure *bound);

/** Likewise of an object with a member `bound`. @return ""  without one */
const char *figure_bound_of(char text[static FIGURES_BOUND_BYTES],
			    const json_t *object);

/** The error bound, rounded as figure_bound() prints it. @return false: a stream has none, so
 * neither has the figure */
bool figure_bound_value(const struct figure *f, const struct figure *bound,
			double *ret);

/** Average. n > 0 */
double figure_average(const struct figure *f);

/** True for a call that was not established, or ended otherwise than the test
 * expects. */
bool figures_call_failed(const json_t *call);

/**
 * Collect the figures of a report (render.h): its member `figures`, else those of its
 * calls and registrations.
 * @return number of roles, in order of their names' first appearance
 */
size_t figures_collect(struct role_figures roles[static FIGURES_ROLES_MAX],
		       const json_t *report);

#define FIGURES_ROLE_BYTES 256

/** Figures of events that are read one by one; all zeros: of none. */
struct figures {
	size_t count; /* of roles */
	struct role_figures roles[FIGURES_ROLES_MAX];
	char names[FIGURES_ROLES_MAX][FIGURES_ROLE_BYTES];
};

/** Add an event `call` or `register`. @param event  borrowed */
void figures_add_call(struct figures *f, const char *role, const json_t *event);
void figures_add_registration(struct figures *f, const char *role,
			      const json_t *event);

/** The member `figures` of a report. @return new reference; NULL: no memory */
json_t *figures_json(const struct figures *f);

#define FIGURES_NOTE_BYTES 120

/**
 * A sentence for the reader of a report whose figures are not those of all calls of the
 * run. Its members `calls_omitted` and `figures_omitted` say how many are missing.
 * @return the sentence; "": the figures are of all calls
 */
const char *figures_note(char text[static FIGURES_NOTE_BYTES],
			 const json_t *report);

#endif
