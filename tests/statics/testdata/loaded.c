/*
 * loaded.c: a program that does not need the library itself: it loads the file that the first
 * argument names. Its statics are its own, and a call with one of them reports why.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static long here;

int main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "libshmem.so", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    void (*init)(void), (*p)(long *, long, int);
    *(void **)&init = dlsym(library, "shmem_init");
    *(void **)&p = dlsym(library, "shmem_long_p");
    init();
    p(&here, 1, 0);
    printf("symmetric\n");
}
