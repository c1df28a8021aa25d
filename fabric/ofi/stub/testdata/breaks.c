/*
 * breaks.c: a program that breaks a provider's rules, one at a time: breaks WHAT [FABRIC]. It
 * prints the result in one line, the name of an error or another observation; the test has the
 * right answer, and another without the rule. The headers have the actions, by subject.
 *
 * It knows libfabric alone. Two endpoints of one process, a and b, know each other unless the rule
 * is about strangers.
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
