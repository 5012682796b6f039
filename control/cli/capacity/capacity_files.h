/**
 * What a capacity search found, as files: the curve as SVG, the result as JUnit XML.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_FILES_H
#define OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_FILES_H

struct capacity_result;

/** Write the curve: the share of trials that hold by the load, each trial, the interval. The file is
 * replaced. @return 0; -errno */
int capacity_files_plot(const struct capacity_result *o, const char *file);

/** Write a suite with one test case, as of the exit status.
 * @return as capacity_files_plot() */
int capacity_files_junit(const struct capacity_result *o, const char *file);

#endif
