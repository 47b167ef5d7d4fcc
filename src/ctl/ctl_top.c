/* SPDX-License-Identifier: Apache-2.0
 * camctl top: what goes on, on one screen, again and again: one query a refresh. Each section is what its SQL says, cut
 * to the room that there is; plain ANSI, no library. */
#include "common/clock.h"
#include "common/json.h"
#include "ctl/ctl.h"
#include "policy/backpressure.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

enum { COLUMNS_MAX = 12, ROWS_MAX = 30, WIDTH_MIN = 40, WIDTH_DEFAULT = 100, HEIGHT_DEFAULT = 60 };

/* Each yields objects; the names of their members, in order, are the columns. */
static const struct {
	const char *title, *name, *sql;
} sections[] = {
    {"HOSTS", "hosts",
	"SELECT host, level, cpu_percent AS \"cpu %\", memory_percent AS \"mem %\", swap_mb AS \"swap MB\","
	" sample_age_sec AS age, reason FROM camserver.health"},
    {"STREAMS", "streams",
	"SELECT stream_server_id AS server, total_units AS units, modal_budget AS budget, modal_usage AS used,"
	" modal_remaining AS free, active_modals AS leases FROM camserver.budget"},
    {"QUEUE", "queue",
	"SELECT kind, status AS state, jobs, oldest_age_sec AS \"oldest s\" FROM camserver.queue"
	" WHERE status IN ('queued', 'waiting', 'running', 'dead')"},
    {"NODES", "nodes",
	"SELECT name AS node, state, inflight AS \"under way\", max_inflight AS max, latency_ms AS \"ms\", requests,"
	" failures AS failed, base_url AS url FROM camserver.node_list"},
    {"POOLS", "pools",
	"SELECT name AS pool, state, capacity AS max, in_use AS \"in use\", idle, starting, waiting,"
	" starts_failed AS failed FROM camserver.pool_status"},
    {"LIMITS", "limits",
	"SELECT model, tokens, requests AS max, window_ms AS \"per ms\", running, concurrent AS \"of\", waiting,"
	" refused_per_minute AS \"refused/min\" FROM camserver.model_limits"
	" ORDER BY waiting DESC, running DESC, model"},
    {"LEASES", "leases",
	"SELECT user_id AS viewer, camera_id AS camera, quality, units, remaining_sec AS \"left s\","
	" heartbeat_age_sec AS \"heartbeat s\", state FROM camserver.live_leases"},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

struct screen {
	int width, height, lines;
	bool colour;
	FILE *out;
};

/* --- the query */

/* {"status": …, "dispatchers": n, "hosts": {"all": n, "rows": […]}, …} */
static char *statement(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		return NULL;
	fputs("SELECT json_build_object('status', camserver.system_status(), 'dispatchers', (SELECT count(*) FROM"
	      " camserver.dispatcher_list WHERE state = 'alive'), 'time', to_char(now(), 'HH24:MI:SS')",
	    f);
	for (size_t i = 0; i < SECTIONS; i++)
		fprintf(f,
		    ", '%s', (SELECT json_build_object('all', max(n), 'rows', json_agg(to_json(r) ORDER BY o)) FROM"
		    " (SELECT r, count(*) OVER () AS n, row_number() OVER () AS o FROM (%s) r LIMIT %d) x)",
		    sections[i].name, sections[i].sql, ROWS_MAX);
	fputs(")", f);
	fclose(f);
	return text;
}

/* --- the screen */

static void line_end(struct screen *s)
{
	fputs(s->colour ? "\033[K\n" : "\n", s->out);
	s->lines++;
}

/* Text cut or filled up to so many places; a wide character takes two. */
static void put(struct screen *s, const char *text, int places, bool right)
{
	mbstate_t state = {0};
	int used = 0;
	size_t len = 0;

	while (text[len] != '\0') {
		wchar_t c;
		size_t n = mbrtowc(&c, text + len, MB_CUR_MAX, &state);
		int w = n == (size_t)-1 || n == (size_t)-2 ? -1 : wcwidth(c);

		if (w < 0 || used + w > places)
			break;
		used += w;
		len += n;
	}
	fprintf(s->out, "%*s%.*s%*s", right ? places - used : 0, "", (int)len, text, right ? 0 : places - used, "");
}

static int width_of(const char *text)
{
	mbstate_t state = {0};
	int used = 0;

	while (*text != '\0') {
		wchar_t c;
		size_t n = mbrtowc(&c, text, MB_CUR_MAX, &state);
		int w = n == (size_t)-1 || n == (size_t)-2 ? -1 : wcwidth(c);

		if (w < 0)
			return used;
		used += w;
		text += n;
	}
	return used;
}

static const char *cell(struct json_object *row, const char *name, bool *ret_number)
{
	struct json_object *v;

	json_object_object_get_ex(row, name, &v);
	*ret_number = json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
	return v == NULL ? "" : json_object_get_string(v);
}

struct column {
	const char *name;
	int width;
	bool number;
};

static size_t columns_of(struct json_object *rows, struct column columns[COLUMNS_MAX])
{
	size_t n = 0;

	json_object_object_foreach(json_object_array_get_idx(rows, 0), name, ignored)
	{
		(void)ignored;
		if (n < COLUMNS_MAX)
			columns[n++] = (struct column){name, width_of(name), false};
	}
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		for (size_t c = 0; c < n; c++) {
			bool number;
			int width = width_of(cell(json_object_array_get_idx(rows, i), columns[c].name, &number));

			columns[c].width = width > columns[c].width ? width : columns[c].width;
			columns[c].number |= number;
		}
	return n;
}

/* One line of a table: the names (row NULL) or a row's values, as far as they fit. */
static void table_line(struct screen *s, const struct column *columns, size_t n, struct json_object *row)
{
	int left = s->width - 2;
	bool number;

	fputs(s->colour && row == NULL ? "\033[2m  " : "  ", s->out);
	for (size_t c = 0; c < n && left > 0; c++) {
		int places = columns[c].width < left ? columns[c].width : left;

		if (c + 1 == n && !columns[c].number && row != NULL) /* nothing to line up behind it */
			places = width_of(cell(row, columns[c].name, &number));
		places = places < left ? places : left;
		put(s, row == NULL ? columns[c].name : cell(row, columns[c].name, &number), places, columns[c].number);
		left -= places;
		if (left >= 2 && c + 1 < n) {
			fputs("  ", s->out);
			left -= 2;
		}
	}
	fputs(s->colour && row == NULL ? "\033[0m" : "", s->out);
	line_end(s);
}

/* max: lines that it may take, its title among them. */
static void section(struct screen *s, const char *title, struct json_object *data, int max)
{
	struct column columns[COLUMNS_MAX];
	struct json_object *rows = NULL;
	int64_t all = 0;
	size_t n, shown;

	json_object_object_get_ex(data, "rows", &rows);
	(void)json_get_int64(data, "all", &all, NULL);
	shown = rows == NULL ? 0 : json_object_array_length(rows);
	if (shown == 0 || max < 3)
		return;
	if ((int)shown > max - 2)
		shown = (size_t)max - 2;
	fprintf(s->out, s->colour ? "\033[1m%s\033[0m" : "%s", title);
	if ((int64_t)shown < all)
		fprintf(s->out, " %zu of %" PRId64, shown, all);
	line_end(s);
	n = columns_of(rows, columns);
	table_line(s, columns, n, NULL);
	for (size_t i = 0; i < shown; i++)
		table_line(s, columns, n, json_object_array_get_idx(rows, i));
}

static const char *paint(const struct screen *s, int badness)
{
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};

	return s->colour ? colours[badness] : "";
}

static void head(struct screen *s, struct json_object *data)
{
	struct backpressure_limits limits = backpressure_default_limits;
	struct json_object *status = NULL, *queue = NULL;
	const char *level = "?", *time = "", *plain = s->colour ? "\033[0m" : "";
	int64_t queued = 0, users = 0, left = 0, budget = 0, dispatchers = 0;
	bool healthy = false;
	struct backpressure b;

	json_object_object_get_ex(data, "status", &status);
	json_object_object_get_ex(status, "queue", &queue);
	(void)json_get_string(data, "time", &time, NULL);
	(void)json_get_int64(data, "dispatchers", &dispatchers, NULL);
	(void)json_get_bool(status, "healthy", &healthy, NULL);
	(void)json_get_string(status, "level", &level, NULL);
	(void)json_get_int64(status, "active_ui_users", &users, NULL);
	(void)json_get_int64(status, "modal_budget", &budget, NULL);
	(void)json_get_int64(status, "modal_budget_remaining", &left, NULL);
	(void)json_get_int64(queue, "queued", &queued, NULL);
	(void)json_get_int64(queue, "max", &limits.max, NULL);
	(void)json_get_double(queue, "warning_percent", &limits.warning_percent, NULL);
	(void)json_get_double(queue, "overload_percent", &limits.overload_percent, NULL);
	b = backpressure_judge(&limits, queued);
	fprintf(s->out, "camserver %s  %s%s (%s)%s", time, paint(s, healthy ? strcmp(level, "normal") != 0 : 2),
	    healthy ? "healthy" : "NOT HEALTHY", level, plain);
	line_end(s);
	fprintf(s->out, "queue %s%s, %" PRId64 " of %" PRId64 "%s  ", paint(s, (int)b.stage),
	    backpressure_stage_name(b.stage), queued, limits.max, plain);
	if (s->width < 80)
		line_end(s);
	fprintf(s->out, "units free %" PRId64 " of %" PRId64 "  viewers %" PRId64 "  %sdispatchers %" PRId64 "%s", left,
	    budget, users, paint(s, dispatchers > 0 ? 0 : 2), dispatchers, plain);
	line_end(s);
}

/* Every section gets what it needs while there is room; the last ones, which grow, share the rest. */
static void draw(struct screen *s, struct json_object *data)
{
	s->lines = 0;
	head(s, data);
	for (size_t i = 0; i < SECTIONS; i++) {
		struct json_object *part = NULL;
		int left = s->height - s->lines - 1, share = i + 1 < SECTIONS ? left / (int)(SECTIONS - i) + 2 : left;

		json_object_object_get_ex(data, sections[i].name, &part);
		section(s, sections[i].title, part, share < left ? share : left);
	}
}

/* --- the terminal */

static struct termios before;
static volatile sig_atomic_t raw, ending, resized;

/* Also from a signal handler: only what is safe there. */
static void restore(void)
{
	static const char text[] = "\033[?25h\033[?1049l";

	if (!raw)
		return;
	raw = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	if (write(STDOUT_FILENO, text, sizeof text - 1) < 0)
		return;
}

static void end_it(int sig)
{
	ending = sig;
}

static void crash(int sig)
{
	restore();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void resize(int sig)
{
	(void)sig;
	resized = 1;
}

/* Its own page, no cursor, keys as they come; whatever ends the program, the terminal is as it was. */
static int prepare(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT}, crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return -1;
	t = before;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = t.c_cc[VTIME] = 0;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		sigaction(ends[i], &(struct sigaction){.sa_handler = end_it}, NULL);
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		sigaction(crashes[i], &(struct sigaction){.sa_handler = crash}, NULL);
	sigaction(SIGWINCH, &(struct sigaction){.sa_handler = resize}, NULL);
	atexit(restore);
	raw = 1;
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
	fputs("\033[?1049h\033[?25l", stdout);
	return 0;
}

static void measure(struct screen *s)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0)
		return;
	s->width = w.ws_col < WIDTH_MIN ? WIDTH_MIN : w.ws_col;
	s->height = w.ws_row;
}

/* Waits for the next refresh; false: it is over. A key that is not q, or another size, refreshes now. */
static bool wait_for_next(int64_t until)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char key;

	while (!ending && !resized && clock_ms() < until) {
		if (poll(&in, 1, (int)(until - clock_ms())) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')
			return false;
		break;
	}
	resized = 0;
	return !ending;
}

static struct json_object *ask(struct ctl *ctl, const char *sql, struct err *e)
{
	PGresult *result = NULL;
	struct json_object *data = NULL;

	if (db_query(ctl->db, sql, 0, NULL, &result, e) == DB_OK) {
		data = json_tokener_parse(PQgetvalue(result, 0, 0));
		if (data == NULL)
			err_set(e, "out of memory");
	}
	PQclear(result);
	return data;
}

static void show(struct ctl *ctl, const char *sql, struct screen *s)
{
	struct err e;
	struct json_object *data = ask(ctl, sql, &e);

	measure(s);
	fputs("\033[H", s->out);
	if (data != NULL) {
		draw(s, data);
	} else { /* it may come back; what was there stays below */
		fprintf(s->out, "%s%.*s\033[0m", paint(s, 2), s->width, e.msg);
		line_end(s);
	}
	fprintf(s->out, "\033[J\033[2mq quits\033[0m");
	fflush(s->out);
	json_object_put(data);
}

static int once(struct ctl *ctl, const char *sql)
{
	struct screen s = {.width = WIDTH_DEFAULT, .height = HEIGHT_DEFAULT, .out = stdout};
	struct json_object *data;
	struct err e;

	data = ask(ctl, sql, &e);
	if (data == NULL) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return EXIT_FAILURE;
	}
	measure(&s);
	s.height = s.height < HEIGHT_DEFAULT ? HEIGHT_DEFAULT : s.height;
	if (ctl->json)
		printf("%s\n", json_object_to_json_string(data));
	else
		draw(&s, data);
	json_object_put(data);
	return EXIT_SUCCESS;
}

int ctl_top(struct ctl *ctl)
{
	struct screen s = {.width = WIDTH_DEFAULT, .height = HEIGHT_DEFAULT, .colour = true, .out = stdout};
	bool one = ctl_flag(ctl, "--once") || ctl->json;
	double interval = 2;
	char *sql = statement();
	int status = EXIT_FAILURE;

	if (sql == NULL || ctl_number(ctl, "--interval", 2, 0.2, 3600, &interval) < 0 || ctl_left(ctl, 0) < 0)
		goto out;
	if (one) {
		status = once(ctl, sql);
		goto out;
	}
	if (!isatty(STDOUT_FILENO) || prepare() < 0) {
		fprintf(stderr, "camctl: top wants a terminal; --once prints once\n");
		goto out;
	}
	do
		show(ctl, sql, &s);
	while (wait_for_next(clock_ms() + (int64_t)(interval * 1000)));
	restore();
	status = EXIT_SUCCESS;
out:
	free(sql);
	return status;
}
