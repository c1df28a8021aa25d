/* imports.c: imports modules in the order of the arguments, as Python does, and calls each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*works[2])(void) = {0};
    for (int i = 1; i < argc && i <= 2; i++) {
        /* A name that begins with + becomes global, as what torch preloads does. */
        int global = argv[i][0] == '+';
        void *module = dlopen(argv[i] + global, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
        if (module == NULL) {
            printf("%s\n", dlerror());
            return 1;
        }
        const char *name = strstr(argv[i], "extension") ? "extension_works" : "torch_works";
        works[i - 1] = (int (*)(void))dlsym(module, name);
    }
    for (int i = 0; i < 2; i++)
        if (works[i] == NULL || !works[i]()) {
            printf("module %d does not work\n", i + 1);
            return 1;
        }
    printf("both work\n");
    return 0;
}
