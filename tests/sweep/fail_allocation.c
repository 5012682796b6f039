/* Preloaded by sweep.py: counts the allocations that the program, libre and jansson make, and lets
 * one of them fail.
 * SWEEP_LOG   file; a line for each way to an allocation that was not seen before: its number, then
 *             the frames that lie in the program, innermost first, as offsets in hex
 * SWEEP_FAIL  number of the allocation that fails, from 1 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES   48
#define KEPT     12
#define WAYS_MAX 65536 /* power of two */
#define OBJECTS  3

static struct {
	uintptr_t begin;
	uintptr_t end;
} objects[OBJECTS]; /* the program first */
static unsigned objects_n;
static uintptr_t program_base;
static unsigned long seen, fail_at;
static uint64_t ways[WAYS_MAX];
static unsigned ways_n;
static int log_fd = -1;
static pid_t process;
static bool ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);

static int object_note(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name;
	bool program = objects_n == 0; /* it comes first */

	(void)size;
	(void)arg;
	if (!program && !strstr(name, "libre.so") &&
	    !strstr(name, "libjansson.so"))
		return 0;
	if (program)
		program_base = info->dlpi_addr;
	for (int k = 0; k < info->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[k];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) &&
		    objects_n < OBJECTS) {
			objects[objects_n].begin = info->dlpi_addr + p->p_vaddr;
			objects[objects_n].end =
				objects[objects_n].begin + p->p_memsz;
			objects_n++;
		}
	}
	return 0;
}

static void resolve(void)
{
	if (real_malloc)
		return;
	real_calloc = dlsym(RTLD_NEXT, "calloc");
	real_realloc = dlsym(RTLD_NEXT, "realloc");
	real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	real_malloc = dlsym(RTLD_NEXT, "malloc");
}

__attribute__((constructor)) static void start(void)
{
	const char *log = getenv("SWEEP_LOG"), *fail = getenv("SWEEP_FAIL");
	void *frames[4];

	resolve();
	dl_iterate_phdr(object_note, NULL);
	backtrace(frames, 4); /* loads what it needs */
	if (log)
		log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			      0600);
	fail_at = fail ? strtoul(fail, NULL, 10) : 0;
	process = getpid();
	ready = true;
	unsetenv("LD_PRELOAD"); /* not the programs that a test starts */
}

static bool in_object(uintptr_t at, unsigned k)
{
	return at >= objects[k].begin && at < objects[k].end;
}

/* Remember the way. @return true if it is new */
static bool way_new(uint64_t hash)
{
	for (unsigned k = 0; k < WAYS_MAX; k++) {
		uint64_t *slot = &ways[(hash + k) & (WAYS_MAX - 1)];

		if (*slot == hash)
			return false;
		if (*slot == 0) {
			if (ways_n++ > WAYS_MAX / 2)
				return false;
			*slot = hash;
			return true;
		}
	}
	return false;
}

static void way_note(unsigned long number)
{
	void *frames[FRAMES];
	int n = backtrace(frames, FRAMES), kept = 0, used;
	uint64_t hash = 14695981039346656037u;
	char line[32 + KEPT * 20];

	used = snprintf(line, sizeof(line), "%lu", number);
	for (int k = 0; k < n && kept < KEPT; k++) {
		uintptr_t at = (uintptr_t)frames[k];

		if (!in_object(at, 0))
			continue;
		kept++;
		hash = (hash ^ (at - program_base)) * 1099511628211u;
		used += snprintf(line + used, sizeof(line) - (size_t)used,
				 " %lx", (unsigned long)(at - program_base));
	}
	line[used++] = '\n';
	if (kept && way_new(hash | 1) &&
	    write(log_fd, line, (size_t)used) != used)
		_exit(98);
}

static bool fails(void *caller)
{
	uintptr_t at = (uintptr_t)caller;
	bool counted = false, failed = false;

	if (!ready || inside || getpid() != process)
		return false;
	for (unsigned k = 0; k < objects_n; k++)
		counted = counted || in_object(at, k);
	if (!counted)
		return false;
	inside = true;
	pthread_mutex_lock(&lock);
	seen++;
	failed = seen == fail_at;
	if (log_fd >= 0)
		way_note(seen);
	pthread_mutex_unlock(&lock);
	inside = false;
	if (failed)
		errno = ENOMEM;
	return failed;
}

#define FAILS() fails(__builtin_return_address(0))

void *malloc(size_t bytes)
{
	resolve();
	return FAILS() ? NULL : real_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	resolve();
	return FAILS() ? NULL : real_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
	resolve();
	return FAILS() ? NULL : real_realloc(p, bytes);
}

int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	resolve();
	return FAILS() ? ENOMEM : real_posix_memalign(ret, alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	resolve();
	return FAILS() ? NULL : real_aligned_alloc(alignment, bytes);
}

/* The C library's own call of malloc() is not one of the program. */
char *strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy;

	resolve();
	copy = FAILS() ? NULL : real_malloc(bytes);
	return copy ? memcpy(copy, text, bytes) : NULL;
}

char *strndup(const char *text, size_t most)
{
	size_t length = strnlen(text, most);
	char *copy;

	resolve();
	copy = FAILS() ? NULL : real_malloc(length + 1);
	if (!copy)
		return NULL;
	copy[length] = '\0';
	return memcpy(copy, text, length);
}

int vasprintf(char **ret, const char *fmt, va_list args)
{
	va_list again;
	int length;

	resolve();
	if (FAILS())
		return -1;
	va_copy(again, args);
	length = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	*ret = length < 0 ? NULL : real_malloc((size_t)length + 1);
	return *ret ? vsnprintf(*ret, (size_t)length + 1, fmt, args) : -1;
}

__attribute__((destructor)) static void end(void)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "all %lu\n", seen);

	if (log_fd >= 0 && getpid() == process &&
	    write(log_fd, line, (size_t)n) != n)
		_exit(98);
}
