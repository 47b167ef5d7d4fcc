/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/sam_template.h"

#include "common/file.h"
#include "common/ident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { FILE_BYTES_MAX = 4 * 1024 * 1024, CAPACITY_DEFAULT = 50, CAPACITY_MAX = 10000 };

/* The value of a mapping's key; NULL if node is no mapping or has none. */
static yaml_node_t *member(yaml_document_t *d, const yaml_node_t *node, const char *key)
{
	if (node == NULL || node->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(d, p->key);

		if (k != NULL && k->type == YAML_SCALAR_NODE && strcmp((const char *)k->data.scalar.value, key) == 0)
			return yaml_document_get_node(d, p->value);
	}
	return NULL;
}

/* A plain text: not one that CloudFormation would work out, such as !Sub or !Ref. */
static const char *plain(const yaml_node_t *node)
{
	if (node == NULL || node->type != YAML_SCALAR_NODE || (node->tag != NULL && node->tag[0] == '!'))
		return NULL;
	return (const char *)node->data.scalar.value;
}

static int read_capacity(const yaml_node_t *node, const char *name, long *ret, struct err *e)
{
	const char *text = plain(node);
	char *end = NULL;
	long n = 0;

	if (node == NULL)
		return 0;
	errno = 0;
	if (text != NULL)
		n = strtol(text, &end, 10);
	if (text == NULL || end == text || *end != '\0' || errno != 0 || n < 0 || n > CAPACITY_MAX)
		return err_set(e, "line %zu: ReservedConcurrentExecutions of %s must be a whole number from 0 to %d",
		    node->start_mark.line + 1, name, CAPACITY_MAX);
	*ret = n;
	return 0;
}

/* One resource; those of another type are none of ours. */
static int read_function(yaml_document_t *d, const char *logical, const yaml_node_t *resource,
    const yaml_node_t *globals, struct json_object *into, struct err *e)
{
	const char *type = plain(member(d, resource, "Type")), *name, *image;
	const yaml_node_t *properties = member(d, resource, "Properties"), *reserved;
	struct json_object *pool;
	long capacity = CAPACITY_DEFAULT;

	if (type == NULL || strcmp(type, "AWS::Serverless::Function") != 0)
		return 0;
	name = plain(member(d, properties, "FunctionName"));
	if (name == NULL)
		name = logical;
	if (!ident_valid(name))
		return err_set(e, "line %zu: \"%s\" cannot be a pool's name", resource->start_mark.line + 1, name);
	reserved = member(d, properties, "ReservedConcurrentExecutions");
	if (read_capacity(reserved != NULL ? reserved : member(d, globals, "ReservedConcurrentExecutions"), name,
		&capacity, e) < 0)
		return -1;
	pool = json_object_new_object();
	json_object_object_add(pool, "max_capacity", json_object_new_int64(capacity));
	image = plain(member(d, properties, "ImageUri"));
	if (image != NULL) {
		json_object_object_add(pool, "driver", json_object_new_string("docker"));
		json_object_object_add(pool, "image", json_object_new_string(image));
	}
	json_object_object_add(into, name, pool);
	return 0;
}

static int read_document(yaml_document_t *d, struct json_object *into, struct err *e)
{
	yaml_node_t *root = yaml_document_get_root_node(d), *resources = member(d, root, "Resources");
	const yaml_node_t *globals = member(d, member(d, root, "Globals"), "Function");

	if (resources == NULL || resources->type != YAML_MAPPING_NODE)
		return err_set(e, "there are no Resources in it; a SAM template is expected");
	for (yaml_node_pair_t *p = resources->data.mapping.pairs.start; p < resources->data.mapping.pairs.top; p++) {
		const char *logical = plain(yaml_document_get_node(d, p->key));

		if (logical != NULL &&
		    read_function(d, logical, yaml_document_get_node(d, p->value), globals, into, e) < 0)
			return -1;
	}
	return json_object_object_length(into) > 0 ? 0 : err_set(e, "there is no AWS::Serverless::Function in it");
}

struct json_object *sam_template_read(const char *path, struct err *e)
{
	size_t len;
	char *text = file_read_named(path, FILE_BYTES_MAX, &len, e);
	struct json_object *functions = json_object_new_object();
	yaml_document_t document;
	yaml_parser_t parser;
	struct err why = {""};
	int result = -1;

	if (text == NULL || functions == NULL || !yaml_parser_initialize(&parser))
		goto out;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (yaml_parser_load(&parser, &document)) {
		result = read_document(&document, functions, &why);
		yaml_document_delete(&document);
	} else {
		err_set(&why, "line %zu: %s", parser.problem_mark.line + 1,
		    parser.problem != NULL ? parser.problem : "not valid YAML");
	}
	yaml_parser_delete(&parser);
	if (result < 0)
		err_set(e, "%s: %s", path, why.msg);
out:
	free(text);
	if (result == 0)
		return functions;
	json_object_put(functions);
	return NULL;
}
