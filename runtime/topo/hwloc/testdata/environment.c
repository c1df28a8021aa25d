/*
 * environment.c: what another thread sees of the environment while hwloc is read. A library that
 * stands for hwloc calls observe in its init, where the variable is set.
 */
#define _GNU_SOURCE
#include "../load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **before; /* the array in which another thread searches for a variable */

/* Returns the value of a variable in an array, as getenv in a thread that began before does. */
static const char *value_in(char **array, const char *name)
{
    size_t n = strlen(name);
    for (; *array; array++)
        if (strncmp(*array, name, n) == 0 && (*array)[n] == '=')
            return *array + n + 1;
    return "none";
}

/* Called by the library's init. */
void observe(void)
{
    const char *set = getenv("HWLOC_PLUGINS_PATH");
    printf("within: %s, MINE %s, before %s\n", set ? set : "none", getenv("MINE"),
           value_in(before, "MINE"));
}

int main(int argc, char **argv)
{
    char why[200];
    const char *step;
    int len;
    (void)argc;
    setenv("MINE", "1", 1); /* from now on the array is setenv's, which it may move */
    if (shmemi_hwloc_open(argv[1], why, sizeof why) == 0) {
        puts(why);
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        before = environ;
        if (shmemi_hwloc_read(&len, &step) != NULL)
            return 1;
        const char *set = getenv("HWLOC_PLUGINS_PATH");
        printf("%s failed; behind it: %s, MINE %s, before %s\n", step, set ? set : "none",
               getenv("MINE"), value_in(before, "MINE"));
        if (i == 1)
            setenv("ANOTHER", "2", 1);
    }
    return strcmp(value_in(environ, "ANOTHER"), "2") != 0;
}
