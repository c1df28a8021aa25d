/* routes.c: one row from each PE, and the sums. */
#include "routes.h"

#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>

void routes_init(struct route_table *t, struct symmetric *heap)
{
    size_t n = (size_t)shmem_n_pes();
    t->mine = symmetric_alloc(heap, 2 * n * sizeof *t->mine);
    t->all = symmetric_alloc(heap, 2 * n * n * sizeof *t->all);
}

void routes_free(struct route_table *t)
{
    shmem_free(t->all);
    shmem_free(t->mine);
}

struct routes routes_collect(struct route_table *t, const struct pipeline *p, bool print)
{
    size_t n = (size_t)p->n_pes;
    for (size_t pe = 0; pe < n; pe++) {
        bool direct = shmem_ptr(p->landing, (int)pe) != NULL;
        t->mine[pe] = direct ? p->sent[pe] : 0;
        t->mine[n + pe] = direct ? 0 : p->sent[pe];
    }
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, t->all, t->mine, 2 * n);

    struct routes r = {0};
    for (size_t from = 0; from < n; from++) {
        for (size_t to = 0; to < n; to++) {
            uint64_t direct = t->all[from * 2 * n + to], net = t->all[from * 2 * n + n + to];
            r.load_store += direct;
            r.load_store_pairs += direct > 0;
            r.network += net;
            r.network_pairs += net > 0;
            if (print && p->me == 0 && from != to)
                printf("PE %zu to PE %zu: %" PRIu64 " bytes, %s\n", from, to, direct + net,
                       net > 0      ? "network"
                       : direct > 0 ? "load/store"
                                    : "no route needed");
        }
    }
    return r;
}
