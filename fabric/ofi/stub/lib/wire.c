/*
 * wire.c: the files of endpoints, where they are, and when they are removed.
 */
#define _GNU_SOURCE
#include "process.h"
#include "settings.h"
#include "wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Marks files of this layout, by "nic-wire" in ASCII and the sizes of the structs: a library with
 * another layout leaves them alone. */
#define MAGIC (UINT64_C(0x6e69632d77697265) ^ sizeof(struct wire) << 8 ^ sizeof(struct record))
#define PREFIX "libfabric-stub-"
#define ID_BITS 40 /* the bits that every provider's address has room for */

/* A random number of this process, by which peers see that the owner of a file still lives. */
static uint64_t owner_nonce;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of mappings */
static struct mapping *mappings;

/* Returns the folder of the endpoints' files: the setting dir, else /dev/shm, else $TMPDIR or /tmp.
 */
static const char *folder(void)
{
    static char found[256];
    const char *tmp = getenv("TMPDIR");
    if (found[0] == 0)
        setting_text("dir", found, sizeof found);
    if (found[0] == 0)
        snprintf(found, sizeof found, "%s",
                 access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm"
                 : tmp != NULL                        ? tmp
                                                      : "/tmp");
    return found;
}

/* Writes the path of the file of an endpoint. */
static void path_of(uint64_t id, char *path, size_t len)
{
    snprintf(path, len, "%s/" PREFIX "%010llx", folder(), (unsigned long long)id);
}

/* Writes the path of a completion queue's FIFO (its bell), by which other processes wake the thread
 * that waits for the queue. The name has the number of the owning process, which shows whether the
 * FIFO is still in use. */
static void bell_path(uint64_t cq_id, pid_t pid, char *path, size_t len)
{
    snprintf(path, len, "%s/" PREFIX "%010llx.%d", folder(), (unsigned long long)cq_id, (int)pid);
}

/* Draws a random number of ID_BITS, never 0: an endpoint, a queue or a key. */
uint64_t wire_draw(void)
{
    uint64_t id = 0;
    do {
        if (getrandom(&id, sizeof id, 0) != sizeof id)
            abort();
        id &= (UINT64_C(1) << ID_BITS) - 1;
    } while (id == 0);
    return id;
}

/* Reports whether the process that made a file has ended. That a process has its number proves
 * nothing, because numbers are used again. So this reads the owner's random number (owner_nonce) in
 * the memory of the process, which works even while the process is stopped by a signal. Without
 * permission to read, only the number shows whether the owner lives. */
static bool owner_gone(const struct wire *w)
{
    uint64_t there = 0;
    int fd = -1;
    if (w->pid == process_number())
        return w->owner_nonce != owner_nonce;
    ssize_t n = process_move(w->pid, w->space, &fd, w->owner_nonce_at, &there, sizeof there, false);
    const int err = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0 && (err == EPERM || err == EACCES))
        return !process_alive(w->pid);
    return n != sizeof there || there != w->owner_nonce;
}

/* Removes the files of killed processes, once in each process: nothing else would remove them.
 * FIFOs have the number of their process in the name, and the other files have it inside. The
 * caller holds lock. */
static void sweep(void)
{
    static bool swept;
    DIR *d = swept ? NULL : opendir(folder());
    swept = true;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char path[600];
        struct stat st;
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder(), e->d_name);
        const char *pid = strchr(e->d_name, '.');
        if (pid != NULL) {
            if (!process_alive((pid_t)atoi(pid + 1)))
                unlink(path);
            continue;
        }
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size >= sizeof(struct wire)) {
            struct wire *w = mmap(NULL, sizeof *w, PROT_READ, MAP_SHARED, fd, 0);
            if (w != MAP_FAILED && w->magic == MAGIC && owner_gone(w))
                unlink(path);
            if (w != MAP_FAILED)
                munmap(w, sizeof *w);
        }
        if (fd >= 0)
            close(fd);
    }
    if (d != NULL)
        closedir(d);
}

/* Removes the files of this process when the process exits without closing its endpoints. */
__attribute__((destructor)) static void leave(void)
{
    char path[320];
    for (struct mapping *m = mappings; m != NULL; m = m->next)
        if (m->local && m->w->pid == process_number()) {
            path_of(m->id, path, sizeof path);
            unlink(path);
            bell_path(m->w->cq_id, m->w->pid, path, sizeof path);
            unlink(path);
        }
}

/* Initialises the mutex of a file. Processes share the mutex, which can be used again if a process
 * ends that holds it. */
static void init_lock(struct wire *w)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&w->lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* Adds a mapping to the list of the mappings of this process. The caller holds lock. */
static void list_mapping(struct mapping *m)
{
    m->next = mappings;
    mappings = m;
}

/* Makes the file of an endpoint of this process and maps it; NULL: it could not. The file has this
 * process's random number (owner_nonce), and the address at which this process has that number
 * (owner_nonce_at). Another process reads the number there to find out whether the owner of the
 * file still lives (owner_gone). */
struct mapping *wire_create(uint64_t cq_size, int kind, uint64_t cq_id)
{
    char path[320];
    int fd = -1;
    uint64_t id = 0;
    struct mapping *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    sweep();
    while (owner_nonce == 0)
        owner_nonce = wire_draw();
    do {
        id = wire_draw();
        path_of(id, path, sizeof path);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    } while (fd < 0 && errno == EEXIST);
    const uint64_t ring_at = (sizeof(struct wire) + 4095) & ~UINT64_C(4095);
    const uint64_t ring_size = cq_size * sizeof(struct record) + WIRE_BYTES + 2 * WIRE_INLINE;
    m->size = ring_at + ring_size;
    m->id = id;
    m->local = true;
    m->wake_fd = m->memory_fd = -1;
    m->refs = 1;
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)m->size) == 0)
        at = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED) {
        if (fd >= 0)
            unlink(path);
        pthread_mutex_unlock(&lock);
        free(m);
        return NULL;
    }
    struct wire *w = m->w = at;
    w->id = id;
    w->pid = process_number();
    w->space = process_space();
    w->kind = kind;
    w->owner_nonce = owner_nonce;
    w->owner_nonce_at = (uint64_t)(uintptr_t)&owner_nonce;
    w->cq_id = cq_id;
    w->cq_size = cq_size;
    w->ring_at = ring_at;
    w->ring_size = ring_size;
    init_lock(w);
    w->magic = MAGIC;
    w->state = WIRE_OPEN;
    list_mapping(m);
    pthread_mutex_unlock(&lock);
    return m;
}

/* Maps the file of a peer's endpoint. Returns NULL if there is none, or if it is not that
 * endpoint's. The caller holds lock, and counts the first user. */
static struct mapping *map_peer(uint64_t id)
{
    char path[320];
    struct stat st;
    path_of(id, path, sizeof path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *at = MAP_FAILED;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size > sizeof(struct wire))
        at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return NULL;
    struct wire *w = at;
    struct mapping *m = w->magic == MAGIC && w->id == id ? calloc(1, sizeof *m) : NULL;
    if (m == NULL) {
        munmap(at, (size_t)st.st_size);
        return NULL;
    }
    *m = (struct mapping){
        .id = id, .w = w, .size = (size_t)st.st_size, .wake_fd = -1, .memory_fd = -1};
    list_mapping(m);
    return m;
}

/* Maps the file of an endpoint, or counts one more user of its mapping; NULL: there is none. */
struct mapping *wire_open(uint64_t id)
{
    pthread_mutex_lock(&lock);
    struct mapping *m = mappings;
    while (m != NULL && m->id != id)
        m = m->next;
    if (m == NULL)
        m = map_peer(id);
    if (m != NULL)
        m->refs++;
    pthread_mutex_unlock(&lock);
    return m;
}

/* Counts one more user of a mapping, for one more wire_close. */
void wire_add_user(struct mapping *m)
{
    pthread_mutex_lock(&lock);
    m->refs++;
    pthread_mutex_unlock(&lock);
}

/* Ends the use of a mapping; the last user unmaps it. */
void wire_close(struct mapping *m)
{
    pthread_mutex_lock(&lock);
    if (--m->refs == 0) {
        struct mapping **at = &mappings;
        while (*at != m)
            at = &(*at)->next;
        *at = m->next;
        munmap(m->w, m->size);
        if (m->wake_fd >= 0)
            close(m->wake_fd);
        if (m->memory_fd >= 0)
            close(m->memory_fd);
        free(m);
    }
    pthread_mutex_unlock(&lock);
}

/* Closes an endpoint to its peers and removes its file. Peers that still have it mapped see the
 * state. */
void wire_remove(struct mapping *m)
{
    char path[320];
    m->w->state = WIRE_CLOSED;
    path_of(m->id, path, sizeof path);
    unlink(path);
    for (int slot = 0; slot < (int)m->w->regions; slot++)
        wire_withdraw(m->w, slot);
    wire_close(m);
}

/* Reports whether an endpoint can be reached: it is open, and its process lives. */
bool wire_alive(struct mapping *m)
{
    return m->w->state == WIRE_OPEN && (m->local || !owner_gone(m->w));
}

/* Moves n bytes between this process and the owner of m. Returns 0 or an errno. */
static int move_all(struct mapping *m, uint64_t at, void *local, size_t n, bool write)
{
    while (n > 0) {
        ssize_t done = process_move(m->w->pid, m->w->space, &m->memory_fd, at, local, n, write);
        if (done <= 0)
            return done < 0 ? errno : ESRCH;
        local = (char *)local + done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return 0;
}

/* Writes n bytes to memory of an endpoint's process. Returns 0 or an errno. */
int wire_write(struct mapping *m, uint64_t to, const void *from, size_t n)
{
    if (!m->local)
        return move_all(m, to, (void *)(uintptr_t)from, n, true);
    memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}

/* Reads n bytes of memory of an endpoint's process. Returns 0 or an errno. */
int wire_read(struct mapping *m, uint64_t from, void *to, size_t n)
{
    if (!m->local)
        return move_all(m, from, to, n, false);
    memcpy(to, (const void *)(uintptr_t)from, n);
    return 0;
}

/* Makes the FIFO of a queue and returns a descriptor, which is open for reading and writing: then a
 * read never finds the end of the file. */
int wire_bell(uint64_t cq_id)
{
    char path[320];
    bell_path(cq_id, process_number(), path, sizeof path);
    if (mkfifo(path, 0600) != 0)
        return -1;
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* Removes the FIFO of a queue, and closes its descriptor. */
void wire_bell_remove(uint64_t cq_id, int fd)
{
    char path[320];
    bell_path(cq_id, process_number(), path, sizeof path);
    unlink(path);
    if (fd >= 0)
        close(fd);
}

/* Wakes the owner of a file if it waits (armed), by a byte in its FIFO. A full FIFO is readable as
 * well, so that error is ignored. */
void wire_ring(struct mapping *m)
{
    char path[320];
    if (atomic_exchange(&m->w->armed, 0) == 0)
        return;
    pthread_mutex_lock(&lock);
    if (m->wake_fd < 0) {
        bell_path(m->w->cq_id, m->w->pid, path, sizeof path);
        m->wake_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (m->wake_fd >= 0 && write(m->wake_fd, "", 1) < 0 && errno != EAGAIN && errno != EPIPE)
        perror("stub: bell");
    pthread_mutex_unlock(&lock);
}
