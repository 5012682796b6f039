/**
 * The sandbox of an engine: what its process may still do once it reads what peers send. A
 * flaw in the code that reads SIP, RTP or a prompt must reach neither the agent's
 * credentials, spool and configuration, nor other processes (docs/internals/engine.md).
 *
 * Example: in the order of the start of a job
 *     sandbox_files(&sandbox, &settings, job);     before the first thread
 *     media_engine_new(...)
 *     sandbox_calls(&sandbox);                     after the tap has its packet socket
 *
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_SANDBOX_H
#define OFFHOOK_AGENT_ENGINE_SANDBOX_H

#include "agent/engine/account/engine_settings.h"

#include <stdbool.h>

#define SANDBOX_FOLDER_BYTES 96

struct sandbox {
	const struct engine_settings *settings;
	const struct wire_job *job;
	bool programs; /* the job has a client that is a program */
	int files_err; /* -errno: why files are not restricted */
	char folder
		[SANDBOX_FOLDER_BYTES]; /* for the files of such a client; "": none */
};

/** Restrict which files are opened to those of the job. Where the kernel cannot, or does
 * not let us, the job goes on, and sandbox_calls() says so; likewise with sandbox = off.
 * @param s         out
 * @param settings  borrowed until sandbox_release()
 * @param job       likewise */
void sandbox_files(struct sandbox *s, const struct engine_settings *settings,
		   const struct wire_job *job);

/** Restrict the system calls of all threads, likewise. Say in the log what the sandbox is. */
void sandbox_calls(const struct sandbox *s);

/** Remove the folder for the client's files. @param s  may be zeroed */
void sandbox_release(struct sandbox *s);

#endif
