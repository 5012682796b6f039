/**
 * No core dumps: the memory of our programs has passwords, tokens and keys.
 */
#ifndef OFFHOOK_BASE_CORE_DUMP_H
#define OFFHOOK_BASE_CORE_DUMP_H

/** Let neither this process nor those that it starts write a core dump, for good.
 * Thread: any; at the start of a program. Not refused by any system. */
void core_dump_disable(void);

#endif
