/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/message.h"

#include "common/ident.h"
#include "common/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLACK_HEADER_MAX = 140, SLACK_TEXT_MAX = 2900, SEVERITIES = 4 };

static const struct {
	const char *name, *ja, *en;
} kinds[] = {
    {"human", "人物", "person"},
    {"animal", "動物", "animal"},
    {"vehicle", "車両", "vehicle"},
    {"hazard", "危険", "hazard"},
    {"camera_issue", "カメラ異常", "camera trouble"},
    {"object_missing", "物品なくなり", "missing object"},
    {"unknown", "不明", "unknown"},
};

static const char *const severities[SEVERITIES][2] = {
    {"情報", "Info"}, {"注意", "Notice"}, {"警告", "Warning"}, {"緊急", "Emergency"}};

static const char *text_of(struct json_object *o, const char *name)
{
	const char *text = "";

	(void)json_get_string(o, name, &text, NULL);
	return text;
}

static int64_t number_of(struct json_object *o, const char *name)
{
	int64_t n = 0;

	(void)json_get_int64(o, name, &n, NULL);
	return n;
}

static struct json_object *list_of(struct json_object *o, const char *name)
{
	struct json_object *list = NULL;

	return json_object_object_get_ex(o, name, &list) && json_object_is_type(list, json_type_array) ? list : NULL;
}

static size_t length(struct json_object *list)
{
	return list != NULL ? json_object_array_length(list) : 0;
}

static const char *kind_name(const char *primary_event, bool english)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, primary_event) == 0)
			return english ? kinds[i].en : kinds[i].ja;
	return primary_event;
}

static const char *severity_name(int64_t severity, bool english)
{
	return severities[severity >= 0 && severity < SEVERITIES ? severity : SEVERITIES - 1][english];
}

static const char *place_of(struct json_object *o)
{
	const char *name = text_of(o, "display_name");

	return *name != '\0' ? name : text_of(o, "camera_id");
}

static void add_tags(struct buf *b, struct json_object *tags, bool english)
{
	for (size_t i = 0; i < length(tags); i++) {
		struct json_object *tag = json_object_array_get_idx(tags, i);
		const char *label = english ? "" : text_of(tag, "label_ja");

		buf_printf(b, "%s%s", i > 0 ? ", " : "", *label != '\0' ? label : text_of(tag, "tag_id"));
	}
}

static void make_event(struct message *m, struct json_object *f, bool english)
{
	const char *label = text_of(f, "location_label");

	snprintf(m->title, sizeof m->title, "[%s] %s: %s", severity_name(number_of(f, "severity"), english),
	    place_of(f), kind_name(text_of(f, "primary_event"), english));
	if (*label != '\0')
		buf_printf(&m->text, "%s: %s\n", english ? "Place" : "場所", label);
	buf_printf(&m->text, "%s: %s\n", english ? "Time" : "時刻", text_of(f, "captured_at"));
	if (length(list_of(f, "tags")) > 0) {
		buf_printf(&m->text, "%s: ", english ? "Seen" : "検知");
		add_tags(&m->text, list_of(f, "tags"), english);
		buf_printf(&m->text, "\n");
	}
	if (number_of(f, "count") > 1)
		buf_printf(&m->text, english ? "Frames: %lld\n" : "枚数: %lld\n", (long long)number_of(f, "count"));
}

static void make_summary(struct message *m, struct json_object *f, bool english)
{
	struct json_object *items = list_of(f, "items");

	snprintf(m->title, sizeof m->title,
	    english ? "[%s] %lld notifications could not be delivered in time"
		    : "[%s] 遅れて届いた通知 %lld 件のまとめ",
	    severity_name(number_of(f, "severity"), english), (long long)number_of(f, "total"));
	for (size_t i = 0; i < length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		buf_printf(&m->text, "%s  [%s] %s: %s", text_of(item, "captured_at"),
		    severity_name(number_of(item, "severity"), english), place_of(item),
		    kind_name(text_of(item, "primary_event"), english));
		if (length(list_of(item, "tags")) > 0) {
			buf_printf(&m->text, " (");
			add_tags(&m->text, list_of(item, "tags"), english);
			buf_printf(&m->text, ")");
		}
		buf_printf(&m->text, "\n");
	}
}

static void make_daily(struct message *m, struct json_object *f, bool english)
{
	struct json_object *items = list_of(f, "items");

	snprintf(m->title, sizeof m->title, english ? "Daily summary: %lld events" : "日次まとめ: イベント %lld 件",
	    (long long)number_of(f, "total"));
	buf_printf(&m->text, "%s - %s\n", text_of(f, "since"), text_of(f, "until"));
	for (size_t i = 0; i < length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		buf_printf(&m->text, "%s: %s %lld [%s]\n", place_of(item),
		    kind_name(text_of(item, "primary_event"), english), (long long)number_of(item, "events"),
		    severity_name(number_of(item, "severity"), english));
	}
}

void message_make(struct message *m, struct json_object *facts, const char *link)
{
	bool english = strcmp(text_of(facts, "language"), "en") == 0;
	const char *kind = text_of(facts, "kind");

	*m = (struct message){.link = link};
	buf_init(&m->text, MESSAGE_TEXT_MAX);
	if (strcmp(kind, "event") == 0)
		make_event(m, facts, english);
	else if (strcmp(kind, "summary") == 0)
		make_summary(m, facts, english);
	else if (strcmp(kind, "daily") == 0)
		make_daily(m, facts, english);
	else
		snprintf(m->title, sizeof m->title, "%s",
		    english ? "camserver: this is a test" : "camserver: テスト通知です");
	/* A name that was cut in the middle of a character. */
	ident_clean(m->title);
}

void message_free(struct message *m)
{
	buf_free(&m->text);
}

static void add_text(struct json_object *o, const char *name, const char *text)
{
	json_object_object_add(o, name, json_object_new_string(text));
}

/* The rest is between the database and the dispatcher. */
static bool is_told(const char *fact)
{
	static const char *const internal[] = {"channel", "language", "link_sec", "archive_path"};

	for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
		if (strcmp(fact, internal[i]) == 0)
			return false;
	return true;
}

static struct json_object *told_of(struct json_object *facts)
{
	struct json_object *o = json_object_new_object();

	if (!json_object_is_type(facts, json_type_object))
		return o;
	json_object_object_foreach(facts, name, value)
	{
		if (is_told(name))
			json_object_object_add(o, name, json_object_get(value));
	}
	return o;
}

struct json_object *message_webhook(const struct message *m, struct json_object *facts)
{
	struct json_object *o = told_of(facts), *items = list_of(facts, "items"), *told = json_object_new_array();

	for (size_t i = 0; i < length(items); i++)
		json_object_array_add(told, told_of(json_object_array_get_idx(items, i)));
	if (items != NULL)
		json_object_object_add(o, "items", told);
	else
		json_object_put(told);
	add_text(o, "title", m->title);
	add_text(o, "text", m->text.data);
	if (m->link != NULL)
		add_text(o, "image_url", m->link);
	return o;
}

/* &, < and > as Slack and HTML want them. */
static void add_escaped(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++) {
		const char *entity = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;

		if (entity != NULL)
			buf_printf(b, "%s", entity);
		else if (*text == '"')
			buf_printf(b, "&quot;");
		else
			buf_append(b, text, 1);
	}
}

/* Cut to so many bytes, at a character's end. */
static struct json_object *cut(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len > max)
		for (len = max; len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80;)
			len--;
	return json_object_new_string_len(text, (int)len);
}

static struct json_object *slack_block(const char *type, const char *text_type, const char *text, size_t max)
{
	struct json_object *block = json_object_new_object(), *inner = json_object_new_object();

	add_text(block, "type", type);
	add_text(inner, "type", text_type);
	json_object_object_add(inner, "text", cut(text, max));
	json_object_object_add(block, "text", inner);
	return block;
}

struct json_object *message_slack(const struct message *m)
{
	struct json_object *o = json_object_new_object(), *blocks = json_object_new_array();
	struct buf safe;

	buf_init(&safe, 2 * MESSAGE_TEXT_MAX);
	add_escaped(&safe, m->title);
	add_text(o, "text", safe.data);
	json_object_array_add(blocks, slack_block("header", "plain_text", m->title, SLACK_HEADER_MAX));
	buf_reset(&safe);
	add_escaped(&safe, m->text.data);
	if (safe.len > 0)
		json_object_array_add(blocks, slack_block("section", "mrkdwn", safe.data, SLACK_TEXT_MAX));
	if (m->link != NULL) {
		struct json_object *image = json_object_new_object();

		add_text(image, "type", "image");
		add_text(image, "image_url", m->link);
		json_object_object_add(image, "alt_text", cut(m->title, SLACK_HEADER_MAX));
		json_object_array_add(blocks, image);
	}
	json_object_object_add(o, "blocks", blocks);
	buf_free(&safe);
	return o;
}

char *message_html(const struct message *m, bool has_picture)
{
	struct buf html;
	char *text = NULL;

	buf_init(&html, 4 * MESSAGE_TEXT_MAX);
	buf_printf(&html, "<!DOCTYPE html><html><body><h3>");
	add_escaped(&html, m->title);
	buf_printf(&html, "</h3><pre>");
	add_escaped(&html, m->text.data);
	buf_printf(&html, "</pre>");
	if (has_picture)
		buf_printf(&html, "<p><img src=\"cid:frame\" alt=\"\" style=\"max-width:100%%\"></p>");
	if (m->link != NULL) {
		buf_printf(&html, "<p><a href=\"");
		add_escaped(&html, m->link);
		buf_printf(&html, "\">");
		add_escaped(&html, m->link);
		buf_printf(&html, "</a></p>");
	}
	buf_printf(&html, "</body></html>\n");
	if (!html.failed)
		text = strdup(html.data);
	buf_free(&html);
	return text;
}
