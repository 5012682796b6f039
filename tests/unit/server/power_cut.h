/**
 * Power cuts of SQLite. Between power_cut_record() and power_cut_end() everything that SQLite writes to
 * the files of a folder, and each time it has them synced, is noted. From that the files are made as they
 * may be after the power failed at any of these moments: what was synced is there; of what was written
 * since then each write is there, is not, or is there in part, sector by sector.
 * Thread: one.
 */
#ifndef OFFHOOK_TESTS_POWER_CUT_H
#define OFFHOOK_TESTS_POWER_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Begin to note; the files must not be open. Connections that are opened from now on are watched. */
void power_cut_record(const char *folder);
/** End; all connections must be closed. */
void power_cut_end(void);

/** How many operations were noted until now: moments of a power cut are 0 to this. */
size_t power_cut_moments(void);

/**
 * Make the files as they may be after a power cut.
 * @param moment    operations that were begun before
 * @param seed      chooses what of the writes that were not synced is there
 * @param disk_lies the disk said that it had synced, and had not
 */
void power_cut_make(const char *folder, size_t moment, uint64_t seed,
		    bool disk_lies);

/** Release what was noted. */
void power_cut_release(void);

#endif
