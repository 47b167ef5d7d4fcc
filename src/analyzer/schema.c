/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/schema.h"

#include "common/ident.h"
#include "common/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct schema_store {
	pthread_mutex_t lock;
	char version[SCHEMA_VERSION_MAX + 1];
	char *document;
};

struct schema_store *schema_new(void)
{
	struct schema_store *s = calloc(1, sizeof *s);

	if (s != NULL)
		pthread_mutex_init(&s->lock, NULL);
	return s;
}

void schema_free(struct schema_store *s)
{
	if (s == NULL)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s->document);
	free(s);
}

static int check_array(struct json_object *schema, const char *name, struct err *e)
{
	struct json_object *m;

	if (json_object_object_get_ex(schema, name, &m) && !json_object_is_type(m, json_type_array))
		return err_set(e, "\"schema.%s\" must be an array", name);
	return 0;
}

static int check(struct json_object *doc, const char **ret_version, struct err *e)
{
	struct json_object *schema;

	if (json_get_string(doc, "schema_version", ret_version, e) < 0)
		return -1;
	if (*ret_version == NULL || !ident_is_text(*ret_version, SCHEMA_VERSION_MAX))
		return err_set(e, "\"schema_version\" must be a text of 1 to %d bytes", SCHEMA_VERSION_MAX);
	if (!json_object_object_get_ex(doc, "schema", &schema) || !json_object_is_type(schema, json_type_object))
		return err_set(e, "\"schema\" must be an object");
	if (check_array(schema, "primary_events", e) < 0 || check_array(schema, "tag_groups", e) < 0 ||
	    check_array(schema, "tags", e) < 0)
		return -1;
	return 0;
}

int schema_set(
    struct schema_store *s, const char *text, size_t len, char ret_version[SCHEMA_VERSION_MAX + 1], struct err *e)
{
	struct json_object *doc = json_parse_object(text, len, e);
	const char *version = NULL;
	char *document = NULL;
	int status = -1;

	if (doc == NULL || check(doc, &version, e) < 0)
		goto out;
	document = strndup(text, len);
	if (document == NULL) {
		err_set(e, "out of memory");
		goto out;
	}
	pthread_mutex_lock(&s->lock);
	free(s->document);
	s->document = document;
	strcpy(s->version, version);
	pthread_mutex_unlock(&s->lock);
	strcpy(ret_version, version);
	status = 0;
out:
	json_object_put(doc);
	return status;
}

void schema_version(struct schema_store *s, char ret_version[SCHEMA_VERSION_MAX + 1])
{
	pthread_mutex_lock(&s->lock);
	strcpy(ret_version, s->version);
	pthread_mutex_unlock(&s->lock);
}

char *schema_document(struct schema_store *s)
{
	char *copy;

	pthread_mutex_lock(&s->lock);
	copy = s->document != NULL ? strdup(s->document) : NULL;
	pthread_mutex_unlock(&s->lock);
	return copy;
}
