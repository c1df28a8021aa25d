/*
 * mode_redirect.c: the program's calls go to libshmem, whatever library it was linked with.
 *
 * libshmem is opened from the shim's folder, or from where the setting says. The other library
 * stays in the process without being initialised. What its header has compiled into the program is
 * translated from the rows of its table (redirect_openmpi.c): handles, options and operations
 * before the call, handles and texts after it. The mode is the first in modes.c, so that the other
 * modes see the arguments that libshmem gets.
 */
#define _GNU_SOURCE
#include "redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The upper half of the handles that the shim gives to programs whose handles are pointers; the
 * lower half is libshmem's handle. The number is "ShMe" in ASCII, which no pointer begins with. */
#define TAG ((uintptr_t)0x53684d65u)
#define INVALID (-1) /* libshmem's handle of no team, and that of no context */

/* libshmem reads it (capi/front/program.c): 1 makes the globals of the program symmetric although
 * the program was linked with another library. */
PRELOAD_PUBLIC int shmem_preload_redirects;

static bool redirecting;                     /* SHMEM_PRELOAD names this mode */
static const char *path;                     /* of libshmem, from the setting */
static void *shmem, *nvshmem;                /* handles of libshmem's two libraries */
static const struct redirect_library *other; /* the program's; NULL: it needs no translation */
static bool ready;                           /* between init and finalize */

/* Functions of libshmem that the shim itself calls. */
static struct {
    int (*my_pe)(void);
    void (*query_initialized)(int *);
} ours;

/* Reports whether calls are redirected to libshmem. */
bool redirect_on(void)
{
    preload_start();
    return redirecting;
}

/* Returns the number of this PE, or -1 outside of a job, for messages. */
int redirect_pe(void)
{
    int initialised = 0;
    if (ours.query_initialized)
        ours.query_initialized(&initialised);
    return initialised ? ours.my_pe() : -1;
}

/* Prints an error with the call and this PE's number, and ends the process. */
void redirect_refuse(const char *call, const char *format, ...)
{
    char text[1024], pe[32] = "";
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    /* The environment variables with which some launchers tell a PE its number before init. */
    static const char *const variables[] = {"SHMEM_LAUNCHER_PE", "OMPI_COMM_WORLD_RANK",
                                            "PMIX_RANK", "PMI_RANK"};
    const char *number = NULL;
    for (size_t i = 0; !number && i < sizeof variables / sizeof *variables; i++)
        number = getenv(variables[i]);
    int n = redirect_pe();
    if (n >= 0)
        snprintf(pe, sizeof pe, " (PE %d)", n);
    else if (number)
        snprintf(pe, sizeof pe, " (PE %.10s)", number);
    preload_refuse("redirect: %s%s: %s", call, pe, text);
}

/* Ends the program because its device code cannot be redirected. */
void redirect_refuse_device(const char *call)
{
    redirect_refuse(call, "the program has device code of NVIDIA's libnvshmem_device.a linked in, "
                          "which libshmem cannot serve (compile its kernels with the headers in "
                          "share/nvshmem/include)");
}

/* Returns the function of libshmem with this name, or NULL. */
void *redirect_ours(const char *name)
{
    return dlsym(shmem, name);
}

/* Parses the only option of the mode, library=PATH. Returns what is wrong, or NULL. */
static const char *parse(char *text)
{
    char *key, *value;
    while ((key = preload_option(&text, &value)) != NULL) {
        if (strcmp(key, "library") != 0 || !value || !*value)
            return "its only option is library=PATH";
        path = value;
    }
    redirecting = true;
    return NULL;
}

/* ------------------------------------------------------------- the libraries */

/* Opens a library of libshmem: libshmem.so from the path in the setting, and any other file from
 * the same folder. Without the setting, that is the shim's folder. */
static void *open_beside(const char *file)
{
    Dl_info at;
    char whole[4096];
    if (path && strcmp(file, "libshmem.so") == 0) {
        snprintf(whole, sizeof whole, "%s", path);
    } else {
        const char *from = path;
        if (!from && dladdr(preload_names, &at))
            from = at.dli_fname;
        const char *slash = from ? strrchr(from, '/') : NULL;
        snprintf(whole, sizeof whole, "%.*s%s", slash ? (int)(slash - from) + 1 : 0,
                 from ? from : "", file);
    }
    void *library = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        redirect_refuse("shmem_init", "open %s: %s (name libshmem.so with redirect,library=PATH)",
                        whole, dlerror());
    return library;
}

/* Never called: the address of this function marks a call that libshmem does not have, and before()
 * refuses such a call with an error. */
static void missing(void)
{
}

/* Opens libshmem, and finds out which library the program was linked with. */
static void start(void)
{
    shmem = open_beside("libshmem.so");
    ours.my_pe = redirect_ours("shmem_my_pe");
    ours.query_initialized = redirect_ours("shmem_query_initialized");
    if (!ours.my_pe || !ours.query_initialized)
        redirect_refuse("shmem_init",
                        "%s is not libshmem (name another file with redirect,library=)",
                        path ? path : "libshmem.so beside the shim");
    other = redirect_other_library();
    shmem_preload_redirects = 1;
}

/* Returns libshmem's function for a call, by the call's own name or by the one in redirect_names.
 */
static void *find_function(unsigned number)
{
    const struct preload_call *c = &preload_calls[number];
    void *library = shmem;
    if (c->flags & PRELOAD_NVSHMEM) {
        if (!nvshmem)
            nvshmem = open_beside("libshmem_nvshmem.so");
        library = nvshmem;
    }
    void *found = dlsym(library, preload_name(number));
    for (const struct redirect_name *n = redirect_names; !found && n->theirs; n++)
        if (strcmp(n->theirs, preload_name(number)) == 0)
            found = dlsym(library, n->ours);
    return found ? found : (void *)missing;
}

/* ---------------------------------------------------------------- before init */

/* Parses a size as libshmem does, for example 1.5g; 0 if the text is not a size. */
static double bytes_of(const char *text)
{
    char *end;
    double n = strtod(text, &end);
    const char *units = "kmgt";
    if (end == text || n <= 0)
        return 0;
    const char *unit = *end ? strchr(units, *end | 0x20) : NULL; /* in lower case */
    if (unit) {
        for (const char *u = units; u <= unit; u++)
            n *= 1024;
        end++;
    }
    return *end ? 0 : n;
}

/* Adds the bytes that the shim allocates on the heap to SHMEM_SYMMETRIC_SIZE, or, if that is not
 * set, to the variable that the program's library reads, and stores the sum in
 * SHMEM_SYMMETRIC_SIZE. The other variables are removed, so that libshmem does not warn of a second
 * value. */
static void set_heap(void)
{
    static const char name[] = "SHMEM_SYMMETRIC_SIZE";
    const char *size = getenv(name);
    if (!size)
        size = getenv("SMA_SYMMETRIC_SIZE");
    if (!size && other->heap)
        size = getenv(other->heap);
    double n = size ? bytes_of(size) : 0;
    char text[32];
    /* With 64 KiB to spare, as the allocator rounds sizes up. */
    snprintf(text, sizeof text, "%.0f", n + (double)redirect_sets_bytes + 65536);
    if (n > 0)
        setenv(name, text, /* overwrite */ 1);
    else if (size) /* not a size: libshmem reports the error */
        setenv(name, size, /* overwrite */ 1);
    unsetenv("SMA_SYMMETRIC_SIZE");
    if (other->heap)
        unsetenv(other->heap);
}

/* Returns the handle, a pointer, that the program gets for a handle of libshmem, a number: TAG in
 * the upper half and the number in the lower. NULL for the invalid handle. */
static uintptr_t handle_out(int32_t handle)
{
    return handle == INVALID ? 0 : TAG << 32 | (uint32_t)handle;
}

/* Writes handles into the variables of the program's library, such as oshmem_team_world; into the
 * program's copy of a variable if there is one. */
static void set_symbols(void)
{
    for (const struct redirect_symbol *s = other->symbols; s->name; s++) {
        uintptr_t *at = dlsym(RTLD_DEFAULT, s->name);
        if (at)
            *at = handle_out(s->handle);
    }
}

/* --------------------------------------------------------------- translation */

/* Where libshmem writes the handles that a call makes, because they are shorter than the program's,
 * and the address that the program has passed for them. A thread is in one call at a time. No call
 * makes more than two handles (shmem_team_split_2d makes two teams). */
static __thread struct {
    int n;
    int32_t handle[2];
    uintptr_t *place[2];
} out __attribute__((tls_model("initial-exec")));

/* Returns the handle of libshmem for a program's handle, the reverse of handle_out, as a signed
 * number in a register. Ends the process if the shim did not make it; `what` is "team" or
 * "context", for the message. */
static uintptr_t handle_in(uintptr_t theirs, const struct preload_frame *f, const char *what)
{
    if (theirs == 0)
        return (uintptr_t)(intptr_t)INVALID;
    if (theirs >> 32 != TAG)
        redirect_refuse(preload_name(f->number),
                        "%#lx is no %s that the program has got from a call or from the library's "
                        "variables (pass one of those)",
                        (unsigned long)theirs, what);
    return (uintptr_t)(intptr_t)(int32_t)(uint32_t)theirs;
}

/* Translates the operation of a signal from its value in the header with which the program was
 * compiled (theirs) to libshmem's. A value that the header does not have is refused. */
static long translate_signal(const struct redirect_value *values, long theirs,
                             const struct preload_frame *f)
{
    for (const struct redirect_value *v = values; v->name; v++)
        if (v->theirs == theirs)
            return v->ours;
    redirect_refuse(preload_name(f->number),
                    "%ld is no operation of a signal in the header of %s (use SHMEM_SIGNAL_SET or "
                    "SHMEM_SIGNAL_ADD)",
                    theirs, other->name);
}

/* Translates the options of a context, bits of a mask, from the values in the header with which the
 * program was compiled (theirs) to libshmem's. Options that the header does not have are refused.
 */
static long translate_options(const struct redirect_value *values, long theirs,
                              const struct preload_frame *f)
{
    long result = 0, known = 0;
    for (const struct redirect_value *v = values; v->name; v++) {
        known |= v->theirs;
        if (theirs & v->theirs)
            result |= v->ours;
    }
    if (theirs & ~known)
        redirect_refuse(preload_name(f->number),
                        "%#lx has options that the header of %s does not have (leave out %#lx)",
                        (unsigned long)theirs, other->name, (unsigned long)(theirs & ~known));
    return result;
}

/*
 * For calls on active sets: replaces pSync and, unless work is -1, pWrk by arrays of libshmem's
 * sizes. sync and work are their positions among the arguments; PE_start, which letter 1 of the
 * table marks, is followed by the stride and the size.
 */
static void translate_sets(struct preload_frame *f, int sync, int work)
{
    const char *first = strchr(preload_calls[f->number].letters, '1');
    uintptr_t our_sync, our_work;
    if (!first || !other->small_sync)
        return;
    int at = (int)(first - preload_calls[f->number].letters);
    if (!redirect_sets_find((int)f->arg[at], (int)f->arg[at + 1], (int)f->arg[at + 2], f->arg[sync],
                            preload_name(f->number), &our_sync, &our_work))
        return;
    f->arg[sync] = our_sync;
    if (work >= 0)
        f->arg[work] = our_work;
}

/* Replaces the arguments of a call, as the program's header defines them, by libshmem's. */
static void translate_arguments(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    int sync = -1, work = -1;
    out.n = 0;
    for (int i = 0; c->letters[i]; i++) {
        uintptr_t *arg = &f->arg[i];
        switch (c->letters[i]) {
        case 'x':
            *arg = handle_in(*arg, f, "context");
            break;
        case 't':
            *arg = handle_in(*arg, f, "team");
            break;
        case 'X':
        case 'T':
            if (*arg && out.n < 2) {
                out.handle[out.n] = INVALID;
                out.place[out.n] = (uintptr_t *)*arg;
                *arg = (uintptr_t)&out.handle[out.n++];
            }
            break;
        case 'O':
            if (other->signals->name)
                *arg = (uintptr_t)translate_signal(other->signals, (int)*arg, f);
            break;
        case 'f':
            if (c->kind == PRELOAD_KIND_CTX)
                *arg = (uintptr_t)translate_options(other->options, (long)*arg, f);
            break;
        case 'Y':
            sync = i;
            break;
        case 'k':
            work = i;
            break;
        default:
            break;
        }
    }
    if (sync >= 0)
        translate_sets(f, sync, work);
}

/* Called before each call: refuses a call that libshmem cannot serve, and translates the arguments
 * of any other. Before the first init it also refuses unknown names and sizes the heap. Returns
 * true: the call is made. */
static bool before(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (f->number == PRELOAD_nvshmemid_hostlib_init_attr ||
        f->number == PRELOAD_nvshmemid_hostlib_finalize)
        redirect_refuse_device(preload_name(f->number));
    if (f->real == (void *)missing)
        redirect_refuse(preload_name(f->number),
                        "libshmem has no function of this name (leave the call out)");
    if (!other || c->flags & PRELOAD_NVSHMEM)
        return true;
    if (c->kind == PRELOAD_KIND_INIT && !ready) {
        redirect_refuse_names(other, preload_name(f->number));
        set_heap();
    }
    if (other->pointers)
        translate_arguments(f);
    return true;
}

/* Called after each call: translates the handles that libshmem has written. After the first init
 * that has succeeded it sets the variables from which the program reads handles. The version and
 * the name that the program asks for are those of its own library. */
static void after(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (!other || c->flags & PRELOAD_NVSHMEM)
        return;
    for (int i = 0; i < out.n; i++)
        *out.place[i] = handle_out(out.handle[i]);
    out.n = 0;
    if (c->kind == PRELOAD_KIND_INIT && !ready && redirect_pe() >= 0) {
        set_symbols();
        if (other->small_sync)
            redirect_sets_open();
        ready = true;
    } else if (f->number == PRELOAD_shmem_info_get_version) {
        *(int *)f->arg[0] = other->major;
        *(int *)f->arg[1] = other->minor;
    } else if (f->number == PRELOAD_shmem_info_get_name) {
        strcpy((char *)f->arg[0], other->vendor); /* shorter than SHMEM_MAX_NAME_LEN */
    }
}

/* After the last finalize, frees the list of the arrays for active sets. An earlier finalize, of a
 * program that has called init more than once, leaves the PE in the job, so that redirect_pe
 * returns its number. At the end of the process (at_exit) nothing is freed. */
static void finish(bool at_exit)
{
    if (at_exit || redirect_pe() >= 0)
        return;
    if (ready && other && other->small_sync)
        redirect_sets_close();
    ready = false;
}

const struct preload_mode preload_redirect = {
    .word = "redirect",
    .form = "redirect[,library=PATH]",
    .set = parse,
    .start = start,
    .before = before,
    .after = after,
    .find = find_function,
    .finish = finish,
};
