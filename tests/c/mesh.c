/*
 * mesh.c: meshes of C: before init, beside a job, several in a process, and after finalize; blocks
 * with signals, errors and their texts, and a child that was forked.
 */
#include "check.h"

#include <shmemx.h>

#include <sys/wait.h>
#include <unistd.h>

enum { ALONE, BESIDE, ERRORS, FORKED, AFTER, TESTS };
enum { BLOB = 1024, ROOM = 1 << 20, WORD = ROOM - 8, BLOCKS = 5, LONG_MS = 20000 };

/* One member's end of a mesh, with memory that all others import. */
struct end {
    uint64_t mesh, region;
    uint64_t *remotes; /* by member */
    unsigned char *memory;
};

/* Checks the result of a call. */
static bool ok(int status, const char *what)
{
    CHECK(status == 0, "%s returns %d: %s", what, status, shmemx_mesh_error_text());
    return status == 0;
}

/* Waits for a request of a call that has returned status. */
static bool done(int status, uint64_t *request, const char *what)
{
    return ok(status, what) && ok(shmemx_mesh_wait(request, LONG_MS), what);
}

static shmemx_mesh_options_t options(int member, int most, const char *secret)
{
    return (shmemx_mesh_options_t){.size = sizeof(shmemx_mesh_options_t),
                                   .member = member,
                                   .most = most,
                                   .secret = secret,
                                   .secret_nbytes = strlen(secret),
                                   .provider = "tcp"};
}

/* Waits until the word at the end of a member's memory is at least value. */
static void await(const struct end *e, uint64_t value)
{
    while (__atomic_load_n((uint64_t *)(void *)(e->memory + WORD), __ATOMIC_ACQUIRE) < value)
        usleep(100);
}

/* Opens one end, and registers its memory. */
static bool open_end(struct end *e, int member, int most, const char *secret)
{
    shmemx_mesh_options_t o = options(member, most, secret);
    e->memory = aligned_alloc(4096, ROOM);
    memset(e->memory, 0, ROOM);
    e->remotes = calloc((size_t)most, sizeof *e->remotes);
    return ok(shmemx_mesh_open(&o, &e->mesh), "open") &&
           ok(shmemx_mesh_register(e->mesh, e->memory, ROOM, &e->region), "register");
}

/* Imports the region that a blob describes. */
static bool take(struct end *e, int member, const void *blob, size_t nbytes)
{
    uint64_t request;
    size_t length = 0;
    bool had =
        done(shmemx_mesh_import(e->mesh, blob, nbytes, &e->remotes[member], &length, &request),
             &request, "import");
    CHECK(!had || length == ROOM, "a region of %zu bytes", length);
    return had;
}

static void close_end(struct end *e)
{
    ok(shmemx_mesh_close(e->mesh), "close");
    free(e->memory);
    free(e->remotes);
}

/* Sends blocks of this member to a member, with a value behind them. */
static void send_blocks(struct end *e, int from, int to, uint64_t value)
{
    static unsigned char source[BLOCKS][30000];
    shmemx_mesh_block_t blocks[BLOCKS];
    uint64_t request;
    for (size_t b = 0; b < BLOCKS; b++) {
        size_t n = b % 2 ? 30000 : 100;
        memset(source[b], from + 3 * (int)b + (int)value, n);
        blocks[b] = (shmemx_mesh_block_t){source[b], 40000 * b, n};
    }
    shmemx_mesh_signal_t s = {
        .remote = e->remotes[to], .offset = WORD, .value = value, .op = SHMEMX_MESH_SET};
    done(shmemx_mesh_put_signal(e->mesh, 0, e->remotes[to], blocks, BLOCKS, &s, 0, &request),
         &request, "put_signal");
}

/* Compares the blocks that a member has sent. */
static void compare(const unsigned char *memory, int from, uint64_t value)
{
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < (b % 2 ? 30000 : 100); i++) {
            unsigned char want = (unsigned char)(from + 3 * (int)b + (int)value);
            if (memory[40000 * b + i] != want) {
                check_fail("block %zu of member %d: byte %zu is %u, not %u", b, from, i,
                           memory[40000 * b + i], want);
                return;
            }
        }
}

/* A mesh of one member, before any job. */
static struct end alone;

static void begin_alone(void)
{
    unsigned char blob[BLOB];
    size_t nbytes = sizeof blob;
    if (open_end(&alone, 0, 1, "a secret of one member") &&
        ok(shmemx_mesh_describe(alone.region, blob, &nbytes), "describe"))
        take(&alone, 0, blob, nbytes);
}

static void test_alone(void)
{
    check_start(ALONE, "shmemx_mesh_open before shmem_init");
    begin_alone();
    send_blocks(&alone, 7, 0, 1);
    await(&alone, 1);
    compare(alone.memory, 7, 1);
}

/* Opens an end of a mesh of all PEs, which exchange their blobs by the job. */
static bool open_beside(struct end *e, const char *secret)
{
    struct blobs {
        size_t address, region;
        unsigned char blobs[2][BLOB];
    } *all = check_alloc(sizeof *all * (size_t)check.n), *own = &all[check.me];
    own->address = own->region = BLOB;
    bool had = open_end(e, check.me, check.n, secret) &&
               ok(shmemx_mesh_address(e->mesh, own->blobs[0], &own->address), "address") &&
               ok(shmemx_mesh_describe(e->region, own->blobs[1], &own->region), "describe");
    shmem_barrier_all();
    for (int pe = 0; pe < check.n; pe++)
        shmem_putmem(own, own, sizeof *own, pe);
    shmem_barrier_all();
    for (int pe = 0; had && pe < check.n; pe++) {
        int member = -2;
        had = pe == check.me ||
              (ok(shmemx_mesh_add(e->mesh, all[pe].blobs[0], all[pe].address, &member), "add") &&
               member == pe);
        CHECK(had, "PE %d is member %d", pe, member);
    }
    for (int pe = 0; had && pe < check.n; pe++)
        had = take(e, pe, all[pe].blobs[1], all[pe].region);
    shmem_barrier_all();
    shmem_free(all);
    return had;
}

/* All members send to the next one in a ring, and read back what they have sent. */
static void ring(struct end *e, uint64_t value)
{
    static unsigned char back[30000];
    int next = (check.me + 1) % check.n, last = (check.me + check.n - 1) % check.n;
    uint64_t request;
    send_blocks(e, check.me, next, value);
    await(e, value);
    compare(e->memory, last, value);
    done(shmemx_mesh_flush(e->mesh, 0, next, &request), &request, "flush");
    shmemx_mesh_block_t block = {back, 40000, sizeof back};
    done(shmemx_mesh_get(e->mesh, 0, e->remotes[next], &block, 1, &request), &request, "get");
    CHECK(back[0] == (unsigned char)(check.me + 3 + (int)value) && back[0] == back[29999],
          "a byte comes back as %u", back[0]);
}

static void test_beside(struct end *lasting)
{
    struct end other;
    check_start(BESIDE, "two meshes beside a job");
    long *sum = check_alloc(sizeof *sum);
    *sum = 0;
    shmem_barrier_all();
    if (open_beside(lasting, "the secret of the first mesh") &&
        open_beside(&other, "the secret of the second mesh")) {
        ring(lasting, 1);
        ring(&other, 1);
        shmem_long_atomic_add(sum, 1, 0);
        shmem_barrier_all();
        CHECK(check.me != 0 || *sum == check.n, "the job has summed up %ld", *sum);
        close_end(&other); /* the later one first */
        shmem_barrier_all();
        ring(lasting, 2);
    }
    shmem_barrier_all();
    shmem_free(sum);
}

/* Checks that a call has failed. */
static void fails(int status, int want, const char *words)
{
    const char *text = shmemx_mesh_error_text();
    CHECK(status == want && strstr(text, words) != NULL,
          "result %d with \"%s\", not %d with \"%s\"", status, text, want, words);
}

static void test_errors(struct end *e)
{
    uint64_t mesh = 0, request = 0, region = 0;
    size_t few = 10;
    char blob[BLOB] = "no blob";
    check_start(ERRORS, "errors of meshes");
    shmemx_mesh_options_t o = options(0, 2, "short");
    fails(shmemx_mesh_open(&o, &mesh), SHMEMX_MESH_ARGUMENT,
          "shmemx_mesh_open: open mesh: the secret");
    o = options(0, 2, "a secret that is long enough");
    o.provider = "no such provider";
    fails(shmemx_mesh_open(&o, &mesh), SHMEMX_MESH_NETWORK, "no such provider");
    o.size = 8;
    fails(shmemx_mesh_open(&o, &mesh), SHMEMX_MESH_ARGUMENT, "sizeof(shmemx_mesh_options_t)");
    fails(shmemx_mesh_open(NULL, &mesh), SHMEMX_MESH_ARGUMENT, "options is NULL");
    fails(shmemx_mesh_close(12345), SHMEMX_MESH_ARGUMENT, "is not a mesh");
    fails(shmemx_mesh_address(e->region, blob, &few), SHMEMX_MESH_ARGUMENT, "is not a mesh");
    fails(shmemx_mesh_address(e->mesh, blob, &few), SHMEMX_MESH_ARGUMENT, "there is room for 10");
    fails(shmemx_mesh_add(e->mesh, blob, 8, NULL), SHMEMX_MESH_ARGUMENT,
          "is not a member's address");
    fails(shmemx_mesh_add(e->mesh, blob, SIZE_MAX, NULL), SHMEMX_MESH_ARGUMENT, "nbytes is");
    fails(shmemx_mesh_put(e->mesh, 0, e->remotes[check.me], &(shmemx_mesh_block_t){0}, SIZE_MAX, 0,
                          &request),
          SHMEMX_MESH_ARGUMENT, "nblocks is");
    fails(shmemx_mesh_status(e->mesh, check.n), SHMEMX_MESH_ARGUMENT, "is not one of");
    fails(shmemx_mesh_register(e->mesh, blob + 1, 8, &region), SHMEMX_MESH_ARGUMENT,
          "multiple of 8");
    shmemx_mesh_block_t block = {blob, ROOM - 4, 8};
    fails(shmemx_mesh_put(e->mesh, 0, e->remotes[check.me], &block, 1, 0, &request),
          SHMEMX_MESH_ARGUMENT, "leave region");
    fails(shmemx_mesh_put(e->mesh, 0, e->remotes[check.me], &block, 1, 8, &request),
          SHMEMX_MESH_ARGUMENT, "flags is 0x8");
    fails(shmemx_mesh_get(e->mesh, 0, e->mesh, &block, 1, &request), SHMEMX_MESH_ARGUMENT,
          "is not a remote region");
    uint64_t ended = alone.mesh;
    close_end(&alone);
    fails(shmemx_mesh_status(ended, 0), SHMEMX_MESH_CLOSED, "the mesh has ended");
    ok(shmemx_mesh_test(&request), "test of no request");
}

static void test_forked(const struct end *e)
{
    check_start(FORKED, "a child that was forked");
    pid_t child = fork();
    if (child == 0) {
        int status = shmemx_mesh_status(e->mesh, check.me);
        _exit(status == SHMEMX_MESH_CLOSED && strstr(shmemx_mesh_error_text(), "forked") ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0,
          "the child has ended with %#x", (unsigned)status);
}

/* The mesh goes on without the job. Its members meet by it before the next job. */
static void test_after(struct end *e)
{
    check_start(AFTER, "a mesh after shmem_finalize");
    shmem_finalize();
    ring(e, 3);
    uint64_t request;
    shmemx_mesh_signal_t s = {.offset = WORD - 8, .value = 1, .op = SHMEMX_MESH_ADD};
    for (int pe = 0; pe < check.n; pe++) {
        s.remote = e->remotes[pe];
        done(shmemx_mesh_notify(e->mesh, 0, &s, SHMEMX_MESH_ORDERED, &request), &request, "notify");
    }
    while (__atomic_load_n((uint64_t *)(void *)(e->memory + WORD - 8), __ATOMIC_ACQUIRE) <
           (uint64_t)check.n)
        usleep(100);
    done(shmemx_mesh_unregister(e->region, &request), &request, "unregister");
    shmem_init();
    shmem_barrier_all();
    close_end(e);
}

int main(void)
{
    struct end lasting;
    unsigned char before[TESTS] = {0}; /* check_open makes another one */
    check.failed = before;
    test_alone();
    check_open("mesh", TESTS);
    check.failed[ALONE] = before[ALONE];
    test_beside(&lasting);
    test_errors(&lasting);
    test_forked(&lasting);
    test_after(&lasting);
    return check_close();
}
