/**
 * Plots as inline SVG: one of a measure, with a line for each role and
 * direction.
 * Pure; thread: any.
 */
#ifndef OFFHOOK_RENDER_PLOT_H
#define OFFHOOK_RENDER_PLOT_H

#include <jansson.h>
#include <stdbool.h>

struct document;

/** Measures that have a plot, in this order; ends with NULL. */
extern const char *const plot_measures[];

/**
 * Append the plot of a measure as <figure>.
 * @param series  array, borrowed (render.h)
 * @return false: no series has the measure; nothing was written
 */
bool plot_write(struct document *d, const json_t *series, const char *measure);

#endif
