/*
 * modules.c: kernels in modules that the program loads itself (cuModuleLoad, cuLibraryLoad). These
 * do not register themselves with the library, so the program passes each one. A module has its
 * copy of the job's state in a variable, which the driver finds by its name.
 */
#include "modules.h"

#include "archive.h"
#include "error.h"
#include "spell.h"
#include "units.h"

#include "zz_stream.h"

#include <shmem/unit.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the list of modules */

/* The modules and libraries whose variables have the job's state. */
static struct module {
    struct module *next;
    const void *handle;
    void *at; /* the variable, in the memory of the GPU */
    size_t size;
} * modules;

/* Prints the error of a call, with NVSHMEM's names if the program calls the library by those, and
 * returns -1. It does not end the program, which may be able to continue without the kernels.
 * remedy is what the user can do. NULL: cause may end with a remedy, in parentheses; if it does
 * not, the advice to run shmem-doctor is added. */
static int report_error(const char *call, const char *cause, const char *remedy)
{
    char line[2048];
    if (remedy == NULL)
        snprintf(line, sizeof line, "%s: %s%s", call, cause, shmemi_remedy_after(cause));
    else
        snprintf(line, sizeof line, "%s: %s (%s)", call, cause, remedy);
    shmemi_use_program_names(line, sizeof line);
    shmemi_state.core->report(line);
    return -1;
}

/* Lists a module with its variable, unless the variable is listed already. The caller has locked
 * the mutex. Returns 0, or -1 after it has printed an error. */
static int list_module(const void *handle, void *at, size_t size, const char *call)
{
    for (struct module *m = modules; m != NULL; m = m->next)
        if (m->at == at)
            return 0;
    struct module *m = malloc(sizeof *m);
    if (m == NULL)
        return report_error(call, "no memory to keep track of the code", "free some");
    *m = (struct module){modules, handle, at, size};
    modules = m;
    return 0;
}

/* Copies the job's state to the variable of a module or library, and lists the module, so that
 * finalize clears the variable. The variable is shmemi_here in code that was compiled against this
 * library's headers; code without it may be of NVIDIA's device archive, which has another state
 * (archive.h). Returns 0, or non-zero after it has printed an error: -1, or a status of NVSHMEM. */
static int copy_state(enum shmemi_module_what what, const void *handle, const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    void *at = NULL;
    size_t size = 0;
    char error[1024] = "";
    if (handle == NULL)
        return report_error(call, "the handle is NULL", "load the code first");
    if (shmemi_units_make_image(error, sizeof error) != 0)
        return report_error(call, error, NULL);
    if (core->module_variable(what, (void *)handle, "shmemi_here", &at, &size) != SHMEMI_DONE) {
        char cause[1024];
        snprintf(cause, sizeof cause, "%s", core->error());
        int rc = shmemi_archive_module(what, handle, &at, &size, error, sizeof error);
        if (rc == SHMEMI_ARCHIVE_NONE)
            return report_error(call, cause, NULL);
        if (rc == 0)
            return list_module(handle, at, size, call);
        (void)report_error(call, error, NULL);
        return rc;
    }
    if (size != sizeof(struct shmemi_device_image)) {
        snprintf(error, sizeof error,
                 "the code was compiled with another version of shmem/shmem.cuh (%zu bytes of "
                 "state), the library has version %d (%zu bytes)",
                 size, SHMEMI_WIRE_VERSION, sizeof(struct shmemi_device_image));
        return report_error(call, error, "compile it with the header of this library");
    }
    if (core->gpu_move(at, shmemi_units_image(), size) != SHMEMI_DONE)
        return report_error(call, core->error(), NULL);
    return list_module(handle, at, size, call);
}

/* Clears the job's state in the variable of a module or library, and removes that from the list
 * even if the driver refuses. The caller has locked the mutex, as for copy_state. Returns 0, or -1
 * after it has printed an error. */
static int clear_state(const void *handle, const char *call)
{
    for (struct module **p = &modules; *p != NULL; p = &(*p)->next) {
        struct module *m = *p;
        if (m->handle != handle)
            continue;
        int rc = shmemi_state.core->gpu_clear(m->at, m->size);
        *p = m->next;
        free(m);
        return rc == SHMEMI_DONE ? 0 : report_error(call, shmemi_state.core->error(), NULL);
    }
    return report_error(call, "the code has not been initialised",
                        "pass a handle that was passed to an init call");
}

/* Copies the job's state to the kernels of a module or library. Returns 0, or non-zero after it has
 * printed an error. */
static int init_module(enum shmemi_module_what what, const void *handle, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    pthread_mutex_lock(&mutex);
    int rc = copy_state(what, handle, call);
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* Clears the job's state in a module or library, which the program unloads next. Returns 0, or -1
 * after it has printed an error. After shmem_finalize, which has cleared the state already, it does
 * nothing: Numba's finalizers, which unload modules, run when the process ends. */
static int finalize_module(const void *handle, const char *call)
{
    if (shmemi_state.n_pes == 0)
        return 0;
    pthread_mutex_lock(&mutex);
    int rc = clear_state(handle, call);
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* Clears the job's state in all modules. reset: the program has reset the GPU, so that there is no
 * module any more. */
void shmemi_modules_end(bool reset)
{
    pthread_mutex_lock(&mutex);
    while (modules != NULL) {
        struct module *m = modules;
        if (!reset) {
            (void)clear_state(m->handle, "shmem_finalize"); /* which removes m from the list */
            continue;
        }
        modules = m->next;
        free(m);
    }
    pthread_mutex_unlock(&mutex);
}

/* Implements shmemx_cumodule_init: copies the job's state to the symbol of a module that the CUDA
 * driver has loaded, so that its kernels can call the library. */
int shmemi_cumodule_init(struct CUmod_st *module, const char *call)
{
    return init_module(SHMEMI_MODULE, module, call);
}

/* Implements shmemx_cumodule_finalize: clears the job's state in a module, before the module is
 * unloaded. */
int shmemi_cumodule_finalize(struct CUmod_st *module, const char *call)
{
    return finalize_module(module, call);
}

/* Implements shmemx_culibrary_init: copies the job's state to the symbol of a library that the CUDA
 * driver has loaded, so that its kernels can call the library. */
int shmemi_culibrary_init(struct CUlib_st *library, const char *call)
{
    return init_module(SHMEMI_LIBRARY, library, call);
}

/* Implements shmemx_culibrary_finalize: clears the job's state in a library, before the library is
 * unloaded. */
int shmemi_culibrary_finalize(struct CUlib_st *library, const char *call)
{
    return finalize_module(library, call);
}
