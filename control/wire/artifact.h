/**
 * Names of artifacts, the files that a job leaves beside its results
 * (docs/internals/wire.md): the rules that agents and the controller share.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_ARTIFACT_H
#define OFFHOOK_WIRE_ARTIFACT_H

#include <stdbool.h>

#define WIRE_ARTIFACT_NAME_BYTES 101 /* with its terminator */

/* Suffix of the name while the file is being written. */
#define WIRE_ARTIFACT_PART ".part"

/**
 * True for 1 to 100 letters, digits, dots, dashes and underscores that begin
 * with a letter or digit and do not end in WIRE_ARTIFACT_PART: safe as a
 * file's name, in an address and in a header.
 */
bool wire_artifact_name_valid(const char *name);

/** The media type of a name, by its suffix. Static, never NULL. */
const char *wire_artifact_type(const char *name);

#endif
