/**
 * The calibration of this host: made by a process of its own, kept in a file of
 * state_dir, reported to the controller. Docs: docs/reference/calibration.md
 * Thread: one.
 */
#ifndef OFFHOOK_AGENT_CALIBRATION_H
#define OFFHOOK_AGENT_CALIBRATION_H

#include "conf/agent_conf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * Calibrate, tell on standard error what is being tried, write the file, and print the
 * result on standard output. Takes about so long; blocks.
 * @param json  print it as JSON
 * @return exit status: 1 also if not even two calls left in time
 */
int calibration_command(const struct agent_conf *conf, uint32_t seconds,
			bool json);

/**
 * Whether to calibrate at the agent's start: by the key `calibrate`, and by age,
 * version, kernel and processors of what is in the file.
 */
bool calibration_due(const struct agent_conf *conf);

/**
 * Calibrate in a process of its own, and wait for its end or a signal to stop.
 * @param program  offhook-agent
 * @param config   file with the configuration
 * @return false: a signal came
 */
bool calibration_at_start(const char *program, const char *config);

/** @return the file's calibration, checked; NULL: none that can be used, which is logged
 *          unless there is no file */
json_t *calibration_read(const struct agent_conf *conf);

#endif
