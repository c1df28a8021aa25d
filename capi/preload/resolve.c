/*
 * resolve.c: the functions of the library behind the shim.
 *
 * If the program has looked the function up by dlsym, that is the one to call. Else RTLD_NEXT finds
 * the library that the program was linked with. RTLD_NEXT does not search a library that was opened
 * later by dlopen without RTLD_GLOBAL, as Python's modules open theirs, although references of its
 * users bind to the shim: such a library is found through the object that calls, and failing that
 * among all loaded objects.
 */
#define _GNU_SOURCE
#include "lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The linker defines these symbols where the shim begins and ends. dladdr would search 4,000
 * symbols instead. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Reports whether an address is in the shim itself, so that a function found there is not the
 * library's. */
bool preload_own(const void *address)
{
    return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

/* Finds a function in the object at path, or in an object on which it depends. NULL if the object
 * is not loaded, or if the function is the shim's own. */
static void *find_in_object(const char *path, const char *name)
{
    if (!path || !*path)
        return NULL;
    void *object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!object)
        return NULL;
    void *found = dlsym(object, name);
    dlclose(object);
    return found && !preload_own(found) ? found : NULL;
}

/* Returns the path of the library that contains an address; NULL or "" for the program itself,
 * which needs no search: RTLD_NEXT has searched the libraries on which the program depends. */
static const char *object_of(const void *address)
{
    Dl_info at;
    struct link_map *map = NULL;
    if (!address || !dladdr1(address, &at, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    return map->l_name;
}

/* Returns the function with this call number that the shim has to call, or NULL: the one that a
 * mode of the shim selects, or that the program has found by dlsym, or that the loader finds in
 * another library than the shim. caller is an address in the calling code. */
void *preload_find(unsigned number, const void *caller)
{
    const char *name = preload_name(number);
    for (int i = 0; preload_active[i]; i++)
        if (preload_active[i]->find) {
            void *found = preload_active[i]->find(number);
            if (found)
                return found;
        }
    void *found = preload_found_by_dlsym(number);
    if (found)
        return found;
    found = dlsym(RTLD_NEXT, name);
    if (found && !preload_own(found))
        return found;
    if ((found = find_in_object(object_of(caller), name)) != NULL)
        return found;
    struct link_map *map = NULL;
    void *program = dlopen(NULL, RTLD_LAZY);
    if (program && dlinfo(program, RTLD_DI_LINKMAP, &map) == 0)
        for (; map && !found; map = map->l_next)
            found = find_in_object(map->l_name, name);
    if (program)
        dlclose(program);
    return found;
}

/* Returns the SHMEM library's own function with this call number. If there is none, it ends the
 * process, like the loader for an undefined symbol. */
void *preload_resolve(unsigned number, const void *caller)
{
    void *found = preload_find(number, caller);
    if (found)
        return found;
    /* Prints the message and uses the exit status of the loader for an undefined symbol. */
    const char *object = object_of(caller);
    if (!object || !*object)
        object = program_invocation_name;
    fprintf(stderr, "%s: symbol lookup error: %s: undefined symbol: %s\n", program_invocation_name,
            object, preload_name(number));
    _exit(127);
}
