/*
 * graph.h: WordNet as a directed graph. A node is a synset, a set of words of one meaning; an edge
 * is a pointer of any kind from one to another.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include <stddef.h>
#include <stdint.h>

struct graph {
    size_t nodes, edges;
    size_t *first;    /* nodes + 1: where the edges of each node begin */
    uint32_t *target; /* edges */
    char **word;      /* the first word of each node */
};

/* Reads data.noun, data.verb, data.adj and data.adv of a folder; parallel pointers stay parallel
 * edges. NULL: *error has the cause and the remedy. */
struct graph *read_graph(const char *folder, const char **error);

void free_graph(struct graph *g);

#endif
