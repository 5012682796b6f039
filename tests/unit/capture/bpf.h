/* A classic BPF machine, as the kernel's: for programs that filter_compile()
 * writes. */
#ifndef OFFHOOK_TESTS_UNIT_CAPTURE_BPF_H
#define OFFHOOK_TESTS_UNIT_CAPTURE_BPF_H

#include "capture/filter.h"

/** abort() where the program breaks the kernel's rules.
 * @return bytes of the frame that are kept; 0: left out */
uint32_t bpf_run(const struct filter_program *p, const uint8_t *data,
		 size_t bytes, uint32_t packet_type);

#endif
