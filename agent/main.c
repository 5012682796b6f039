/* offhook-agent: the supervisor, and with --engine=FD one engine process. */
#include "agent/calibration.h"
#include "agent/capabilities.h"
#include "agent/engine/engine.h"
#include "agent/options.h"
#include "agent/own_address.h"
#include "agent/supervisor/health.h"
#include "agent/supervisor/supervisor.h"
#include "base/clock.h"
#include "base/core_dump.h"
#include "base/log.h"
#include "base/str.h"
#include "base/version.h"
#include "base/wiped_memory.h"
#include "media/analysis/emodel_values.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,    /* command line or configuration */
	EXIT_UNWANTED = 3, /* the controller refused this agent for good */
	/* with --acquire */
	EXIT_NO_JOB = 4,       /* none came */
	EXIT_UNSUCCESSFUL = 5, /* delivered, but not completed */
};

/* Check the setting codec_values, which conf/ cannot: it does not know codecs. */
static int codec_values_check(const struct agent_conf *conf, const char *path,
			      struct conf_error *error)
{
	struct emodel_declarations declarations = {0};
	const char *reason;
	int err = emodel_declare(&declarations, conf->codec_values, &reason);

	if (err)
		snprintf(error->text, sizeof(error->text),
			 "%s: codec_values: %s", path, reason);
	return err;
}

/* Read the first line of a file; empty if there is none. A missing file is no error:
 * a join token and a fingerprint are needed only once. */
static int line_read(char line[static CONF_TEXT_BYTES], const char *path)
{
	FILE *f = fopen(path, "re");
	int err = 0;

	if (!f)
		return errno == ENOENT ? 0 : -errno;
	if (!fgets(line, CONF_TEXT_BYTES, f) && ferror(f))
		err = -EIO;
	fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	return err;
}

/* Set conf->join_token to the one of the command line, the configuration or the
 * file that it names; empty: there is none. @param given  empty: none */
static int join_token_resolve(struct agent_conf *conf, const char *given,
			      struct conf_error *error)
{
	int err = 0;

	if (given[0]) {
		err = str_copy(conf->join_token, sizeof(conf->join_token),
			       given);
		if (err)
			snprintf(error->text, sizeof(error->text),
				 "--join-token: too long");
	} else if (conf->join_token_file[0]) {
		err = line_read(conf->join_token, conf->join_token_file);
		if (err)
			snprintf(error->text, sizeof(error->text),
				 "%s: cannot be read: %s",
				 conf->join_token_file, strerror(-err));
	}
	return err;
}

/* Set conf->controller_fingerprint likewise. @param given  NULL: none */
static int fingerprint_resolve(struct agent_conf *conf, const char *given,
			       struct conf_error *error)
{
	const char *source = "--fingerprint", *wrong;
	int err = 0;

	if (given) {
		err = str_copy(conf->controller_fingerprint,
			       sizeof(conf->controller_fingerprint), given);
	} else if (conf->controller_fingerprint_file[0]) {
		source = conf->controller_fingerprint_file;
		err = line_read(conf->controller_fingerprint, source);
	}
	wrong = err ? strerror(-err)
		    : agent_conf_check_fingerprint(
			      conf->controller_fingerprint);
	if (!wrong)
		return 0;
	snprintf(error->text, sizeof(error->text), "%s: %s", source, wrong);
	return err ? err : -EINVAL;
}

static int load(struct agent_conf *conf, const struct options *options)
{
	struct conf_error error;
	char variables[1024];
	int err;

	if (!options->check_health && !options->calibrate_s &&
	    conf_environment_list(&agent_conf_schema, variables,
				  sizeof(variables)))
		log_info("settings of the environment: %s", variables);
	err = agent_conf_load(conf, options->config, &error);
	if (err == 0)
		err = codec_values_check(conf, options->config, &error);
	if (err == 0)
		err = join_token_resolve(conf, options->join_token, &error);
	if (err == 0)
		err = fingerprint_resolve(conf, options->fingerprint, &error);
	if (err)
		fprintf(stderr, "%s\n", error.text);
	return err;
}

/* The program that engines are started from: this one, also after an update has
 * replaced the file; by its name where there is no /proc, as in a bare chroot. */
static const char *own_program(char name[static PATH_MAX])
{
	static const char self[] = "/proc/self/exe";
	const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);

	if (access(self, X_OK) != 0 && started && realpath(started, name))
		return name;
	return self;
}

#define ADDRESS_RETRY_S 5

/* Wait, or until a signal asks to stop. @param stop  these, blocked @return false: stop */
static bool address_wait(const sigset_t *stop)
{
	const struct timespec time = {.tv_sec = ADDRESS_RETRY_S};
	const int signal_number = sigtimedwait(stop, NULL, &time);

	if (signal_number > 0)
		log_info("stopping on %s", strsignal(signal_number));
	return signal_number < 0;
}

/* @return false: a signal came meanwhile, or the time is over */
static bool wait_for_address(struct agent_conf *conf, const sigset_t *stop,
			     int64_t until_ns)
{
	char own[INET6_ADDRSTRLEN];
	const char *reason, *said = NULL;

	while (own_address_to(own, sizeof(own), conf->controller, &reason)) {
		if (reason != said)
			log_warning(
				"bind = auto: the address towards %s is not "
				"known: %s; trying every %d s",
				conf->controller, reason, ADDRESS_RETRY_S);
		said = reason;
		if (clock_mono_ns() >= until_ns || !address_wait(stop))
			return false;
	}
	str_copy(conf->bind, sizeof(conf->bind), own);
	log_info("bind = auto: %s", conf->bind);
	return true;
}

/* Put an address in place of "auto". Waits while there is none: the network, or the
 * controller's name, may come later than this program. The signals that ask to stop are
 * blocked from the beginning: the first process of a container would not get others, and
 * one that came while the name was looked up would be lost.
 * @return false: a signal came meanwhile, or the time is over */
static bool bind_resolve(struct agent_conf *conf, int64_t until_ns)
{
	sigset_t stop, before;
	bool found;

	if (strcmp(conf->bind, AGENT_BIND_AUTO) != 0)
		return true;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, &before);
	found = wait_for_address(conf, &stop, until_ns);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return found;
}

/* What a reload needs. */
struct reload {
	const char *conf_path;
	const struct agent_conf *started; /* the configuration in force */
	struct conf_environment environment;
};

/* SIGHUP: take the log level again. Nothing else is kept: each engine reads the certificate
 * for SIP, and each connection to the controller the authorities. */
static void on_reload(void *arg)
{
	const struct reload *r = arg;
	struct agent_conf *conf = calloc(1, sizeof(*conf));
	struct conf_error error;

	if (!conf) {
		log_error("not reloaded: %s", strerror(ENOMEM));
		return;
	}
	if (conf_load_again(conf, r->conf_path, &agent_conf_schema, r->started,
			    &r->environment, &error)) {
		log_error("not reloaded: %s", error.text);
	} else {
		log_level_set(conf->log_level);
		log_info("reloaded on SIGHUP");
	}
	explicit_bzero(conf, sizeof(*conf));
	free(conf);
}

static int acquired_status(enum acquired acquired)
{
	switch (acquired) {
	case ACQUIRED_COMPLETED:
		return EXIT_SUCCESS;
	case ACQUIRED_UNSUCCESSFUL:
		return EXIT_UNSUCCESSFUL;
	case ACQUIRED_UNDELIVERED:
		return EXIT_FAILURE;
	case ACQUIRED_NONE:
	default:
		return EXIT_NO_JOB;
	}
}

/* @return the exit status */
static int serve(struct agent_conf *conf, struct reload *reload,
		 const struct options *options)
{
	const int64_t until_ns =
		options->acquire_s
			? clock_mono_ns() +
				  (int64_t)options->acquire_s * NS_PER_S
			: INT64_MAX;
	int status = EXIT_SUCCESS;
	struct supervisor *supervisor = NULL;
	json_t *features;
	char program[PATH_MAX];
	int err = -ENOMEM;

	if ((calibration_due(conf) &&
	     !calibration_at_start(own_program(program), options->config)) ||
	    !bind_resolve(conf, until_ns))
		return options->acquire ? EXIT_NO_JOB : EXIT_SUCCESS;
	features = capabilities_list(conf);
	if (features)
		err = supervisor_new(
			&supervisor, conf,
			conf->join_token[0] ? conf->join_token : NULL,
			conf->engine_program[0] ? conf->engine_program
						: own_program(program),
			features, options->verbose);
	json_decref(features);
	if (err == 0) {
		json_t *calibration = calibration_read(conf);

		supervisor_calibrated(supervisor, calibration);
		json_decref(calibration);
		log_info("version " OFFHOOK_VERSION " serves %s",
			 conf->controller);
		supervisor_on_reload(supervisor, on_reload, reload);
		if (options->acquire)
			supervisor_acquire(supervisor, until_ns);
		err = supervisor_run(supervisor);
	}
	if (err)
		status = supervisor && supervisor_refused(supervisor)
				 ? EXIT_UNWANTED
				 : EXIT_FAILURE;
	else if (options->acquire)
		status = acquired_status(supervisor_acquired(supervisor));
	supervisor_free(supervisor);
	if (err)
		log_error("ended: %s", strerror(-err));
	else
		log_info("ended");
	return status;
}

static int check_health(const struct agent_conf *conf)
{
	char text[PATH_MAX + 64];
	int err = health_check(conf->state_dir, text, sizeof(text));

	puts(text);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(struct options *options)
{
	struct reload reload = {
		.conf_path = options->config,
		.environment = conf_environment_read(&agent_conf_schema),
	};
	struct agent_conf *conf;
	int err, status = EXIT_USAGE;

	conf = calloc(1, sizeof(*conf));
	if (!conf)
		return EXIT_FAILURE;
	reload.started = conf;
	err = load(conf, options);
	if (err == 0 && options->check_config) {
		printf("%s: good\n", options->config);
		status = EXIT_SUCCESS;
	} else if (err == 0 && options->check_health) {
		status = check_health(conf);
	} else if (err == 0 && options->calibrate_s) {
		status = calibration_command(conf, options->calibrate_s,
					     options->json);
	} else if (err == 0) {
		log_setup(conf->log_level, "offhook-agent");
		status = serve(conf, &reload, options);
	}
	explicit_bzero(options, sizeof(*options));
	explicit_bzero(conf, sizeof(*conf));
	free(conf);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;

	log_setup(LOG_LEVEL_INFO, "offhook");
	umask(077); /* secrets and results: no access for others */
	core_dump_disable();
	json_set_alloc_funcs(malloc, wiped_free); /* jobs have passwords */
	/* No other process of this user may read our memory, not even an engine that a
	 * peer has taken over. Also no core where core_pattern is a program, to which
	 * the limit does not apply. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (options_parse(&options, argc, argv) != 0)
		return EXIT_USAGE;
	if (options.help) {
		options_print_help();
		return EXIT_SUCCESS;
	}
	if (options.version) {
		version_print("offhook-agent");
		return EXIT_SUCCESS;
	}
	if (options.engine_fd >= 0)
		return engine_main(options.engine_fd);

	return run(&options);
}
