/**
 * The writers of the three formats, for render.c.
 */
#ifndef OFFHOOK_RENDER_FORMATS_H
#define OFFHOOK_RENDER_FORMATS_H

#include "control/render/document.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* @param head  of render_begin(); NULL: one run */
void junit_begin(struct document *d, const json_t *head);
void junit_run(struct document *d, const json_t *report, size_t number);
void junit_end(struct document *d, size_t left_out);

void markdown_begin(struct document *d, const json_t *head);
/* @param number  0: the only run */
void markdown_run(struct document *d, const json_t *report, size_t number);
void markdown_end(struct document *d, size_t left_out);

void html_begin(struct document *d, const json_t *head);
void html_run(struct document *d, const json_t *report, size_t number);
void html_end(struct document *d, size_t left_out);

#endif
