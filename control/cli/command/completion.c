#include "control/cli/command/completion.h"

#include "base/str.h"
#include "control/cli/command/commands.h"
#include "control/cli/common/exit_code.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define OPTIONS_MAX 128 /* of a command; further ones are not completed */
#define TEXT_BYTES  80

/* ---- options: the lines of help that begin with two spaces and '-' ---- */

struct option_help {
	char name[32];         /* "--transport" */
	char value[48];        /* "udp|tcp|tls"; "": it takes none */
	char text[TEXT_BYTES]; /* "(default: udp)" */
};

struct option_list {
	struct option_help options[OPTIONS_MAX];
	size_t count;
};

static struct option_help *option_add(struct option_list *l, const char *name,
				      size_t len)
{
	struct option_help *o;

	for (size_t i = 0; i < l->count; i++)
		if (strlen(l->options[i].name) == len &&
		    strncmp(l->options[i].name, name, len) == 0)
			return NULL; /* the first page has the last word */
	if (l->count == OPTIONS_MAX || len >= sizeof(o->name))
		return NULL;
	o = &l->options[l->count++];
	*o = (struct option_help){.value = ""};
	str_print(o->name, sizeof(o->name), "%.*s", (int)len, name);
	return o;
}

/* Read "--json, --verbose    text" or "--user NAME  text". */
static void options_of_line(struct option_list *l, const char *line)
{
	size_t first = l->count;

	while (*line == '-') {
		size_t len = strcspn(line, " ,\n");
		struct option_help *o = option_add(l, line, len);

		line += len;
		if (line[0] == ' ' && line[1] != ' ' && line[1] != '(') {
			len = strcspn(++line, " ,\n");
			if (o)
				str_print(o->value, sizeof(o->value), "%.*s",
					  (int)len, line);
			line += len;
		}
		line += strspn(line, ", ");
	}
	for (size_t i = first; i < l->count; i++)
		str_print(l->options[i].text, TEXT_BYTES, "%.*s",
			  (int)strcspn(line, "\n"), line);
}

static void options_of_help(struct option_list *l, const char *help)
{
	while (help && *help) {
		size_t len = strcspn(help, "\n");

		if (strncmp(help, "  -", 3) == 0)
			options_of_line(l, help + 2);
		help += len + (help[len] == '\n');
	}
}

static void options_of_topic(struct option_list *l, const char *topic)
{
	const struct command *c = command_find(topic);

	if (c && c->group == COMMAND_TOPIC)
		options_of_help(l, c->help);
}

/* Read the pages that a page names as "offhook help account | media". */
static void options_of_pages(struct option_list *l, const char *help)
{
	const char *line = help ? strstr(help, "offhook help ") : NULL;
	char topic[32];

	if (!line)
		return;
	line += strlen("offhook help ");
	while (*line && *line != '\n') {
		size_t len = strcspn(line, " |\n");

		str_print(topic, sizeof(topic), "%.*s", (int)len, line);
		options_of_topic(l, topic);
		line += len;
		line += strspn(line, " |");
	}
}

static void options_find(struct option_list *l, const struct command *c,
			 const struct command_verb *v)
{
	l->count = 0;
	if (v) {
		options_of_help(l, v->options);
	} else if (!c->verbs) {
		options_of_help(l, c->help);
		options_of_pages(l, c->help);
	}
	if (command_has_shared_options(c))
		options_of_topic(l, "controller");
	options_of_line(l, "--help  explain it");
}

/* True if the value is one of a list: "udp|tcp|tls". */
static bool is_choice(const struct option_help *o)
{
	return strchr(o->value, '|') &&
	       !o->value[strspn(o->value,
				"abcdefghijklmnopqrstuvwxyz0123456789-|")];
}

/* ---- what all scripts print ---- */

static bool is_listed(const struct command *c)
{
	return c->group != COMMAND_HIDDEN && c->group != COMMAND_TOPIC;
}

/* True if the verb's first argument is a record with a name. */
static bool takes_name(const struct command *c, const struct command_verb *v)
{
	return c->names && (strncmp(v->arguments, "NAME", 4) == 0 ||
			    strncmp(v->arguments, "ID", 2) == 0);
}

/* Print in single quotes, for each of the shells. */
static void quoted(FILE *out, const char *before, const char *text)
{
	fprintf(out, "'%s", before);
	for (; *text; text++)
		fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'},
		      out);
	fputc('\'', out);
}

static void choices(FILE *out, const char *value)
{
	for (; *value; value++)
		fputc(*value == '|' ? ' ' : *value, out);
}

static void verb_names(FILE *out, const struct command *c)
{
	for (const struct command_verb *v = c->verbs; v && v->name; v++)
		fprintf(out, "%s%s", v == c->verbs ? "" : " ", v->name);
}

/* Call a printer for each command, with its verbs and without. */
static void each_node(FILE *out,
		      void (*print)(FILE *out, const struct command *c,
				    const struct command_verb *v))
{
	for (const struct command *c = command_table; c->name; c++) {
		if (!is_listed(c))
			continue;
		print(out, c, NULL);
		for (const struct command_verb *v = c->verbs; v && v->name; v++)
			print(out, c, v);
	}
}

/* Begin the branch of the shell's case for a command, or a verb of it. */
static void branch_begin(FILE *out, const struct command *c,
			 const struct command_verb *v)
{
	if (v)
		fprintf(out, "\t'%s %s')", c->name, v->name);
	else
		fprintf(out, "\t'%s '%s)", c->name, c->verbs ? "" : "*");
}

static void branch_end(FILE *out, const struct command *c,
		       const struct command_verb *v)
{
	if (v && takes_name(c, v))
		fprintf(out, " names=%s", c->name);
	fputs(" ;;\n", out);
}

/* ---- bash ---- */

static const char bash_begin[] =
	"# Completion of offhook in bash, made by `offhook completion bash`.\n"
	"_offhook()\n"
	"{\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"	local command= verb= words= options= names= values= count=0 i line\n"
	"	local shared=()\n"
	"\n"
	"	COMPREPLY=()\n"
	"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
	"		case ${COMP_WORDS[i]} in\n"
	"		--url|--key-file|--ca-file|--fingerprint|--profile)\n"
	"			shared+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i+1]}\")\n"
	"			((i++)) ;;\n"
	"		-*) ;;\n"
	"		*)\n"
	"			if ((count == 0)); then command=${COMP_WORDS[i]}\n"
	"			elif ((count == 1)); then verb=${COMP_WORDS[i]}\n"
	"			fi\n"
	"			((count++)) ;;\n"
	"		esac\n"
	"	done\n"
	"	case \"$command $verb\" in\n";

static const char bash_end[] =
	"	esac\n"
	"	if [[ $values ]]; then\n"
	"		COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
	"	elif [[ $cur == -* ]]; then\n"
	"		COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	"	elif [[ $words ]]; then\n"
	"		COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	"	elif [[ $names && $count == 2 ]]; then\n"
	"		while IFS= read -r line; do\n"
	"			printf -v line %q \"$line\"\n"
	"			[[ $line == \"$cur\"* ]] && COMPREPLY+=(\"$line\")\n"
	"		done < <(offhook names \"$names\" \"${shared[@]}\" \\\n"
	"			 2> /dev/null < /dev/null)\n"
	"	fi\n"
	"} &&\n"
	"complete -o default -F _offhook offhook\n";

static void command_names(FILE *out, bool topics)
{
	const char *space = "";

	for (const struct command *c = command_table; c->name; c++)
		if (is_listed(c) || (topics && c->group == COMMAND_TOPIC)) {
			fprintf(out, "%s%s", space, c->name);
			space = " ";
		}
}

static void bash_node(FILE *out, const struct command *c,
		      const struct command_verb *v)
{
	struct option_list l;

	options_find(&l, c, v);
	branch_begin(out, c, v);
	fputs(" options='", out);
	for (size_t i = 0; i < l.count; i++)
		fprintf(out, "%s%s", i ? " " : "", l.options[i].name);
	fputc('\'', out);
	if (!v && c->verbs) {
		fputs(" words='", out);
		verb_names(out, c);
		fputc('\'', out);
	}
	branch_end(out, c, v);
}

/* Print the values of options as branches of a case.
 * @param open, close  around the values */
static void values_of(FILE *out, const struct command *c,
		      const struct command_verb *v, const char *open,
		      const char *close)
{
	struct option_list l;

	if (c->verbs && !v)
		return;
	options_find(&l, c, v);
	for (size_t i = 0; i < l.count; i++)
		if (is_choice(&l.options[i])) {
			if (v)
				fprintf(out, "\t'%s %s %s') ", c->name, v->name,
					l.options[i].name);
			else /* an argument may stand for the verb */
				fprintf(out, "\t'%s '*' %s') ", c->name,
					l.options[i].name);
			fprintf(out, "values=%s", open);
			choices(out, l.options[i].value);
			fprintf(out, "%s ;;\n", close);
		}
}

static void bash_values(FILE *out, const struct command *c,
			const struct command_verb *v)
{
	values_of(out, c, v, "'", "'");
}

static void bash_script(FILE *out)
{
	fputs(bash_begin, out);
	fputs("\t' ') words='", out);
	command_names(out, false);
	fputs("' options='--help --version' ;;\n\t'help ') words='", out);
	command_names(out, true);
	fputs("' ;;\n", out);
	for (const struct command *c = command_table; c->name; c++)
		if (is_listed(c) && c->verbs) {
			fprintf(out, "\t'help %s') words='", c->name);
			verb_names(out, c);
			fputs("' ;;\n", out);
		}
	each_node(out, bash_node);
	fputs("\tesac\n\tcase \"$command $verb $prev\" in\n", out);
	each_node(out, bash_values);
	fputs(bash_end, out);
}

/* ---- zsh ---- */

static const char zsh_begin[] =
	"#compdef offhook\n"
	"# Completion of offhook in zsh, made by `offhook completion zsh`.\n"
	"_offhook()\n"
	"{\n"
	"	local command= verb= names= i\n"
	"	local -i count=0\n"
	"	local -a shared listed options values\n"
	"\n"
	"	for ((i = 2; i < CURRENT; i++)); do\n"
	"		case $words[i] in\n"
	"		--url|--key-file|--ca-file|--fingerprint|--profile)\n"
	"			shared+=($words[i] $words[i+1])\n"
	"			((i++)) ;;\n"
	"		-*) ;;\n"
	"		*)\n"
	"			if ((count == 0)); then command=$words[i]\n"
	"			elif ((count == 1)); then verb=$words[i]\n"
	"			fi\n"
	"			((count++)) ;;\n"
	"		esac\n"
	"	done\n"
	"	case \"$command $verb\" in\n";

static const char zsh_end[] =
	"	esac\n"
	"	if (($#values)); then\n"
	"		compadd -- $values\n"
	"	elif [[ $words[CURRENT] == -* ]]; then\n"
	"		_describe -o option options\n"
	"	elif (($#listed)); then\n"
	"		_describe command listed\n"
	"	elif [[ -n $names ]] && ((count == 2)); then\n"
	"		listed=(\"${(@f)$(offhook names $names $shared \\\n"
	"				 2> /dev/null < /dev/null)}\")\n"
	"		compadd -- $listed\n"
	"	else\n"
	"		_files\n"
	"	fi\n"
	"}\n"
	"if [[ $funcstack[1] == _offhook ]]; then\n"
	"	_offhook \"$@\"\n"
	"else\n"
	"	compdef _offhook offhook\n"
	"fi\n";

/* Print "'NAME:SUMMARY'". */
static void described(FILE *out, const char *name, const char *summary)
{
	char before[40];

	fputc(' ', out);
	str_print(before, sizeof(before), "%s:", name);
	quoted(out, before, summary);
}

static void zsh_verbs(FILE *out, const struct command *c)
{
	fputs(" listed=(", out);
	for (const struct command_verb *v = c->verbs; v && v->name; v++)
		described(out, v->name, v->summary);
	fputc(')', out);
}

static void zsh_commands(FILE *out, bool topics)
{
	fputs(" listed=(", out);
	for (const struct command *c = command_table; c->name; c++)
		if (is_listed(c) || (topics && c->group == COMMAND_TOPIC))
			described(out, c->name, c->summary);
	fputc(')', out);
}

static void zsh_node(FILE *out, const struct command *c,
		     const struct command_verb *v)
{
	struct option_list l;

	options_find(&l, c, v);
	branch_begin(out, c, v);
	fputs(" options=(", out);
	for (size_t i = 0; i < l.count; i++)
		described(out, l.options[i].name, l.options[i].text);
	fputc(')', out);
	if (!v && c->verbs)
		zsh_verbs(out, c);
	branch_end(out, c, v);
}

static void zsh_values(FILE *out, const struct command *c,
		       const struct command_verb *v)
{
	values_of(out, c, v, "(", ")");
}

static void zsh_script(FILE *out)
{
	fputs(zsh_begin, out);
	fputs("\t' ')", out);
	zsh_commands(out, false);
	fputs(" options=('--help:explain it' '--version:of offhook') ;;\n"
	      "\t'help ')",
	      out);
	zsh_commands(out, true);
	fputs(" ;;\n", out);
	for (const struct command *c = command_table; c->name; c++)
		if (is_listed(c) && c->verbs) {
			fprintf(out, "\t'help %s')", c->name);
			zsh_verbs(out, c);
			fputs(" ;;\n", out);
		}
	each_node(out, zsh_node);
	fputs("\tesac\n\tcase \"$command $verb $words[CURRENT-1]\" in\n", out);
	each_node(out, zsh_values);
	fputs(zsh_end, out);
}

/* ---- fish ---- */

static const char fish_begin[] =
	"# Completion of offhook in fish, made by `offhook completion fish`.\n"
	"function __offhook_words\n"
	"	set -l skip no\n"
	"	for word in (commandline -opc)[2..-1]\n"
	"		if test $skip = yes\n"
	"			set skip no\n"
	"		else if contains -- $word --url --key-file --ca-file --fingerprint --profile\n"
	"			set skip yes\n"
	"		else if not string match -q -- '-*' $word\n"
	"			echo $word\n"
	"		end\n"
	"	end\n"
	"end\n"
	"# True if exactly these words stand before the cursor.\n"
	"function __offhook_at\n"
	"	set -l words (__offhook_words)\n"
	"	test \"$words\" = \"$argv\"\n"
	"end\n"
	"# True if the words before the cursor begin with these.\n"
	"function __offhook_in\n"
	"	set -l words (__offhook_words)\n"
	"	set -l last (count $argv)\n"
	"	test \"$words[1..$last]\" = \"$argv\"\n"
	"end\n"
	"function __offhook_names\n"
	"	set -l shared\n"
	"	set -l take no\n"
	"	for word in (commandline -opc)[2..-1]\n"
	"		if test $take = yes\n"
	"			set -a shared $word\n"
	"			set take no\n"
	"		else if contains -- $word --url --key-file --ca-file --fingerprint --profile\n"
	"			set -a shared $word\n"
	"			set take yes\n"
	"		end\n"
	"	end\n"
	"	offhook names $argv[1] $shared 2> /dev/null < /dev/null\n"
	"end\n";

/* Begin a line: complete where the words are "COMMAND [VERB]". */
static void fish_where(FILE *out, const char *condition, const char *command,
		       const char *verb)
{
	fprintf(out, "complete -c offhook -n '%s%s%s%s%s'", condition,
		command ? " " : "", command ? command : "", verb ? " " : "",
		verb ? verb : "");
}

static void fish_word(FILE *out, const char *name, const char *summary)
{
	fprintf(out, " -f -a %s -d ", name);
	quoted(out, "", summary);
	fputc('\n', out);
}

static void fish_option(FILE *out, const struct option_help *o)
{
	const char *name = o->name + strspn(o->name, "-");

	fprintf(out, " -%c %s", o->name[1] == '-' ? 'l' : 's', name);
	if (is_choice(o)) {
		fputs(" -x -a '", out);
		choices(out, o->value);
		fputc('\'', out);
	} else if (o->value[0]) {
		fputs(" -r", out);
	}
	fputs(" -d ", out);
	quoted(out, "", o->text);
	fputc('\n', out);
}

static void fish_node(FILE *out, const struct command *c,
		      const struct command_verb *v)
{
	struct option_list l;

	if (v) {
		fish_where(out, "__offhook_at", c->name, NULL);
		fish_word(out, v->name, v->summary);
		fish_where(out, "__offhook_at help", c->name, NULL);
		fish_word(out, v->name, v->summary);
	} else {
		fish_where(out, "__offhook_at", NULL, NULL);
		fish_word(out, c->name, c->summary);
		fish_where(out, "__offhook_at help", NULL, NULL);
		fish_word(out, c->name, c->summary);
	}
	if (v && takes_name(c, v)) {
		fish_where(out, "__offhook_at", c->name, v->name);
		fprintf(out, " -f -a '(__offhook_names %s)'\n", c->name);
	}
	if (c->verbs && !v)
		return;
	options_find(&l, c, v);
	for (size_t i = 0; i < l.count; i++) {
		fish_where(out, "__offhook_in", c->name, v ? v->name : NULL);
		fish_option(out, &l.options[i]);
	}
}

static void fish_script(FILE *out)
{
	fputs(fish_begin, out);
	each_node(out, fish_node);
	for (const struct command *c = command_table; c->name; c++)
		if (c->group == COMMAND_TOPIC) {
			fish_where(out, "__offhook_at help", NULL, NULL);
			fish_word(out, c->name, c->summary);
		}
}

/* ---- the commands ---- */

static const struct {
	const char *shell;
	void (*print)(FILE *out);
} scripts[] = {
	{"bash", bash_script},
	{"zsh", zsh_script},
	{"fish", fish_script},
};

/* Print the script of a shell: "bash", "zsh" or "fish".
 * @return 0; -EINVAL: another shell, nothing was printed */
static int completion_print(FILE *out, const char *shell)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		if (strcmp(scripts[i].shell, shell) == 0) {
			scripts[i].print(out);
			return 0;
		}
	return -EINVAL;
}

int completion_main(int argc, char **argv)
{
	if (argc != 2) {
		command_help(stderr, command_find(argv[0]), NULL);
		return CLI_EXIT_USAGE;
	}
	if (completion_print(stdout, argv[1]))
		return command_unknown(command_find(argv[0]), argv[1]);
	return CLI_EXIT_OK;
}
