/**
 * `offhook import`: a captured call as a test.
 */
#ifndef OFFHOOK_CONTROL_CLI_IMPORT_IMPORT_H
#define OFFHOOK_CONTROL_CLI_IMPORT_IMPORT_H

/** Run `offhook import`; argv[0] is "import". @return exit status: 0 the test was
 * written; 1 no such call, or the file cannot be read or written; 2 wrong usage, or
 * there are several calls and --call is missing */
int import_main(int argc, char **argv);

#endif
