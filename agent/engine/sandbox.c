#include "agent/engine/sandbox.h"

#include "agent/engine/account/accounts.h"
#include "agent/engine/file_rules.h"
#include "agent/engine/syscall_filter.h"
#include "base/log.h"
#include "base/str.h"
#include "sip/baresip/baresip.h"
#include "sip/sipp/sipp.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* What the C library, OpenSSL and libre read while a job runs: name resolution, time zone,
 * modules that are loaded when they are first used, authorities of TLS peers. */
static const char *const system_files[] = {
	"/etc/hosts",
	"/etc/resolv.conf",
	"/etc/nsswitch.conf",
	"/etc/host.conf",
	"/etc/gai.conf",
	"/etc/services",
	"/etc/localtime",
	"/etc/ld.so.cache",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/zoneinfo",
	"/usr/lib",
	"/usr/lib64",
	"/usr/local/lib",
	"/lib",
	"/lib64",
	"/dev/urandom",
	"/dev/random",
	"/sys/devices/system/cpu",
	/* its own: the folder is found now */
	"/proc/self",
};

static int allow(struct file_rules *rules, const char *path, unsigned what)
{
	return path && path[0] ? file_rules_allow(rules, path, what) : 0;
}

/* The file and the directory of authorities, which the environment can name. */
static int authorities_allow(struct file_rules *rules)
{
	const char *file = getenv(X509_get_default_cert_file_env());
	const char *dir = getenv(X509_get_default_cert_dir_env());
	int err = allow(rules, file ? file : X509_get_default_cert_file(),
			FILE_RULE_READ);

	return err ? err
		   : allow(rules, dir ? dir : X509_get_default_cert_dir(),
			   FILE_RULE_READ);
}

static int system_allow(struct file_rules *rules)
{
	int err = allow(rules, "/dev/null", FILE_RULE_DEVICE);

	/* pthread_setname_np() of a thread that was started */
	if (!err)
		err = allow(rules, "/proc/self/task", FILE_RULE_WRITE);
	for (size_t i = 0;
	     !err && i < sizeof(system_files) / sizeof(*system_files); i++)
		err = allow(rules, system_files[i], FILE_RULE_READ);
	return err ? err : authorities_allow(rules);
}

/* Our certificate and its key, if the target of an action names one. */
static int certificate_allow(struct file_rules *rules,
			     const struct engine_settings *s, const char *name)
{
	static const char *const ends[] = {"pem", "key"};
	char path[ENGINE_PATH_BYTES + 80];
	int err = 0;

	for (size_t i = 0; name && !err && i < 2; i++) {
		if (str_print(path, sizeof(path), "%s/%s.%s",
			      s->tls_certificates, name, ends[i]) >= 0)
			err = allow(rules, path, FILE_RULE_READ);
	}
	return err;
}

static int job_allow(struct file_rules *rules, const struct engine_settings *s,
		     const struct wire_job *job)
{
	const char *const read[] = {s->prompt_dir, s->prompt_cache,
				    s->default_prompt, s->tls_certificate,
				    s->tls_key};
	int err =
		allow(rules, s->artifact_dir, FILE_RULE_READ | FILE_RULE_WRITE);

	for (size_t i = 0; !err && i < sizeof(read) / sizeof(*read); i++)
		err = allow(rules, read[i], FILE_RULE_READ);
	for (size_t i = 0; !err && i < job->step_count; i++) {
		const struct wire_step *step = &job->steps[i];

		for (size_t k = 0; !err && k < step->action_count; k++)
			err = certificate_allow(
				rules, s, step->actions[k].tls.certificate);
	}
	return err;
}

/* ---- the clients baresip and sipp ---- */

/* The program that the kernel starts to load another: the one that loaded us.
 * @return NULL: unknown */
static const char *loader(void)
{
	const ElfW(Phdr) *head =
		(const ElfW(Phdr) *)(uintptr_t)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	const char *found = NULL;
	uintptr_t base = 0;

	for (unsigned long i = 0; head && i < count; i++) {
		if (head[i].p_type == PT_PHDR)
			base = (uintptr_t)head - head[i].p_vaddr;
	}
	for (unsigned long i = 0; head && i < count; i++) {
		if (head[i].p_type == PT_INTERP)
			found = (const char *)(base + head[i].p_vaddr);
	}
	return found;
}

/* A folder of this job's own, in which files of the client are made instead of beside those
 * of others. Without it the client cannot be started, and the job ends with that reason. */
static void folder_make(struct sandbox *s, const char *base)
{
	char name[SANDBOX_FOLDER_BYTES];

	if (str_print(name, sizeof(name), "%s/offhook-XXXXXX", base) >= 0 &&
	    mkdtemp(name) && setenv("TMPDIR", name, 1) == 0)
		(void)str_copy(s->folder, sizeof(s->folder), name);
}

static int baresip_allow(struct file_rules *rules)
{
	static const char *const devices[] = {"/dev/ptmx", "/dev/pts"};
	int err = allow(rules, BARESIP_PROGRAM, FILE_RULE_EXECUTE);

	if (!err)
		err = allow(rules, "/usr/share/baresip", FILE_RULE_READ);
	for (size_t i = 0; !err && i < sizeof(devices) / sizeof(*devices); i++)
		err = allow(rules, devices[i],
			    FILE_RULE_DEVICE | FILE_RULE_READ);
	return err;
}

static int programs_allow(struct sandbox *s, struct file_rules *rules)
{
	const char *base = getenv("TMPDIR");
	int err;

	if (!base || strlen(base) > SANDBOX_FOLDER_BYTES / 3)
		base = "/tmp";
	folder_make(s, base);
	err = allow(rules, base, FILE_RULE_UNFOLDER);
	if (!err)
		err = allow(rules, s->folder,
			    FILE_RULE_READ | FILE_RULE_WRITE |
				    FILE_RULE_FOLDERS);
	if (!err)
		err = allow(rules, loader(), FILE_RULE_EXECUTE);
	if (!err && user_agents_want(s->job, WIRE_CLIENT_BARESIP))
		err = baresip_allow(rules);
	if (!err && user_agents_want(s->job, WIRE_CLIENT_SIPP))
		err = allow(rules, SIPP_PROGRAM, FILE_RULE_EXECUTE);
	return err;
}

/* ---- both ---- */

static int files_restrict(struct sandbox *s)
{
	struct file_rules *rules = NULL;
	int err = file_rules_new(&rules);

	if (err)
		return err;
	err = system_allow(rules);
	if (!err)
		err = job_allow(rules, s->settings, s->job);
	if (!err && s->programs)
		err = programs_allow(s, rules);
	if (!err)
		err = file_rules_enforce(rules);
	file_rules_free(rules);
	return err;
}

void sandbox_files(struct sandbox *s, const struct engine_settings *settings,
		   const struct wire_job *job)
{
	*s = (struct sandbox){.settings = settings, .job = job};
	if (!settings->sandbox)
		return;
	s->programs = user_agents_want(job, WIRE_CLIENT_BARESIP) ||
		      user_agents_want(job, WIRE_CLIENT_SIPP);
	s->files_err = files_restrict(s);
}

/* Say whether `what` (files, system calls) is restricted.
 * @param err  0: it is; -errno: it is not, and why */
static const char *restricted(char *dst, size_t size, const char *what, int err)
{
	if (err)
		(void)str_print(dst, size, "%s are NOT restricted: %s", what,
				err == -ENOTSUP ? "the kernel cannot"
						: strerror(-err));
	else
		(void)str_print(dst, size, "%s are restricted", what);
	return dst;
}

void sandbox_calls(const struct sandbox *s)
{
	char files[96], calls[96], who[128];
	int err;

	(void)str_print(who, sizeof(who), "run=%.36s role=%.64s",
			s->job->session_id, s->job->role);
	if (!s->settings->sandbox) {
		log_warning("%s sandbox: off", who);
		return;
	}
	err = syscall_filter_install(s->programs, who);
	(err || s->files_err ? log_warning : log_info)(
		"%s sandbox: %s; %s", who,
		restricted(files, sizeof(files), "files", s->files_err),
		restricted(calls, sizeof(calls), "system calls", err));
}

void sandbox_release(struct sandbox *s)
{
	if (s->folder[0])
		(void)rmdir(s->folder);
	s->folder[0] = '\0';
}
