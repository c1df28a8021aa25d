/* table.c: prints the rows of the tables of capi/preload, for the test that compares them with
 * headers. */
#include "../../../capi/preload/redirect_openmpi.c"

#include <stdio.h>

/* Not linked with the rest of the shim. */
static void rows(const char *library, const char *group, const struct redirect_value *values)
{
    for (; values->name; values++)
        printf("value %s %s %s %ld %ld\n", library, group, values->name, values->theirs,
               values->ours);
}

static void print(const char *name, const struct redirect_library *l)
{
    rows(name, "options", l->options);
    rows(name, "signals", l->signals);
    rows(name, "sizes", l->sizes);
    rows(name, "same", l->same);
    for (const struct redirect_symbol *s = l->symbols; s->name; s++)
        printf("symbol %s %s %d\n", name, s->name, s->handle);
    printf("text %s SHMEM_VENDOR_STRING %s\n", name, l->vendor);
    printf("text %s SHMEM_HEAP_SIZE %s\n", name, l->heap);
    printf("value %s version SHMEM_MAJOR_VERSION %d 1\n", name, l->major);
    printf("value %s version SHMEM_MINOR_VERSION %d 6\n", name, l->minor);
}

int main(void)
{
    print("4", &redirect_openmpi_4);
    print("5", &redirect_openmpi_5);
    return 0;
}
