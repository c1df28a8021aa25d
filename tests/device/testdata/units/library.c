/*
 * library.c: stands for libshmem.so. It prints which units are loaded and unloaded, the result of
 * copying to one, and that host calls reach it.
 */
#include <shmem/unit.h>

#include <stdio.h>
#include <string.h>

static struct shmemi_unit *first;

static const char *base(const struct shmemi_unit *u)
{
    const char *slash = strrchr(u->file, '/');
    return slash != NULL ? slash + 1 : u->file;
}

void shmemi_device_register(struct shmemi_unit *u)
{
    printf("comes: %s, version %u, sizes %u %u %u\n", base(u), u->version, u->size, u->state_size,
           u->image_size);
    u->next = first;
    first = u;
}

void shmemi_device_unregister(struct shmemi_unit *u)
{
    struct shmemi_unit **at = &first;
    while (*at != NULL && *at != u)
        at = &(*at)->next;
    printf("goes: %s%s\n", base(u), *at == u ? "" : ", unknown");
    if (*at == u)
        *at = u->next;
}

int shmemi_context(const void *target, void *context, size_t size)
{
    memset(context, 0, size);
    printf("context: %d, %zu bytes\n", target != NULL, size);
    return 0;
}

int shmem_my_pe(void)
{
    return 42;
}

/* Has each unit copy the image, which takes a GPU. */
void set_all(void)
{
    struct shmemi_device_image image;
    memset(&image, 0, sizeof image);
    image.job.n_pes = 2;
    for (struct shmemi_unit *u = first; u != NULL; u = u->next) {
        int error = u->set(&image, 0);
        printf("set: %s: %s\n", base(u), error == 0 ? "done" : u->why(error));
    }
}
