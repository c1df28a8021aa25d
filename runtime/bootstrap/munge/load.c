/*
 * load.c: loads the functions of libmunge, and calls them.
 *
 * The declarations are those of munge's interface, which is the same in all versions of
 * libmunge.so.2.
 */
#include "load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Values of munge.h. */
enum {
    OPTION_CIPHER = 0,
    OPTION_MAC = 1,
    OPTION_UID = 9,
    CIPHER_AES256 = 5,
    MAC_SHA256 = 5,
};

static struct {
    void *(*create)(void);
    void (*destroy)(void *context);
    int (*set)(void *context, int option, ...);
    const char *(*text)(void *context);
    const char *(*error)(int status);
    int (*encode)(char **cred, void *context, const void *bytes, int n);
    int (*decode)(const char *cred, void *context, void **bytes, int *n, uid_t *uid, gid_t *gid);
} munge;

/* Loads the library of munge and finds its functions. Returns 0, or -1 and the cause in why. */
int shmemi_munge_load(const char *name, char *why, size_t len)
{
    void *file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (file == NULL) {
        snprintf(why, len, "%s", dlerror());
        return -1;
    }
    struct {
        const char *name;
        void **to;
    } functions[] = {
        {"munge_ctx_create", (void **)&munge.create},
        {"munge_ctx_destroy", (void **)&munge.destroy},
        {"munge_ctx_set", (void **)&munge.set},
        {"munge_ctx_strerror", (void **)&munge.text},
        {"munge_strerror", (void **)&munge.error},
        {"munge_encode", (void **)&munge.encode},
        {"munge_decode", (void **)&munge.decode},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *functions[i].to = dlsym(file, functions[i].name);
        if (*functions[i].to == NULL) {
            snprintf(why, len, "it has no function %s", functions[i].name);
            dlclose(file);
            return -1;
        }
    }
    return 0;
}

/* Stores the reason of a failed call of munge in why, and returns -1. The context's text is more
 * exact than that of the status: it names the missing file. */
static int store_reason(void *context, int status, char *why, size_t len)
{
    const char *text = munge.text(context);
    snprintf(why, len, "%s", text ? text : munge.error(status));
    return -1;
}

/* Makes a credential of n bytes that only the user uid can decode, encrypted and authenticated;
 * load.h describes the arguments. Returns 0, or -1 and the cause in why. */
int shmemi_munge_encode(const void *bytes, size_t n, uint32_t uid, char **cred, char *why,
                        size_t len)
{
    void *context = munge.create();
    int status;
    if (context == NULL) {
        snprintf(why, len, "no memory");
        return -1;
    }
    /* The site's defaults may be to encrypt nothing. */
    if ((status = munge.set(context, OPTION_CIPHER, CIPHER_AES256)) != 0 ||
        (status = munge.set(context, OPTION_MAC, MAC_SHA256)) != 0 ||
        (status = munge.set(context, OPTION_UID, (uid_t)uid)) != 0 ||
        (status = munge.encode(cred, context, bytes, (int)n)) != 0)
        status = store_reason(context, status, why, len);
    munge.destroy(context);
    return status;
}

/* Checks a credential, and returns its bytes and the user who has made it. Returns 0, or -1 and the
 * cause in why. */
int shmemi_munge_decode(const char *cred, void **bytes, size_t *n, uint32_t *uid, char *why,
                        size_t len)
{
    void *context = munge.create();
    uid_t user = (uid_t)-1;
    gid_t group = (gid_t)-1;
    int size = 0, status;
    if (context == NULL) {
        snprintf(why, len, "no memory");
        return -1;
    }
    *bytes = NULL;
    if ((status = munge.decode(cred, context, bytes, &size, &user, &group)) != 0) {
        free(*bytes); /* expired and repeated credentials return their bytes, too */
        *bytes = NULL;
        status = store_reason(context, status, why, len);
    } else {
        *n = (size_t)size;
        *uid = user;
    }
    munge.destroy(context);
    return status;
}
