/**
 * How many captures are imported at a time: reading one takes memory and a worker
 * for seconds. Defined in controller.c.
 * Thread: worker.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_IMPORT_TURN_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_IMPORT_TURN_H

#include <stdbool.h>

#define IMPORT_TURNS_MAX 1

struct controller;

/** @return true: to be given back; false: none is left */
bool import_turn_take(struct controller *c);
void import_turn_give(struct controller *c);

#endif
