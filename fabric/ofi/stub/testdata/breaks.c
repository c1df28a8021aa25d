/*
 * breaks.c: a program that breaks a provider's rules, one at a time: breaks WHAT [FABRIC]. It
 * says in one line what came of it, the name of an error or what else there is to see; the test
 * has the answer that is due, and another without the rule. What there is to do is in the
 * headers, by subject.
 *
 * It knows libfabric alone. Two endpoints of one process, a and b, know each other unless the
 * rule is about strangers.
 */
#include "data.h"
#include "ends.h"
#include "offers.h"
#include "peers.h"
#include "posts.h"
#include "queues.h"
#include "regions.h"

int main(int argc, char **argv)
{
    static const struct what *const all[] = {offers, regions, queues, posts, data, ends, peers};
    if (argc > 2)
        fabric = argv[2];
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof all[0]; i++)
        for (const struct what *w = all[i]; w->name != NULL; w++)
            if (strcmp(argv[1], w->name) == 0)
                w->run();
    fprintf(stderr, "usage: breaks WHAT [FABRIC]\n");
    return 2;
}
