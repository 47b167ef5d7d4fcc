/* SPDX-License-Identifier: Apache-2.0
 * camctl man and camctl completion, for the build: what the tables of commands and options say, as parts of the man
 * pages and as bash completion. Not listed by --help. */
#include "ctl/ctl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text as roff takes it: backslashes and hyphens escaped, line breaks and runs of blanks as one blank, and no line that
 * begins with a control character. */
static void put_roff(const char *text)
{
	bool blank = false;

	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text != '\0'; text++) {
		if (isspace((unsigned char)*text)) {
			blank = true;
			continue;
		}
		if (blank)
			putchar(' ');
		blank = false;
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

static void put_commands(void)
{
	for (size_t i = 0; i < ctl_command_count; i++) {
		const struct ctl_command *c = &ctl_commands[i];

		if (*c->about == '\0')
			continue;
		printf(".TP\n\\fB");
		put_roff(c->words);
		printf("\\fR ");
		put_roff(c->usage);
		putchar('\n');
		put_roff(c->about);
		printf(".\n");
	}
}

static void put_range(const struct conf_option *o)
{
	switch (o->type) {
	case CONF_INT:
		printf("A whole number from %ld to %ld.\n", o->min, o->max);
		break;
	case CONF_SEC:
		printf("Seconds, from %ld to %ld; decimals are allowed.\n", o->min, o->max);
		break;
	case CONF_BOOL:
		printf("yes or no.\n");
		break;
	case CONF_CHOICE:
		printf("One of ");
		for (const char *p = o->choices; *p != '\0'; p++)
			if (*p == '|')
				fputs(", ", stdout);
			else
				putchar(*p);
		printf(".\n");
		break;
	case CONF_PATH:
		printf("An absolute path.\n");
		break;
	case CONF_TEXT:
	case CONF_URL:
		break;
	}
}

static void put_options(void)
{
	for (const struct conf_option *o = conf_options; o->name != NULL; o++) {
		printf(".TP\n\\fB%s\\fR", o->name);
		if (*o->fallback != '\0') {
			printf(" (default: ");
			put_roff(o->fallback);
			putchar(')');
		}
		putchar('\n');
		put_roff(o->help);
		printf(".\n");
		put_range(o);
	}
}

int ctl_man(struct ctl *ctl)
{
	if (strcmp(ctl->argv[0], "commands") == 0)
		put_commands();
	else if (strcmp(ctl->argv[0], "options") == 0)
		put_options();
	else
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

/* The options in a usage, each with the words that it takes if those are given, as --role=viewer,ingest,operator. */
static void put_flags(const char *usage)
{
	for (const char *p = usage; (p = strstr(p, "--")) != NULL;) {
		size_t len = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz-") + 2;
		const char *value = p[len] == ' ' ? p + len + 1 : "";
		size_t words = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789|");

		printf(" %.*s", (int)len, p);
		if (words > 0 && memchr(value, '|', words) != NULL) {
			putchar('=');
			for (size_t i = 0; i < words; i++)
				putchar(value[i] == '|' ? ',' : value[i]);
		}
		p += len;
	}
}

int ctl_completion(struct ctl *ctl)
{
	(void)ctl;
	printf("# bash completion for camctl, made from its tables of commands and options\n"
	       "_camctl_commands='\n");
	for (size_t i = 0; i < ctl_command_count; i++) {
		if (*ctl_commands[i].about == '\0')
			continue;
		printf("%s:", ctl_commands[i].words);
		put_flags(ctl_commands[i].usage);
		putchar('\n');
	}
	printf("'\n_camctl_options='");
	for (const struct conf_option *o = conf_options; o->name != NULL; o++)
		printf("%s%s=", o == conf_options ? "" : " ", o->name);
	printf("'\n\n"
	       "_camctl() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} typed= candidates= line words "
	       "flags f i\n"
	       "\tCOMPREPLY=()\n"
	       "\tcase $prev in\n"
	       "\t-c | --config) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
	       "\t-o) COMPREPLY=($(compgen -W \"$_camctl_options\" -- \"$cur\")); compopt -o nospace 2>/dev/null; "
	       "return ;;\n"
	       "\tesac\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\tcase ${COMP_WORDS[i]} in\n"
	       "\t\t-c | --config | -o) ((i++)) ;;\n"
	       "\t\t-*) ;;\n"
	       "\t\t*) typed=\"$typed${COMP_WORDS[i]} \" ;;\n"
	       "\t\tesac\n"
	       "\tdone\n"
	       "\twhile IFS=: read -r words flags; do\n"
	       "\t\t[ -n \"$words\" ] || continue\n"
	       "\t\tcase \"$words \" in \"$typed\"?*) line=${words#\"$typed\"}; candidates=\"$candidates ${line%%%% "
	       "*}\" ;; esac\n"
	       "\t\tcase $typed in \"$words \"*)\n"
	       "\t\t\tfor f in $flags --help; do\n"
	       "\t\t\t\tif [ \"$prev\" = \"${f%%%%=*}\" ] && [ \"$f\" != \"$prev\" ]; then\n"
	       "\t\t\t\t\tf=${f#*=}; COMPREPLY=($(compgen -W \"${f//,/ }\" -- \"$cur\")); return\n"
	       "\t\t\t\tfi\n"
	       "\t\t\t\tcandidates=\"$candidates ${f%%%%=*}\"\n"
	       "\t\t\tdone ;;\n"
	       "\t\tesac\n"
	       "\tdone <<<\"$_camctl_commands\"\n"
	       "\t[ -n \"$typed\" ] || candidates=\"$candidates -c -o --help --version\"\n"
	       "\tCOMPREPLY=($(compgen -W \"$candidates\" -- \"$cur\"))\n"
	       "\t[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
	       "}\n"
	       "complete -o filenames -F _camctl camctl\n");
	return EXIT_SUCCESS;
}
