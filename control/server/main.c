/* offhook-controller: start, serve, stop. */
#include "base/core_dump.h"
#include "base/log.h"
#include "base/str.h"
#include "base/version.h"
#include "conf/controller_conf.h"
#include "control/server/api/appimages.h"
#include "control/server/api/routes.h"
#include "control/server/backup/command.h"
#include "control/server/backup/snapshot.h"
#include "control/server/callback/callback.h"
#include "control/server/capacity/capacity.h"
#include "control/server/certificate.h"
#include "control/server/configured_pool.h"
#include "control/server/data.h"
#include "control/server/health.h"
#include "control/server/http/client_trust.h"
#include "control/server/http/http.h"
#include "control/server/http/tls.h"
#include "control/server/report/error_page.h"
#include "control/server/report/report.h"
#include "control/server/request/controller.h"
#include "control/server/retention/remover.h"
#include "control/server/run/run.h"
#include "control/server/schedule/schedule.h"
#include "control/server/service.h"
#include "control/server/session/password.h"
#include "control/server/session/session.h"
#include "control/server/store/announcer.h"
#include "control/server/store/artifact_files.h"
#include "control/server/store/store.h"
#include "control/server/store/store_audit.h"
#include "control/server/store/store_key.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_CONF "/etc/offhook/offhook-controller.conf"

#define EXIT_USAGE 2 /* command line or configuration */

/* Time for requests in progress when the program stops. */
#define DRAIN_S 10

struct options {
	const char *conf_path;
	const char *create_key;   /* name of the key */
	const char *set_password; /* name of the user */
	const char *rights;       /* NULL: not given */
	bool check_config;
	bool check_health;
	const struct command *command; /* NULL: none */
	struct backup_options backup;
};

/* Commands beside the options. */
struct command {
	const char *name;
	int files_min;
	int files_max;
	int (*run)(const struct controller_conf *conf,
		   const struct backup_options *o);
};

static const struct command commands[] = {
	{"backup", 1, 1, backup_command},
	{"restore", 1, 1, restore_command},
	{"check", 0, 1, check_command},
	{"copy", 2, 2, copy_command},
	{"fingerprint", 0, 0, fingerprint_command},
	{"rotate-key", 0, 0, rotate_key_command},
};

static const char usage[] =
	"usage: offhook-controller [--config FILE]\n"
	"       offhook-controller [--config FILE] --create-key NAME "
	"[--rights RIGHTS]\n"
	"       offhook-controller [--config FILE] --set-password NAME "
	"[--rights RIGHTS]\n"
	"       offhook-controller [--config FILE] --check-config\n"
	"       offhook-controller [--config FILE] --check-health\n"
	"       offhook-controller [--config FILE] backup [--force] "
	"[--with-key] FILE\n"
	"       offhook-controller [--config FILE] restore [--force] "
	"[--without-key] FILE\n"
	"       offhook-controller [--config FILE] check [FILE]\n"
	"       offhook-controller [--config FILE] copy SOURCE DESTINATION\n"
	"       offhook-controller [--config FILE] fingerprint\n"
	"       offhook-controller [--config FILE] rotate-key\n"
	"\n"
	"  --config FILE      read FILE instead of " DEFAULT_CONF "\n"
	"  --create-key NAME  make an API key, print it as JSON and exit; the\n"
	"                     controller must not be running\n"
	"  --set-password NAME\n"
	"                     make a user of the pages, or give one another\n"
	"                     password: a line of standard input; likewise\n"
	"  --rights RIGHTS    of that key or user: read, run, write or admin\n"
	"                     (default: admin; of a user that exists: as they are)\n"
	"  --check-config     check the configuration and exit\n"
	"  --check-health     exit with 0 if the running controller answers, else\n"
	"                     with 1\n"
	"  backup FILE        write the database and all files to FILE, also "
	"while\n"
	"                     the controller is running\n"
	"  restore FILE       put a backup in place; the controller must not "
	"be\n"
	"                     running\n"
	"  check [FILE]       check a backup, or the controller's data; exit "
	"status 1:\n"
	"                     something is wrong\n"
	"  copy SOURCE DESTINATION\n"
	"                     copy a database into an empty one, as from "
	"offhook.db to\n"
	"                     postgresql:///offhook, and print counts and "
	"hashes of its\n"
	"                     tables; no controller may be using them\n"
	"  fingerprint        print the fingerprint of the certificate, which "
	"agents\n"
	"                     and `offhook login` take\n"
	"  rotate-key         make another master key and encrypt all secrets "
	"with it;\n"
	"                     the controller must not be running\n"
	"  --force            replace FILE, or the data that is there, which "
	"is kept\n"
	"                     under other names\n"
	"  --with-key         write the master key to the backup, too\n"
	"  --without-key      restore although the master key is lost\n"
	"  --version, --help\n";

/* @return 0; 2: wrong usage */
static int read_command(struct options *o, int count, char **words)
{
	const struct backup_options *b = &o->backup;
	const bool has_options = b->force || b->with_key || b->without_key;

	if (count == 0)
		return has_options ? 2 : 0;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(words[0], commands[i].name) == 0)
			o->command = &commands[i];
	if (!o->command || count - 1 < o->command->files_min ||
	    count - 1 > o->command->files_max)
		return 2;
	if (o->create_key || o->set_password || o->rights || o->check_config ||
	    o->check_health ||
	    (b->with_key && o->command->run != backup_command) ||
	    (b->without_key && o->command->run != restore_command) ||
	    (b->force && o->command->run != backup_command &&
	     o->command->run != restore_command))
		return 2;
	o->backup.file = words[1];
	if (count > 2)
		o->backup.destination = words[2];
	return 0;
}

/* @return 0: go on; 1: exit well; 2: wrong usage */
static int read_options(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'},
		{"create-key", required_argument, NULL, 'k'},
		{"rights", required_argument, NULL, 'r'},
		{"set-password", required_argument, NULL, 'p'},
		{"check-config", no_argument, NULL, 'n'},
		{"check-health", no_argument, NULL, 'H'},
		{"force", no_argument, NULL, 'f'},
		{"with-key", no_argument, NULL, 'w'},
		{"without-key", no_argument, NULL, 'o'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	enum api_right right;
	int option;

	*o = (struct options){.conf_path = DEFAULT_CONF, .rights = NULL};
	while ((option = getopt_long(argc, argv, "c:h", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			o->conf_path = optarg;
			break;
		case 'k':
			o->create_key = optarg;
			break;
		case 'r':
			o->rights = optarg;
			break;
		case 'p':
			o->set_password = optarg;
			break;
		case 'n':
			o->check_config = true;
			break;
		case 'H':
			o->check_health = true;
			break;
		case 'f':
			o->backup.force = true;
			break;
		case 'w':
			o->backup.with_key = true;
			break;
		case 'o':
			o->backup.without_key = true;
			break;
		case 'V':
			version_print("offhook-controller");
			return 1;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (read_command(o, argc - optind, argv + optind) == 0 &&
	    (!o->rights || ((o->create_key || o->set_password) &&
			    right_parse(o->rights, &right) == 0)) &&
	    (o->create_key != NULL) + (o->set_password != NULL) +
			    o->check_config + o->check_health <=
		    1)
		return 0;
	fputs(usage, stderr);
	return 2;
}

/* The audit log's actor of what an option does. */
static struct audit command_line(const char *method, const char *option)
{
	return (struct audit){.method = method,
			      .path = option,
			      .address = "",
			      .request_id = "",
			      .actor_kind = "command",
			      .actor = "command line"};
}

static int create_key(struct controller *c, const struct options *o)
{
	char public_key[PUBLIC_KEY_BYTES], secret[SECRET_TOKEN_BYTES];
	const char *rights = o->rights ? o->rights : "admin";
	struct audit audit = command_line("POST", "--create-key");
	struct store *store;
	int64_t id;
	json_t *key;
	int err;

	err = store_new(&store, c->database);
	if (err)
		return err;
	store_audit_of(store, &audit);
	err = store_key_create(store, o->create_key, rights, 0, public_key,
			       secret, &id);
	store_free(store);
	if (err) {
		log_error("the key was not made: %s", strerror(-err));
		return err;
	}
	key = json_pack("{s:I, s:s, s:s, s:s, s:s}", "id", (json_int_t)id,
			"public_key", public_key, "secret", secret, "name",
			o->create_key, "rights", rights);
	sodium_memzero(secret, sizeof(secret));
	if (!key)
		return -EINVAL; /* a name that is not UTF-8 */
	json_dumpf(key, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(key);
	return 0;
}

static int set_password(struct controller *c, const struct options *o)
{
	struct audit audit = command_line("PUT", "--set-password");
	struct store *store;
	int err = store_new(&store, c->database);

	if (err)
		return err;
	store_audit_of(store, &audit);
	err = password_set(store, o->set_password, o->rights);
	store_free(store);
	if (err)
		log_error("the password was not set: %s", strerror(-err));
	return err;
}

/* Files "new-..." are uploads that a crash interrupted; they may be deleted. */
static int make_upload_dir(const struct controller_conf *conf,
			   char path[CONF_PATH_BYTES])
{
	int err = controller_conf_stored(path, CONF_PATH_BYTES, conf,
					 APPIMAGE_DIR);

	if (err < 0)
		return err;
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	err = -errno;
	log_error("%s: %s", path, strerror(errno));
	return err;
}

static int start_http(struct controller *c, struct route_table tables[2],
		      char upload_dir[CONF_PATH_BYTES],
		      struct client_trust *agent_trust)
{
	static const struct http_upload uploads[] = {
		{"POST", "/appimages", true},
		{"POST", "/projects/:id/import", true},
		{"PUT", "/agent/leases/:id/artifacts/:name", false},
	};
	const struct controller_conf *conf = c->conf;
	char listen[CONF_TEXT_BYTES + 16];
	struct http_params params = {
		.controller = c,
		.database = c->database,
		.listen = listen,
		.public_url = conf->base_url[0] ? conf->base_url : NULL,
		.host_names = conf->host_names,
		.hsts_s = conf->hsts_s,
		.tables = tables,
		.table_count = 2,
		.body_bytes = (size_t)conf->body_limit,
		.json_depth = conf->json_depth,
		.uploads = uploads,
		.upload_count = sizeof(uploads) / sizeof(*uploads),
		.upload_dir = upload_dir,
		.upload_bytes = (size_t)conf->upload_limit,
		.rate_limit = conf->rate_limit,
		.rate_burst = conf->rate_burst,
		.connections = conf->connections,
		.per_address = conf->connections_per_address,
		.header_s = conf->header_timeout_s,
		.workers = conf->workers,
		.threads = conf->threads,
		.drain_ns = DRAIN_S * INT64_C(1000000000),
		.secure = controller_conf_tls(conf),
		.agent_trust = agent_trust,
	};
	struct http *http;
	int err;

	tables[0] = (struct route_table){
		.prefix = "/api/v2",
		.routes = api_routes,
		.count = api_route_count,
		.queries = api_queries,
		.query_count = api_query_count,
	};
	tables[1] = (struct route_table){
		.prefix = "",
		.routes = report_routes,
		.count = report_route_count,
		.error_page = error_page,
	};
	str_print(listen, sizeof(listen),
		  strchr(conf->listen, ':') ? "[%s]:%u" : "%s:%u", conf->listen,
		  (unsigned)conf->port);
	netlist_parse(&params.proxies, conf->trusted_proxies);
	err = make_upload_dir(conf, upload_dir);
	if (err == 0)
		err = http_start(&http, &params);
	if (err == 0)
		c->http = http;
	return err;
}

/* What the store needs before requests are served. */
static int begin_store(struct controller *c)
{
	struct store *store;
	int err = store_new(&store, c->database);

	if (err)
		return err;
	err = artifact_files_begin(c->conf, store,
				   database_is_alone(c->database));
	if (err == 0)
		err = configured_pool_begin(c->conf, store);
	store_free(store);
	return err;
}

/* What a reload may change. */
struct reload {
	const char *conf_path;
	const struct controller_conf *started; /* the configuration in force */
	struct conf_environment environment;
	struct tls *tls;                  /* NULL: plain HTTP */
	struct client_trust *agent_trust; /* NULL: no agent_ca_file */
};

/* SIGHUP: take the log level, the certificate and the authorities of agents again. What is wrong is said, and
 * stays as it is. */
static void on_reload(const struct reload *r)
{
	static struct controller_conf conf;
	struct conf_error error;

	service_reloading();
	if (r->tls && certificate_reload(r->tls, r->started) == 0)
		log_info("the certificate was read again");
	if (r->agent_trust && client_trust_reload(r->agent_trust) == 0)
		log_info("the authorities of agents were read again");
	if (conf_load_again(&conf, r->conf_path, &controller_conf_schema,
			    r->started, &r->environment, &error)) {
		log_error("not reloaded: %s", error.text);
	} else {
		log_level_set(conf.log_level);
		log_info("reloaded on SIGHUP");
	}
	service_ready();
}

/* Wait for a signal. Each watchdog interval shows meanwhile that this thread runs and
 * that nobody holds the HTTP server's locks. @return its number */
static int wait_for_signal(struct controller *c, const sigset_t *signals)
{
	int64_t interval_ms = service_watchdog_ms();
	const struct timespec interval = {
		.tv_sec = (time_t)(interval_ms / 1000),
		.tv_nsec = (long)(interval_ms % 1000) * 1000000,
	};
	struct http_counters counters;
	int number;

	for (;;) {
		number = interval_ms ? sigtimedwait(signals, NULL, &interval)
				     : sigwaitinfo(signals, NULL);
		if (number > 0)
			return number;
		if (errno == EAGAIN && controller_count(c, &counters))
			service_alive();
	}
}

static void on_announcement(void *arg)
{
	controller_wake_here(arg);
}

/* Start what is due without a request. */
static int follow(struct store *store, const struct controller_conf *conf,
		  int64_t now)
{
	int scheduled = schedule_follow(store, conf, now), searched;

	if (scheduled < 0)
		return scheduled;
	searched = capacity_follow(store, conf, now);
	return searched < 0 ? searched : scheduled | searched;
}

static int start_announcer(struct controller *c)
{
	int err = announcer_start(&c->announcer, c->conf->database,
				  on_announcement, c);

	if (err == 0 && c->announcer)
		c->announce_h = announcer_tell;
	return err;
}

/* Serve until a signal asks to stop. */
static int serve(struct controller *c, const sigset_t *signals,
		 struct reload *reload)
{
	const struct controller_conf *conf = c->conf;
	struct route_table tables[2];
	char uploads[CONF_PATH_BYTES];
	struct snapshot_service *snapshots;
	int number, err;

	err = begin_store(c);
	if (err == 0)
		err = database_share(c->database);
	if (err)
		return err;
	err = sessions_new(&c->sessions, c);
	if (err == 0)
		err = start_announcer(c);
	if (err)
		return err;
	err = snapshot_service_start(&snapshots, c->conf);
	if (err)
		return err;
	err = run_engine_start(c, follow);
	if (err) {
		snapshot_service_stop(snapshots);
		return err;
	}
	err = callback_sender_start(&c->callbacks, c);
	if (err == 0)
		err = remover_start(c);
	if (err == 0 && controller_conf_tls(conf))
		err = certificate_begin(&reload->tls, conf);
	if (err == 0 && conf->agent_ca_file[0])
		err = client_trust_new(&reload->agent_trust,
				       conf->agent_ca_file);
	if (err == 0)
		err = start_http(c, tables, uploads, reload->agent_trust);
	if (err) {
		run_engine_stop(c);
		remover_stop(c);
		c->callbacks = callback_sender_stop(c->callbacks);
		run_engine_free(c);
		snapshot_service_stop(snapshots);
		return err;
	}
	log_info("listening on %s", controller_address(c));
	service_ready();
	while ((number = wait_for_signal(c, signals)) == SIGHUP)
		on_reload(reload);
	log_info("stopping on %s", strsignal(number));
	service_stopping();
	snapshot_service_stop(snapshots);
	announcer_stop(c->announcer);
	run_engine_stop(c);
	c->callbacks = callback_sender_stop(c->callbacks);
	c->http = http_stop(c->http);
	remover_stop(c); /* after the requests, which poke it */
	run_engine_free(c);
	return 0;
}

/* serve(), and say what none of its parts says. */
static int serve_or_say(struct controller *c, const sigset_t *signals,
			struct reload *reload)
{
	const int err = serve(c, signals, reload);

	if (err == -EAGAIN)
		log_error("no thread can be started: raise TasksMax of the "
			  "service or ulimit -u of its user, or the memory "
			  "that it may have");
	return err;
}

/* Threads inherit the mask: the main thread alone takes the signals. */
static void block_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	static struct controller_conf conf;
	static struct conf_error conf_error;
	char variables[1024];
	struct controller c = {.conf = &conf, .http_ops = &http_ops};
	struct reload reload = {.started = &conf};
	sigset_t signals;
	struct options o;
	int err;

	core_dump_disable();
	err = read_options(&o, argc, argv);
	if (err)
		return err == 1 ? EXIT_SUCCESS : EXIT_USAGE;
	log_setup(LOG_LEVEL_INFO, "offhook-controller");
	reload.conf_path = o.conf_path;
	reload.environment = conf_environment_read(&controller_conf_schema);
	if (!o.check_health &&
	    conf_environment_list(&controller_conf_schema, variables,
				  sizeof(variables)))
		log_info("settings of the environment: %s", variables);
	err = controller_conf_load(&conf, o.conf_path, &conf_error);
	if (err) {
		log_error("%s", conf_error.text);
		return EXIT_USAGE;
	}
	if (o.check_config) {
		printf("%s: the configuration is in order\n", o.conf_path);
		return EXIT_SUCCESS;
	}
	if (o.check_health)
		return health_check(&conf) ? EXIT_FAILURE : EXIT_SUCCESS;
	log_setup(conf.log_level, "offhook-controller");
	block_signals(&signals);
	if (o.command)
		return o.command->run(&conf, &o.backup) ? EXIT_FAILURE
							: EXIT_SUCCESS;
	err = data_open(&conf, &c.secrets, &c.database);
	if (err == 0)
		err = o.create_key     ? create_key(&c, &o)
		      : o.set_password ? set_password(&c, &o)
				       : serve_or_say(&c, &signals, &reload);
	announcer_stop(c.announcer);
	announcer_free(c.announcer);
	tls_free(reload.tls);
	client_trust_free(reload.agent_trust);
	sessions_free(c.sessions);
	database_close(c.database);
	secrets_free(c.secrets);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
