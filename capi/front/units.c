/*
 * units.c: the translation units with kernels (units) of the program and of libraries that it
 * loads.
 *
 * A unit registers itself before main or when its library is loaded. Its kernels read the job's
 * state from the unit's own constant memory (shmem/unit.h). The library makes an image of the state
 * once in a job, when the first unit needs it, and copies it to each unit.
 */
#include "units.h"

#include "context.h"
#include "error.h"

#include <shmem/unit.h>

#include <pthread.h>
#include <stdio.h>

#pragma GCC visibility push(default)
void shmemi_device_register(struct shmemi_unit *unit);
void shmemi_device_unregister(struct shmemi_unit *unit);
int shmemi_context(const void *target, void *context, size_t size);
#pragma GCC visibility pop

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the variables below */
/* The units that have registered. */
static struct shmemi_unit *units;

static bool active; /* the image is made, so units may have copies of it */
static struct shmemi_device_image image;
static uint64_t image_at; /* the image's address for kernels */

/* Reports whether a translation unit with kernels has registered. */
bool shmemi_units_present(void)
{
    pthread_mutex_lock(&mutex);
    bool present = units != NULL;
    pthread_mutex_unlock(&mutex);
    return present;
}

/* Returns 0 if a translation unit with kernels was compiled with this library's headers, so that it
 * has the same layout of the job's state; else -1 and an error. */
static int check_layout(const struct shmemi_unit *u, char *error, size_t size)
{
    if (u->version == SHMEMI_WIRE_VERSION && u->size == sizeof *u &&
        u->state_size == sizeof(struct shmemi_device_state) && u->image_size == sizeof image)
        return 0;
    /* If the size differs, u->file may be at another offset, so the message does not name it. */
    snprintf(error, size,
             "the kernels of %s were compiled with version %u of shmem/shmem.cuh (%u bytes of "
             "state), the library has version %d (%zu bytes) (compile them with the header that "
             "came with this library)",
             u->size == sizeof *u ? u->file : "this program", u->version, u->state_size,
             SHMEMI_WIRE_VERSION, sizeof(struct shmemi_device_state));
    return -1;
}

/* Copies the image of the job's state to a unit's constant memory. Returns 0, or -1 and an error.
 */
static int copy_image(struct shmemi_unit *u, char *error, size_t size)
{
    int code = u->set(&image, image.job.device);
    if (code == 0)
        return 0;
    snprintf(error, size,
             "the kernels of %s cannot be given the job's state on GPU %d: %s (compile them for "
             "the architecture of this GPU)",
             u->file, image.job.device, u->why(code));
    return -1;
}

/* Calls the core to make the image of the job's state for kernels. Returns 0, or -1 and an error.
 * On a PE without a GPU it makes none, returns 0 and leaves `active` false. */
static int make_image(char *error, size_t size)
{
    const struct shmemi_core *core = shmemi_state.core;
    const void *made = NULL;
    if (core->kernels(&made, &image_at) != SHMEMI_DONE) {
        snprintf(error, size, "%s", core->error());
        return -1;
    }
    if (made != NULL) {
        memcpy(&image, made, sizeof image);
        active = true;
    }
    return 0;
}

/* Copies the job's state, at init, to all translation units that have kernels. *has_kernels becomes
 * true if there is such a unit and this PE has a GPU. Returns 0, or not 0 after it has written the
 * error. */
int shmemi_units_begin(bool *has_kernels, char *error, size_t size)
{
    int rc = 0;
    pthread_mutex_lock(&mutex);
    for (struct shmemi_unit *u = units; u != NULL && rc == 0; u = u->next)
        rc = check_layout(u, error, size);
    if (rc == 0 && units != NULL)
        rc = make_image(error, size);
    for (struct shmemi_unit *u = units; active && u != NULL && rc == 0; u = u->next)
        rc = copy_image(u, error, size);
    *has_kernels = rc == 0 && active;
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* Makes the image of the job's state, unless it is made already. Returns 0, or -1 and an error,
 * also if this PE has no GPU. */
int shmemi_units_make_image(char *error, size_t size)
{
    pthread_mutex_lock(&mutex);
    int rc = active ? 0 : make_image(error, size);
    if (rc == 0 && !active) {
        snprintf(error, size, "this PE has no GPU (run it on one, or do not make this call)");
        rc = -1;
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* Returns the image of the job's state that kernels use. */
const void *shmemi_units_image(void)
{
    return &image;
}

/* At finalize: clears the units' copies of the job's state, so that kernels that run later find no
 * job. reset: the program has reset the GPU, which has freed the copies. */
void shmemi_units_end(bool reset)
{
    pthread_mutex_lock(&mutex);
    /* After a reset of the GPU no copy is left to clear, and a driver call would make a new CUDA
     * context. */
    for (struct shmemi_unit *u = units; active && !reset && u != NULL; u = u->next)
        (void)u->set(NULL, image.job.device); /* NULL: zeros */
    active = false;
    pthread_mutex_unlock(&mutex);
}

/* Called by each unit before main or when its library is loaded. During a job it copies the job's
 * state to the unit; otherwise init does (shmemi_units_begin). */
void shmemi_device_register(struct shmemi_unit *unit)
{
    char error[512] = "";
    int rc = 0;
    pthread_mutex_lock(&mutex);
    unit->next = units;
    units = unit;
    if (shmemi_state.n_pes > 0) {
        rc = check_layout(unit, error, sizeof error);
        if (rc == 0 && !active)
            rc = make_image(error, sizeof error);
        if (rc == 0 && active)
            rc = copy_image(unit, error, sizeof error);
    }
    pthread_mutex_unlock(&mutex);
    if (rc != 0)
        shmemi_abort("loading a library with kernels", NULL, "%s", error);
}

/* Called by each unit when its library is unloaded: removes the unit from the list, because its
 * memory is unmapped with the library. */
void shmemi_device_unregister(struct shmemi_unit *unit)
{
    pthread_mutex_lock(&mutex);
    for (struct shmemi_unit **p = &units; *p != NULL; p = &(*p)->next) {
        if (*p == unit) {
            *p = unit->next;
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
}

/* Implements shmem_ctx(target) of the host: fills in a context object for kernels, which has the
 * addresses of the image and of the heap. size: of the object in the program's headers. Returns 0;
 * errors end the job. */
int shmemi_context(const void *target, void *context, size_t size)
{
    static const char call[] = "shmem_ctx";
    struct {
        uint64_t image, heap;
    } made;
    char error[512] = "";
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (size != sizeof made)
        shmemi_abort(call, "build the program with the headers of this library",
                     "a context has %zu bytes in the program and %zu in the library", size,
                     sizeof made);
    pthread_mutex_lock(&mutex);
    int rc = active ? 0 : make_image(error, sizeof error);
    pthread_mutex_unlock(&mutex);
    if (rc != 0)
        shmemi_abort(call, NULL, "%s", error);
    if (!active)
        shmemi_abort(call, "run the PE on a GPU, or do not make this call", "this PE has no GPU");
    if (!shmemi_in_heap(target, 1))
        shmemi_abort(call, "pass memory from shmem_malloc",
                     "%p is not a symmetric address (the heap is %#zx bytes at %p)", target,
                     shmemi_state.heap_size, (void *)shmemi_state.heap_base);
    made.image = image_at;
    made.heap = image.job.heap;
    memcpy(context, &made, sizeof made);
    return 0;
}
