/**
 * SIPp's own command-line options, as a test may give them to client sipp
 * (docs/reference/sipp.md): a list of those that are allowed. None writes a file,
 * starts a program, leaves the terminal, or changes an address or a port that the
 * agent assigned.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_SIPP_OPTIONS_H
#define OFFHOOK_WIRE_SIPP_OPTIONS_H

#include <stddef.h>

#define WIRE_SIPP_WORDS_MAX   128
#define WIRE_SIPP_FILES_MAX   16
#define WIRE_SIPP_REASON_MAX  200
#define WIRE_SIPP_VALUE_BYTES 256 /* of a word, with its terminator */

/**
 * Check a list of words: options, each followed by its values.
 * @param words       count texts, none NULL
 * @param files       names of the files beside the scenario
 * @param ret_index   out, on failure: the word that is refused
 * @param reason      out, on failure: what is wrong with it, without the word
 * @return 0; -EINVAL
 */
int wire_sipp_options_check(const char *const *words, size_t count,
			    const char *const *files, size_t file_count,
			    size_t *ret_index,
			    char reason[static WIRE_SIPP_REASON_MAX]);

/**
 * Find the last value of an option that has one value, in checked words.
 * @return NULL: it is not given
 */
const char *wire_sipp_option(const char *const *words, size_t count,
			     const char *name);

#endif
