/*
 * twice.c: opens the library twice, closes it, opens it again, and uses it each
 * time.
 *
 * usage: twice libshmem.so
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *need(void *p, const char *what)
{
    if (p == NULL) {
        fprintf(stderr, "%s: %s\n", what, dlerror());
        exit(1);
    }
    return p;
}

static void call(void *library, const char *name)
{
    void (*f)(void);
    *(void **)&f = need(dlsym(library, name), name);
    f();
}

static int my_pe(void *library)
{
    int (*f)(void);
    *(void **)&f = need(dlsym(library, "shmem_my_pe"), "shmem_my_pe");
    return f();
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "libshmem.so";
    void *first = need(dlopen(path, RTLD_NOW | RTLD_LOCAL), path);
    void *second = need(dlopen(path, RTLD_NOW | RTLD_GLOBAL), path);
    if (first != second) {
        fprintf(stderr, "two copies of one file\n");
        return 1;
    }
    call(first, "shmem_init");
    call(second, "shmem_init");
    if (my_pe(second) != 0)
        return 1;
    call(second, "shmem_finalize");
    dlclose(second);
    if (my_pe(first) != 0)
        return 1;
    call(first, "shmem_finalize");
    dlclose(first);

    first = need(dlopen(path, RTLD_NOW), path);
    call(first, "shmem_init");
    call(first, "shmem_finalize");
    dlclose(first);
    puts("used twice");
    return 0;
}
