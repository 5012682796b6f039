/**
 * `offhook rescore`: what MOS the packets of a capture or of a run would have
 * given behind another de-jitter buffer and with another codec, and the least
 * buffer that reaches a MOS. Docs: docs/reference/rescore.md
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RESCORE_RESCORE_H
#define OFFHOOK_CONTROL_CLI_RESCORE_RESCORE_H

struct client;

/** Run the command; argv[0] is "rescore". @return exit status */
int rescore_main(struct client *c, int argc, char **argv);

#endif
