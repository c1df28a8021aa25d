/* bad.c: what cannot be translated. The first argument says what. */
#include "program.h"

static long sync_words[2000];

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    begin();
    if (strcmp(what, "handle") == 0)
        shmem_ctx_long_p((shmem_ctx_t)(void *)&sync_words, sync_words, 1, 0);
    shmem_ctx_t ctx;
    if (strcmp(what, "option") == 0)
        shmem_ctx_create(SHMEM_CTX_PRIVATE | 1 << 5, &ctx);
    /* more arrays than there are slots; PE 1 waits for PE 0, and the last one is in no set */
    for (int i = 0; strcmp(what, "sets") == 0 && i < 2000; i++) {
        sync_words[i] = SHMEM_SYNC_VALUE;
        if (me < n - 1)
            shmem_barrier(0, 0, n - 1, &sync_words[i]);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
