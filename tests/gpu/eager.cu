/*
 * eager.cu: eager transfers of kernels. Each name is called, in every tile that the routes keep,
 * for tokens of many sizes over slots that are used again, and each byte is compared.
 *
 * shmemrun -n 2 eager
 */
#include "try.h"

#ifndef EMULATED
#include <shmem/eager.cuh>
#endif

namespace kernels
{

constexpr uint32_t SLOTS = 3, LARGEST = 9000;
constexpr int GUARD = 16;
const int tiles[] = {SHMEMX_EAGER_NONE, SHMEMX_EAGER_PACKET, SHMEMX_EAGER_LINE, SHMEMX_EAGER_BLOCK};

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_eager_send_x(ID) TEST_eager_ready_x(ID) TEST_eager_wait_x(ID) TEST_eager_recv_x(ID)
};

/* Calls of a scope, by its number. */
#define CALL_OF(name)                                                                              \
    template <int SCOPE, class... A> STEP name(A... arguments)                                     \
    {                                                                                              \
        if (SCOPE == thread)                                                                       \
            (shmemx_eager_##name)(arguments...);                                                   \
        else if (SCOPE == warp)                                                                    \
            (shmemx_eager_##name##_warp)(arguments...);                                            \
        else                                                                                       \
            (shmemx_eager_##name##_block)(arguments...);                                           \
    }
CALL_OF(send)
CALL_OF(wait)
CALL_OF(recv)
CALL_OF(signal)

template <int SCOPE> ANSWER ready(const shmemx_eager_t *e, uint32_t slot, uint32_t epoch)
{
    return SCOPE == thread ? (shmemx_eager_ready)(e, slot, epoch)
           : SCOPE == warp ? (shmemx_eager_ready_warp)(e, slot, epoch)
                           : (shmemx_eager_ready_block)(e, slot, epoch);
}

/* Sends a token to each slot of a PE, and takes those that come here, the last slot first. */
template <int SCOPE>
KERNEL pass(shmemx_eager_t e, const char *source, char *dest, uint32_t room, uint32_t epoch, int pe)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        send<SCOPE>(&e, slot, source + slot * room, epoch, pe);
    for (uint32_t slot = SLOTS; slot-- > 0;) {
        if (slot == 0)
            wait<SCOPE>(&e, slot, epoch);
        while (slot == 1 && !ready<SCOPE>(&e, slot, epoch))
            ;
        recv<SCOPE>(&e, slot, dest + slot * room, epoch);
    }
}

/* Looks once at each slot. */
template <int SCOPE> KERNEL look(shmemx_eager_t e, uint32_t epoch, int *seen)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        int there = ready<SCOPE>(&e, slot, epoch);
        if (threadIdx.x == 0)
            seen[slot] = there;
    }
}

/* Words by the threads of a scope: stored to a PE with their signals, and loaded from those here.
 */
template <int SCOPE, class T>
KERNEL words(shmemx_eager_t e, const T *source, T *dest, uint32_t epoch, int pe)
{
    for (uint32_t i = threadIdx.x; i < e.nbytes / sizeof(T); i += blockDim.x)
        shmemx_eager_store<T>(&e, 1, i * (uint32_t)sizeof(T), source[i], epoch, pe);
    signal<SCOPE>(&e, 1, epoch, pe);
    wait<SCOPE>(&e, 1, epoch);
    for (uint32_t i = threadIdx.x; i < e.nbytes / sizeof(T); i += blockDim.x)
        dest[i] = shmemx_eager_load<T>(&e, 1, i * (uint32_t)sizeof(T));
}

/* A token in shared memory. */
#ifdef EMULATED
#define SHARED static
#else
#define SHARED __shared__
#endif
KERNEL staged(shmemx_eager_t e, const char *source, char *dest, uint32_t shift, uint32_t epoch,
              int pe)
{
    alignas(16) SHARED uint64_t place[LARGEST / 16 * 2 + 4];
    char *token = (char *)place + shift;
    for (uint32_t i = threadIdx.x; i < e.nbytes; i += blockDim.x)
        token[i] = source[i];
    (shmemx_eager_send_shared_block)(&e, 2, token, epoch, pe);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < e.nbytes; i += blockDim.x)
        token[i] = 0;
    __syncthreads();
    (shmemx_eager_recv_shared_block)(&e, 2, token, epoch);
    for (uint32_t i = threadIdx.x; i < e.nbytes; i += blockDim.x)
        dest[i] = token[i];
}

/* A token in a buffer to what its slot has, and back. */
template <int SCOPE>
KERNEL change(char *buffer, char *wrapped, uint32_t nbytes, int tile, uint32_t epoch)
{
    if (SCOPE == warp)
        (shmemx_eager_wrap_warp)(buffer, nbytes, tile, epoch);
    else
        (shmemx_eager_wrap_block)(buffer, nbytes, tile, epoch);
    for (uint32_t i = threadIdx.x; i < shmemi_eager_bytes(nbytes, (uint32_t)tile); i += blockDim.x)
        wrapped[i] = buffer[i];
    if (SCOPE == warp)
        (shmemx_eager_unwrap_warp)(buffer, nbytes, tile);
    else
        (shmemx_eager_unwrap_block)(buffer, nbytes, tile);
}

KERNEL ask(size_t nbytes, int tile, int pe, const char *box, size_t *size, int *kept)
{
    *size = (shmemx_eager_size)(nbytes, tile);
    kept[0] = (shmemx_eager_tile)(pe);
    kept[1] = (shmem_ptr)(box, pe) != NULL;
}

char *box, *source, *dest;
int *seen;
size_t *size;

template <int SCOPE> void try_tokens(int tile, uint32_t nbytes, uint32_t shift)
{
    shmemx_eager_t e;
    const std::string what = "tile " + std::to_string(tile) + ", " + std::to_string(nbytes) +
                             " bytes by a " +
                             (SCOPE == thread ? "thread"
                              : SCOPE == warp ? "warp"
                                              : "block");
    if ((::shmemx_eager_create)(nbytes, SLOTS, tile, &e) != 0) {
        expect(false, what + ": create");
        return;
    }
    const uint32_t room = (nbytes + shift + 2 * GUARD) / 16 * 16 + 16;
    std::vector<unsigned char> sent(SLOTS * room), came(SLOTS * room), none(SLOTS * room, 0xa5);
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        int before[SLOTS];
        LAUNCH(threads_of(SCOPE), look<SCOPE>, e, epoch, seen);
        copy_memory(before, seen, sizeof before);
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            expect(before[slot] == 0, what + ": there before it was sent");
            for (uint32_t i = 0; i < nbytes; i++)
                sent[slot * room + GUARD + shift + i] = pattern(me, (int)(slot * 5 + epoch), i);
        }
        copy_memory(source, sent.data(), sent.size());
        copy_memory(dest, none.data(), none.size());
        shmem_barrier_all();
        LAUNCH(threads_of(SCOPE), pass<SCOPE>, e, source + GUARD + shift, dest + GUARD + shift,
               room, epoch, next_pe);
        copy_memory(came.data(), dest, came.size());
        uint32_t bad = 0;
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            for (uint32_t i = 0; i < room; i++) {
                const uint32_t at = i - GUARD - shift; /* wraps before the token */
                bad += came[slot * room + i] !=
                       (at < nbytes ? pattern(last_pe, (int)(slot * 5 + epoch), at) : 0xa5);
            }
        expect(bad == 0, what + ", epoch " + std::to_string(epoch) + ": " + std::to_string(bad) +
                             " wrong bytes");
        shmem_barrier_all();
    }
    (::shmemx_eager_destroy)(&e);
}

/* One way to send a token to the next PE: for each tile and epoch, all bytes are compared. */
template <class SEND>
void try_parts(int kept, uint32_t nbytes, const std::string &how, SEND send_by)
{
    for (int tile : tiles) {
        shmemx_eager_t e;
        if (tile > kept || (::shmemx_eager_create)(nbytes, SLOTS, tile, &e) != 0)
            continue;
        for (uint32_t epoch = 1; epoch <= 3; epoch++) {
            std::vector<unsigned char> sent(nbytes), came(nbytes);
            uint32_t bad = 0;
            for (uint32_t i = 0; i < nbytes; i++)
                sent[i] = pattern(me, (int)epoch, i);
            copy_memory(source, sent.data(), nbytes);
            shmem_barrier_all();
            send_by(e, epoch);
            copy_memory(came.data(), dest, nbytes);
            for (uint32_t i = 0; i < nbytes; i++)
                bad += came[i] != pattern(last_pe, (int)epoch, i);
            expect(bad == 0, how + ", tile " + std::to_string(tile) + ", " +
                                 std::to_string(nbytes) + " bytes: " + std::to_string(bad) +
                                 " wrong");
            shmem_barrier_all();
        }
        (::shmemx_eager_destroy)(&e);
    }
}

template <int SCOPE, class T> void try_words(int kept)
{
    for (uint32_t nbytes : {8, 120, 128, 4080, 4088, 7168})
        try_parts(kept, nbytes, "words", [](const shmemx_eager_t &e, uint32_t epoch) {
            auto kernel = words<SCOPE, T>;
            LAUNCH(threads_of(SCOPE), kernel, e, (const T *)(const void *)source, (T *)(void *)dest,
                   epoch, next_pe);
        });
}

/* The slot that a token has by the layout. */
template <int SCOPE> void try_change()
{
    for (int tile : tiles)
        for (uint32_t nbytes : {1, 4, 7, 120, 123, 4080, 4083, 7168, 8999}) {
            const uint32_t bytes = shmemi_eager_bytes(nbytes, (uint32_t)tile);
            std::vector<unsigned char> token(nbytes), slot(bytes), back(nbytes);
            for (uint32_t i = 0; i < nbytes; i++)
                token[i] = pattern(me, tile, i);
            copy_memory(dest, token.data(), nbytes);
            LAUNCH(threads_of(SCOPE), change<SCOPE>, dest, source, nbytes, tile, 9);
            copy_memory(slot.data(), source, bytes);
            copy_memory(back.data(), dest, nbytes);
            uint32_t bad = 0;
            for (uint32_t i = 0; i < nbytes; i++)
                bad += slot[shmemi_eager_data_at(i, nbytes, (uint32_t)tile)] != token[i];
            for (uint32_t k = 0; k < shmemi_eager_tiles(nbytes, (uint32_t)tile); k++) {
                uint64_t want = shmemi_eager_signal(nbytes, 9);
                bad += memcmp(&slot[shmemi_eager_signal_at(k, nbytes, (uint32_t)tile)], &want,
                              tile == SHMEMX_EAGER_PACKET ? 4 : 8) != 0;
            }
            expect(bad == 0 && back == token,
                   "tile " + std::to_string(tile) + ", " + std::to_string(nbytes) +
                       " bytes, changed in place: " + std::to_string(bad) + " wrong");
        }
}

template <int SCOPE> void try_scope(int kept)
{
    try_words<SCOPE, uint32_t>(kept);
    try_words<SCOPE, double>(kept);
    if (SCOPE != thread)
        try_change<SCOPE == thread ? warp : SCOPE>();
    if (SCOPE == block)
        for (uint32_t nbytes : {1, 16, 100, 4080, 4081, 7168, 8999})
            for (uint32_t shift : {0, 8}) /* bulk copies, and others */
                try_parts(kept, nbytes, "shared", [=](const shmemx_eager_t &e, uint32_t epoch) {
                    LAUNCH(threads_of(block), staged, e, source, dest, shift, epoch, next_pe);
                });
    const uint32_t sizes[] = {1, 5, 16, 120, 121, 1000, 4080, 4081, 7168, 8999};
    for (int tile : tiles)
        if (tile <= kept)
            for (uint32_t nbytes : sizes) {
                try_tokens<SCOPE>(tile, nbytes, 0);
                try_tokens<SCOPE>(tile, nbytes, 3);
            }
}

/* Returns the largest tile that the routes between all PEs keep. */
int routes()
{
    for (int tile : tiles)
        for (size_t nbytes : {1, 120, 4081, 7168, 100000}) {
            size_t answer;
            LAUNCH(1, ask, nbytes, tile, next_pe, box, size, seen);
            copy_memory(&answer, size, sizeof answer);
            expect(answer == (::shmemx_eager_size)(nbytes, tile), "the size in a kernel");
        }
    int kept[2];
    copy_memory(kept, seen, sizeof kept);
    expect(kept[0] == (kept[1] ? SHMEMX_EAGER_BLOCK : SHMEMX_EAGER_NONE), "the tile in a kernel");
    shmemx_eager_t e;
    if ((::shmemx_eager_create)(100, 1, SHMEMX_EAGER_BEST, &e) != 0)
        return SHMEMX_EAGER_NONE;
    const int best = (int)e.tile;
    expect(kept[1] || best == SHMEMX_EAGER_NONE, "the best tile");
    (::shmemx_eager_destroy)(&e);
    return best;
}

void run()
{
    box = (char *)shmem_malloc(64);
    source = own_memory(SLOTS * (LARGEST + 64));
    dest = own_memory(SLOTS * (LARGEST + 64)); /* a token in packets takes twice its bytes */
    seen = (int *)(void *)own_memory(64);
    size = (size_t *)(void *)own_memory(64);
    const int kept = routes();
    try_scope<thread>(kept);
    try_scope<warp>(kept);
    try_scope<block>(kept);
#define CALLED(name, T, bytes, scope) called(#name);
    TEST_eager_send_x(CALLED) TEST_eager_ready_x(CALLED) TEST_eager_wait_x(CALLED)
        TEST_eager_recv_x(CALLED) TEST_eager_size_x(CALLED) TEST_eager_tile_x(CALLED)
            TEST_eager_signal_x(CALLED) TEST_eager_wrap_x(CALLED) TEST_eager_unwrap_x(CALLED)
                TEST_eager_send_shared_x(CALLED) TEST_eager_recv_shared_x(CALLED)
}

} // namespace kernels

int main(void)
{
    begin("eager");
    kernels::run();
    return end();
}
