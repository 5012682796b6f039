/**
 * Write a JSON value as YAML that yaml_read() reads as the same value.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_YAML_WRITE_H
#define OFFHOOK_CONTROL_YAML_WRITE_H

#include <jansson.h>
#include <stdio.h>

/**
 * Write one document. Texts with line ends are block scalars; texts that another
 * reader could take for a number or a truth value are quoted. Small innermost
 * collections stand on one line.
 * @return 0; -EIO
 */
int yaml_write(FILE *out, json_t *value);

#endif
