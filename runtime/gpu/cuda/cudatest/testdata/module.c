/*
 * module.c: device code for tests. It is text, with a line "kernel NAME" or "global NAME" for each
 * kernel and variable. A global has 64 bytes. One of a line "global NAME BYTES INT..." has BYTES
 * bytes, which begin with those ints. Two kernels do something: store64 stores its second parameter
 * where the first points to, and store_pair has both values in one parameter. The only PTX whose
 * kernels can be launched is that of package amo.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "stream.h"

enum { MODULES = 16, GLOBAL = 64, SIZED = 4 };

static struct module {
    char *text;
    bool dead;                   /* a reset has ended it */
    void *context;               /* that it was loaded in */
    uint64_t global[GLOBAL / 8]; /* all variables without a size in the text share this memory */
    struct {                     /* variables with a size that were asked for */
        const char *line;        /* of the text; NULL: the entry is free */
        char *at;                /* their memory */
    } sized[SIZED];
} modules[MODULES];

static struct module *module_of(void *name)
{
    struct module *m = name;
    return m >= modules && m < modules + MODULES && m->text != NULL ? m : NULL;
}

/* Returns the error of a call with a handle of no module. A module that a reset has ended ends the
 * process, because the real driver's behaviour is not known. */
static int no_module(void *name)
{
    struct module *m = name;
    if (m >= modules && m < modules + MODULES && m->dead)
        abort();
    return INVALID_VALUE;
}

/* Ends the modules of a context. Their texts are not freed, because a kernel's handle is its place
 * in the text. */
void fake_reset_modules(const void *context)
{
    for (struct module *m = modules; m < modules + MODULES; m++)
        if (m->text != NULL && m->context == context)
            *m = (struct module){.dead = true};
}

static bool is_ptx(const char *text)
{
    return strstr(text, "\n.version ") != NULL;
}

/* Returns the line "KIND NAME" of a module's text, or ".entry NAME(" of PTX; or NULL. */
static char *line_of(struct module *m, const char *kind, const char *name)
{
    char wanted[128];
    if (m != NULL && strcmp(kind, "kernel") == 0 && is_ptx(m->text)) {
        snprintf(wanted, sizeof wanted, ".entry %s(", name);
        return strstr(m->text, wanted);
    }
    snprintf(wanted, sizeof wanted, "%s %s\n", kind, name);
    return m == NULL ? NULL : strstr(m->text, wanted);
}

int cuModuleLoadData(void **module, const void *image)
{
    const char *text = image;
    bool fit = strncmp(text, "kernel ", 7) == 0 || strncmp(text, "global ", 7) == 0 || is_ptx(text);
    enum { INVALID_IMAGE = 200 };
    BEGIN(fake_needs_context() ?: !fit ? INVALID_IMAGE : 0);
    pthread_mutex_lock(&fake_lock);
    struct module *m = modules;
    while (m < modules + MODULES && (m->text != NULL || m->dead))
        m++;
    if (m == modules + MODULES)
        abort();
    *m = (struct module){.text = strdup(text), .context = fake_context()};
    *module = m;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

static int unload(void *name)
{
    struct module *m = module_of(name);
    if (m == NULL)
        return no_module(name);
    for (int i = 0; i < SIZED; i++)
        free(m->sized[i].line == NULL ? NULL : m->sized[i].at);
    memset(m->sized, 0, sizeof m->sized);
    free(m->text);
    m->text = NULL;
    return 0;
}

/* Returns the memory of a "global NAME BYTES INT..." line, whose numbers begin at text, and its
 * size in *n. The first call for a line allocates it. */
static char *sized_global(struct module *m, const char *line, const char *text, size_t *n)
{
    char *end;
    int i = 0;
    *n = strtoul(text, &end, 10);
    while (i < SIZED && m->sized[i].line != NULL && m->sized[i].line != line)
        i++;
    if (i == SIZED)
        abort();
    if (m->sized[i].line != NULL)
        return m->sized[i].at;
    m->sized[i].line = line;
    m->sized[i].at = calloc(1, *n);
    for (int *value = (int *)m->sized[i].at; *end == ' '; value++)
        *value = (int)strtol(end, &end, 10);
    return m->sized[i].at;
}

int cuModuleUnload(void *module)
{
    END(fake_needs_context() ?: LOCKED(unload(module)));
}

/* Finds a variable of a module: its address and size. Returns 0 or an error. */
static int find_global(uint64_t *at, size_t *n, void *module, const char *name)
{
    struct module *m = module_of(module);
    if (m == NULL)
        return no_module(module);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "global %s ", name);
    const char *line = strstr(m->text, wanted);
    if (line != NULL) {
        *at = (uintptr_t)sized_global(m, line, line + strlen(wanted), n);
        return 0;
    }
    if (line_of(m, "global", name) == NULL)
        return NOT_FOUND;
    *at = (uintptr_t)m->global;
    *n = GLOBAL;
    return 0;
}

int cuModuleGetGlobal_v2(uint64_t *at, size_t *n, void *module, const char *name)
{
    BEGIN(fake_needs_context() ?: LOCKED(find_global(at, n, module, name)));
    return 0;
}

#ifndef NO_LATE
/* A library is a module here. */
int cuLibraryGetGlobal(uint64_t *at, size_t *n, void *library, const char *name)
{
    BEGIN(fake_needs_context() ?: LOCKED(find_global(at, n, library, name)));
    return 0;
}
#endif

/* The handle of a kernel is the address of its line in the module's text. */
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    char *line = LOCKED(line_of(module_of(module), "kernel", name));
    BEGIN(fake_needs_context() ?: line == NULL ? NOT_FOUND : 0);
    *function = line;
    return 0;
}

/* Reports whether a kernel belongs to a module that was loaded in this context. */
static bool is_of(const char *function, const void *context)
{
    for (struct module *m = modules; m < modules + MODULES; m++)
        if (m->text != NULL && function >= m->text && function < m->text + strlen(m->text))
            return m->context == context;
    return false;
}

/* The arguments of the kernels of PTX are, in this order: at, operand, compare, fetched, op, claim
 * and free, as runtime/gpu/amo/amo.ptx explains them. */
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra)
{
    bool sized = gx != 0 && gy != 0 && gz != 0 && bx != 0 && by != 0 && bz != 0;
    const char *name = function == NULL ? "" : function;
    /* The bytes of the word that a kernel of PTX changes; 0: it is another kernel. */
    int amo = strncmp(name, ".entry shmemi_amo32(", 20) == 0   ? 4
              : strncmp(name, ".entry shmemi_amo64(", 20) == 0 ? 8
                                                               : 0;
    bool pair = strncmp(name, "kernel store_pair\n", 18) == 0;
    bool known = amo != 0 || pair || strncmp(name, "kernel store64\n", 15) == 0;
    BEGIN(!sized || !known || shared >= 1 << 16 || extra != NULL  ? INVALID_VALUE
          : !LOCKED(is_of(function, fake_stream_context(stream))) ? INVALID_HANDLE
                                                                  : fake_may_work(stream));
    if (amo != 0)
        return fake_later((struct work){.what = ATOMIC,
                                        .to = *(char **)arguments[0],
                                        .value = *(uint64_t *)arguments[1],
                                        .compare = *(uint64_t *)arguments[2],
                                        .fetched = *(uint64_t **)arguments[3],
                                        .until = (unsigned)amo | *(unsigned *)arguments[4] << 8,
                                        .claim = *(uint64_t **)arguments[5],
                                        .free = *(uint64_t *)arguments[6]},
                          stream);
    const uint64_t *value = pair ? (uint64_t *)arguments[0] + 1 : (uint64_t *)arguments[1];
    return fake_later((struct work){.what = STORE, .to = *(char **)arguments[0], .value = *value},
                      stream);
}

#ifndef NO_LATE
/* loading=1: the driver loads kernels with their module; 2: at their first launch. */
int cuModuleGetLoadingMode(int *mode)
{
    BEGIN(0);
    *mode = (int)fake_setting("loading", 2);
    return 0;
}
#endif
