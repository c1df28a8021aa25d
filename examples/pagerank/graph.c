/*
 * graph.c: reads WordNet's data files. A line that does not start with a space is a
 * synset, in fields with a space between them:
 *
 *   offset file type words(hex) word id ... pointers (symbol offset type where) ... | gloss
 *
 * The offset is the line's position in its file in bytes. Pointers name the target synset by its
 * offset and its type, which selects the file.
 */
#define _POSIX_C_SOURCE 200809L /* getline, strdup, strtok_r */

#include "graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4, PATH = 4096 };

static const char *const names[FILES] = {"noun", "verb", "adj", "adv"};

/* The file with the synsets of a type, or -1. Satellite adjectives (s) are in the file of
 * adjectives. */
static int file_of(char type)
{
    switch (type) {
    case 'n':
        return 0;
    case 'v':
        return 1;
    case 'a':
    case 's':
        return 2;
    case 'r':
        return 3;
    }
    return -1;
}

/* The graph while it is read. */
struct builder {
    struct graph *g;
    uint32_t *offset;        /* of each node's line, which grows within each file */
    size_t begin[FILES + 1]; /* the first node of each file */
    uint64_t *names;         /* of each edge's target: the file and the offset */
    size_t node_room, edge_room;
};

static void *larger(void *p, size_t count, size_t size)
{
    void *q = realloc(p, count * size);
    if (q == NULL)
        abort(); /* the whole graph has a few megabytes */
    return q;
}

static void add_edge(struct builder *b, int file, unsigned long offset)
{
    if (b->g->edges == b->edge_room) {
        b->edge_room = 2 * b->edge_room + 1024;
        b->names = larger(b->names, b->edge_room, sizeof *b->names);
    }
    b->names[b->g->edges++] = (uint64_t)file << 32 | offset;
}

static void add_node(struct builder *b, unsigned long offset, const char *word)
{
    struct graph *g = b->g;
    if (g->nodes + 1 >= b->node_room) { /* first needs one more element than there are nodes */
        b->node_room = 2 * b->node_room + 1024;
        g->first = larger(g->first, b->node_room, sizeof *g->first);
        g->word = larger(g->word, b->node_room, sizeof *g->word);
        b->offset = larger(b->offset, b->node_room, sizeof *b->offset);
    }
    g->first[g->nodes] = g->edges;
    g->word[g->nodes] = strdup(word);
    b->offset[g->nodes++] = (uint32_t)offset;
}

/* Adds the synset of a line as a node, and its pointers as edges. false: the line does not follow
 * the format. */
static bool add_line(struct builder *b, char *line)
{
    char *rest = NULL, *field = strtok_r(line, " ", &rest), *first = NULL;
    if (field == NULL)
        return false;
    unsigned long offset = strtoul(field, NULL, 10);
    for (int skip = 0; skip < 3; skip++) /* file, type, number of words */
        if ((field = strtok_r(NULL, " ", &rest)) == NULL)
            return false;
    for (unsigned long i = 2 * strtoul(field, NULL, 16); i > 0; i--) { /* word and id */
        if ((field = strtok_r(NULL, " ", &rest)) == NULL)
            return false;
        first = first == NULL ? field : first;
    }
    if (first == NULL || (field = strtok_r(NULL, " ", &rest)) == NULL)
        return false;
    add_node(b, offset, first);
    for (unsigned long i = strtoul(field, NULL, 10); i > 0; i--) {
        char *to, *type;
        if (strtok_r(NULL, " ", &rest) == NULL || (to = strtok_r(NULL, " ", &rest)) == NULL ||
            (type = strtok_r(NULL, " ", &rest)) == NULL || strtok_r(NULL, " ", &rest) == NULL ||
            file_of(*type) < 0)
            return false;
        add_edge(b, file_of(*type), strtoul(to, NULL, 10));
    }
    return true;
}

/* Adds all synsets of a file. Returns NULL, or the cause and the remedy. */
static const char *add_file(struct builder *b, const char *folder, const char *name)
{
    char path[PATH], *line = NULL;
    size_t room = 0;
    bool good = true;
    snprintf(path, sizeof path, "%s/data.%s", folder, name);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return "read WordNet: a file is missing (apt-get install wordnet-base, or name its "
               "folder)";
    while (good && getline(&line, &room, f) > 0)
        good = line[0] == ' ' || add_line(b, line);
    free(line);
    good = good && !ferror(f);
    fclose(f);
    return good ? NULL : "read WordNet: a line is not as its format says (install it anew)";
}

/* Sets the target of each edge: the node at the offset that the pointer names, by a binary search
 * in the nodes of its file. false: there is no such node. */
static bool resolve(struct builder *b)
{
    struct graph *g = b->g;
    g->target = larger(NULL, g->edges + 1, sizeof *g->target);
    for (size_t e = 0; e < g->edges; e++) {
        uint32_t offset = (uint32_t)b->names[e];
        size_t low = b->begin[b->names[e] >> 32], end = b->begin[(b->names[e] >> 32) + 1];
        for (size_t high = end; low < high;) {
            size_t middle = low + (high - low) / 2;
            if (b->offset[middle] < offset)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == end || b->offset[low] != offset)
            return false;
        g->target[e] = (uint32_t)low;
    }
    return true;
}

struct graph *read_graph(const char *folder, const char **error)
{
    struct builder b = {.g = calloc(1, sizeof *b.g)};
    if (b.g == NULL)
        abort();
    *error = NULL;
    for (int file = 0; file < FILES && *error == NULL; file++) {
        *error = add_file(&b, folder, names[file]);
        b.begin[file + 1] = b.g->nodes;
    }
    if (*error == NULL && b.g->nodes == 0)
        *error = "read WordNet: it has no synsets (install it anew)";
    if (*error == NULL) {
        b.g->first[b.g->nodes] = b.g->edges;
        if (!resolve(&b))
            *error = "read WordNet: a pointer leads nowhere (install it anew)";
    }
    free(b.names);
    free(b.offset);
    if (*error == NULL)
        return b.g;
    free_graph(b.g);
    return NULL;
}

void free_graph(struct graph *g)
{
    for (size_t i = 0; i < g->nodes; i++)
        free(g->word[i]);
    free(g->word);
    free(g->target);
    free(g->first);
    free(g);
}
