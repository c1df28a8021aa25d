/*
 * reshard: changes the layout of a model in the memory of several PEs, and proves that nothing was
 * lost.
 *
 *   shmemrun -n 4 reshard model.safetensors
 *
 * At the start each PE holds a range of columns of every tensor, at the end each tensor is whole on
 * one PE (layout.h describes both layouts). In between, the bytes go from PE to PE by
 * put-with-signal (pipeline.h): by plain stores between PEs of one node, over the network between
 * nodes. The program is the same for both; only its report says which way the bytes took.
 *
 * The proof: for each tensor the PE that holds it hashes its symmetric memory,
 * another PE hashes the same tensor in the file, and PE 0 compares.
 *
 * This file has the flow, in five steps, and the options. Read next: layout.h
 * (what goes where), then pipeline.c (the schedule and its promises).
 */
#define _POSIX_C_SOURCE 200809L

#include "agree.h"
#include "layout.h"
#include "pipeline.h"
#include "progress.h"
#include "routes.h"
#include "safetensors.h"
#include "shards.h"
#include "symmetric.h"
#include "verify.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: shmemrun -n N reshard [options] MODEL.safetensors\n"
    "  -v             print each tensor and each pair of PEs\n"
    "  --progress     draw the progress bar though stderr is no terminal\n"
    "  --chunk BYTES  send at most so many bytes by one put (default 262144)\n"
    "  --depth N      keep at most N puts in flight to one PE (default 4)\n"
    "  --corrupt N    change a byte of tensor N (from 0) after it has arrived,\n"
    "                 to see that the check finds it\n";

struct options {
    const char *path;
    bool verbose, progress, help;
    uint64_t chunk, depth;
    bool corrupt;
    uint64_t corrupt_tensor;
};

enum { ERROR = SAFETENSORS_ERROR }; /* bytes that hold any message */

static bool parse_number(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0';
}

/* Every PE has the same arguments, so every PE has the same result. */
static bool parse_options(struct options *o, int argc, char **argv, char error[ERROR])
{
    /* What getopt_long returns for an option: above every char, as no option has a short name. */
    enum { CHUNK = 256, DEPTH, CORRUPT, PROGRESS, HELP };
    static const struct option names[] = {
        {"chunk", required_argument, NULL, CHUNK},
        {"depth", required_argument, NULL, DEPTH},
        {"corrupt", required_argument, NULL, CORRUPT},
        {"progress", no_argument, NULL, PROGRESS},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    /* Measured with a model of 91 MB on 4 PEs of two simulated hosts, tcp, on a machine with 2
     * cores: 1.3 GB/s; with chunks of 64 KiB 0.8, of 1 MiB 0.4. On one host the size makes no
     * difference. */
    *o = (struct options){.chunk = 256 << 10, .depth = 4};
    opterr = 0; /* one message, not one for each PE */
    for (int c; (c = getopt_long(argc, argv, "vh", names, NULL)) != -1;) {
        bool ok = true;
        switch (c) {
        case 'v':
            o->verbose = true;
            break;
        case PROGRESS:
            o->progress = true;
            break;
        case 'h':
        case HELP:
            o->help = true;
            return true;
        case CHUNK:
            ok = parse_number(optarg, &o->chunk) && o->chunk > 0 && o->chunk <= 1 << 30;
            break;
        case DEPTH:
            ok = parse_number(optarg, &o->depth) && o->depth > 0 && o->depth <= 1024;
            break;
        case CORRUPT:
            ok = o->corrupt = parse_number(optarg, &o->corrupt_tensor);
            break;
        default:
            snprintf(error, ERROR,
                     "parse %.100s: unknown option, or its value is missing"
                     " (--help lists the options)",
                     argv[optind - 1]);
            return false;
        }
        if (!ok) {
            snprintf(error, ERROR,
                     "parse %.100s: not a number in its range"
                     " (--chunk 1 to 1073741824, --depth 1 to 1024)",
                     optarg);
            return false;
        }
    }
    if (optind != argc - 1) {
        snprintf(error, ERROR,
                 "parse arguments: %d model files instead of one (--help shows the usage)",
                 argc - optind);
        return false;
    }
    o->path = argv[optind];
    return true;
}

static void print_summary(const struct layout *l, const struct routes *r, double seconds)
{
    uint64_t moved = r->load_store + r->network;
    printf("moved %.1f of %.1f MB between %d PEs in %.3f s: %.2f GB/s\n", (double)moved / 1e6,
           (double)l->model->nbytes / 1e6, l->n_pes, seconds,
           seconds > 0 ? (double)moved / seconds / 1e9 : 0);
    printf("route load/store: %" PRIu64 " bytes, %" PRIu64 " pairs of PEs\n", r->load_store,
           r->load_store_pairs);
    printf("route network: %" PRIu64 " bytes, %" PRIu64 " pairs of PEs\n", r->network,
           r->network_pairs);
    printf("%zu tensors, %" PRIu64 " bytes: all %zu tensors verified by SHA-256\n", l->model->count,
           l->model->nbytes, l->model->count);
}

/* Opens the model on every PE, and makes sure that it is the same one. */
static void open_model(struct model *m, const char *path)
{
    char error[ERROR];
    agree(safetensors_open(m, path, error) ? NULL : error);
    /* On several hosts one path may name several files. A plan that is made
     * from another header would write to other addresses. */
    snprintf(error, sizeof error,
             "open %.200s: its header is not that of PE 0's file"
             " (put the same file on every host)",
             path);
    agree(agree_same(m->header_digest) ? NULL : error);
}

/* For --corrupt: changes a byte of a tensor on the PE that holds it, so that a user sees the check
 * fail. */
static void corrupt(const struct layout *l, uint64_t index, unsigned char *block)
{
    const struct model *m = l->model;
    bool has_bytes = index < m->count && m->tensors[index].nbytes > 0;
    agree(has_bytes ? NULL : "corrupt: no such tensor, or it is empty (-v lists them, from 0)");
    if (l->places[index].owner == shmem_my_pe())
        block[l->places[index].offset] ^= 1;
}

static void reshard(const struct options *o)
{
    int me = shmem_my_pe();
    char error[ERROR];

    /* 1. The plan: the contents of the file, and their places afterwards. */
    struct model model;
    open_model(&model, o->path);
    struct layout layout;
    bool ok = layout_init(&layout, &model, shmem_n_pes());
    agree(ok ? NULL : "plan the layout: out of memory (use fewer PEs on this host)");

    /* 2. The memory. Symmetric means that every PE allocates the same sizes,
     * so a block is as large everywhere as the fullest PE needs it. */
    struct symmetric heap = {0};
    unsigned char *block = symmetric_alloc(&heap, layout.largest_block);
    struct proof *proofs = verify_alloc(&heap, &model);
    struct route_table table;
    routes_init(&table, &heap);
    struct progress progress;
    progress_init(&progress, &heap, o->progress);
    struct pipeline pipeline;
    pipeline_init(&pipeline, &heap, o->chunk, o->depth);
    snprintf(error, sizeof error,
             "allocate %zu bytes for %.200s: the symmetric heap is too small"
             " (set SHMEM_SYMMETRIC_SIZE=%zum)",
             heap.nbytes, o->path, symmetric_need_mib(&heap));
    agree(heap.full ? error : NULL);
    agree(pipeline.sent ? NULL
                        : "allocate the pipeline: out of memory (use fewer PEs on this host)");

    /* 3. Layout A: each PE reads its columns. */
    struct shards shards;
    agree(shards_read(&shards, &layout, me, error) ? NULL : error);

    /* 4. Layout A to layout B. The time is taken between two barriers, so it includes the last byte
     * of the slowest PE. */
    shmem_barrier_all();
    double begun = progress_clock();
    progress_begin(&progress, layout_moving_bytes(&layout));
    pipeline_run(&pipeline, &layout, shards.bytes, shards.at, block, &progress);
    progress_end(&progress);
    shmem_barrier_all();
    double seconds = progress_clock() - begun;
    shards_free(&shards); /* layout A is freed before layout B is checked */

    /* 5. The proof. The digests are put to PE 0; the barrier completes them. */
    if (o->corrupt)
        corrupt(&layout, o->corrupt_tensor, block);
    agree(verify_hash(&layout, me, block, proofs, error) ? NULL : error);
    shmem_barrier_all();
    ok = me != 0 || verify_compare(&layout, proofs, o->verbose, error);
    agree(ok ? NULL : error);

    struct routes routes = routes_collect(&table, &pipeline, o->verbose);
    if (me == 0)
        print_summary(&layout, &routes, seconds);

    pipeline_free(&pipeline);
    progress_free(&progress);
    routes_free(&table);
    shmem_free(proofs);
    shmem_free(block);
    layout_free(&layout);
    safetensors_close(&model);
}

int main(int argc, char **argv)
{
    shmem_init();
    agree_init();
    struct options options;
    char error[ERROR];
    agree(parse_options(&options, argc, argv, error) ? NULL : error);
    if (!options.help)
        reshard(&options);
    else if (shmem_my_pe() == 0)
        fputs(usage, stdout);
    shmem_finalize();
    return EXIT_SUCCESS;
}
