/*
 * processor.c: yielding the processor in a wait.
 *
 * A PE that has a processor of its own, by the sets of processors to which the PEs are bound, spins
 * in a wait and yields now and then. The kernel may still run another thread there: one of another
 * program, or another PE, since PEs that are not bound can share one processor while another is
 * idle. A thread detects that by a yield that let another thread run, which the kernel counts as an
 * involuntary switch. From then on it yields each time it polls.
 *
 * 31 and 32 PEs on 32 processors shared processors for whole seconds, and a barrier took 14 to 120
 * us instead of 2 (Xeon, Linux 6.18): a thread that has just run does not move to an idle
 * processor, and a thread that wakes while nearly all processors are busy does not search for an
 * idle one. The same holds for 64 PEs, of which three shared some processors and one was alone on
 * others. So a thread that shares its processor for long moves by itself. Each PE publishes the
 * processor of its waiting thread; a thread that moves chooses the processor with the fewest PEs.
 * Its affinity stays the same. The kernel moves threads, too, so each yield publishes the processor
 * again: PEs that chose by old data stayed badly distributed for 50 ms. The kernel moves computing
 * threads away from each other while others sleep, so short sleeps are no reason to check again
 * soon.
 *
 * sched_yield puts a thread at the end of the queue, and a thread that computes runs for its slice
 * of 3 ms before another one runs, even one that was woken. Beside six computing threads on two
 * processors, eight PEs with 3 s of work took 86 s. Since Linux 6.12 a thread may have slices of
 * its own length, and the scheduler prefers threads with shorter slices: then it took 12 s. Threads
 * with short slices are switched more often, which took up to a twentieth of their throughput where
 * two shared a processor. So a thread gets short slices only after one yield of half a millisecond.
 *
 * It goes back to its usual slices after many yields without a long one. A yield costs a thread
 * what is left of its slice, so beside PEs with slices of 2.8 ms one with .1 ms is chosen up to 28
 * times before one of them. When threads did not go back, each long yield left one more PE with
 * short slices: of 64 PEs on 32 processors 27 to 58 had them, and a barrier took 16 to 50 us. It
 * takes 6 if all have the same.
 */
#define _GNU_SOURCE
#include "processor.h"

#include "clock.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* After a yield that takes LONG_YIELD_NS a thread gets short slices, of SLICE_NS. */
#define LONG_YIELD_NS 500000u
#define SLICE_NS 100000u

/* After this many quick yields in a row a thread gets its usual slices back. They take .3 to 1 ms
 * if all PEs yield. Beside a thread that computes there are no more than some 100 between two long
 * ones, at the slowest tick of the kernel, 10 ms. */
#define QUICK_YIELDS 1000

/* After a yield that let another thread run, the processor counts as shared until this many yields
 * in a row have let no other thread run. */
#define QUIET_YIELDS 64

/* A thread that has shared its processor for MOVE_FIRST_NS searches for another one, and then waits
 * twice as long before each next search, up to MOVE_LAST_NS. A search takes some microseconds, a
 * move 50. */
#define MOVE_FIRST_NS 200000u
#define MOVE_LAST_NS 16000000u

/* A thread moves to another processor only after this many quick yields in a row. Beside six
 * computing threads on two processors, eight PEs that moved at any time took two to three times as
 * long for a barrier. */
#define MOVE_YIELDS 200

static _Thread_local struct {
    uint32_t brief; /* quick yields until the thread gets its usual slices back; 0: it has them */
    uint64_t usual_slice;   /* the slice that the thread had before short ones */
    uint32_t shared_yields; /* yields without a switch until its processor counts as unshared; 0: it
                               does */
    uint64_t since;         /* when it began to share its processor, or last searched */
    uint64_t interval;      /* the time from `since` to the next search */
} mine;

/* Reports whether the calling thread shares its processor: there are more PEs than processors, or
 * its last yields let another thread run. */
bool shmemi_processor_is_shared(void)
{
    return shmemi_state.crowded || mine.shared_yields > 0;
}

/* struct sched_attr, which glibc has only since 2.41. slice is the kernel's sched_runtime, in
 * nanoseconds. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice;
    uint64_t deadline;
    uint64_t period;
    uint32_t clamp_min;
    uint32_t clamp_max;
};

/* Reads the thread's scheduling attributes. Returns false if its scheduling class is not the normal
 * one. A kernel that does not report the slice sets 0. */
static bool read_slice(struct attributes *a)
{
    *a = (struct attributes){.size = sizeof *a};
    return syscall(SYS_sched_getattr, 0, a, sizeof *a, 0) == 0 && a->policy == SCHED_OTHER;
}

/* Sets short slices for this thread, if the kernel lets it choose: one that does not reports a
 * slice of 0. */
static void shorten_slices(void)
{
    struct attributes a;
    if (!read_slice(&a) || a.slice <= SLICE_NS)
        return;
    uint64_t usual = a.slice;
    a.slice = SLICE_NS;
    if (syscall(SYS_sched_setattr, 0, &a, 0) == 0)
        mine.usual_slice = usual;
}

/* Restores the thread's usual slices, unless the program has set others meanwhile. */
static void restore_slices(void)
{
    struct attributes a;
    if (mine.usual_slice != 0 && read_slice(&a) && a.slice == SLICE_NS) {
        a.slice = mine.usual_slice;
        syscall(SYS_sched_setattr, 0, &a, 0);
    }
    mine.usual_slice = 0;
}

/* Returns how often the kernel has taken the processor from this thread (involuntary switches). A
 * yield after which the number is higher has let another thread run. */
static long forced_switches(void)
{
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

/* Writes the number of the processor on which this thread runs to the PE's control page, where the
 * other PEs of the node read it. */
static void publish_processor(int cpu)
{
    uint32_t *shown = &shmemi_my_ctl()->processor;
    if (cpu >= 0 && shmemi_read_once(shown) != (uint32_t)cpu + 1)
        shmemi_write_once(shown, (uint32_t)cpu + 1);
}

/* Publishes the processor on which this thread runs now. */
void shmemi_processor_publish(void)
{
    publish_processor(sched_getcpu());
}

/* Publishes the processor after a sleep. If this thread began to share its processor, or last
 * searched for a better one, long ago, that no longer counts. */
void shmemi_processor_slept(void)
{
    shmemi_processor_publish();
    if (shmemi_now() - mine.since >= MOVE_LAST_NS)
        mine.since = 0;
}

/* Sets short slices for this thread after a long yield, so that threads that compute do not delay
 * it by whole slices of their own, and restores its usual slices after QUICK_YIELDS quick yields in
 * a row. */
static void choose_slice(bool long_yield)
{
    if (long_yield) {
        if (mine.brief == 0)
            shorten_slices();
        mine.brief = QUICK_YIELDS;
    } else if (mine.brief > 0 && --mine.brief == 0) {
        restore_slices();
    }
}

/* Yields, chooses by the time that it took whether this thread has short slices, and publishes the
 * processor. Returns the time afterwards. */
static uint64_t yield_and_time(void)
{
    uint64_t before = shmemi_now();
    sched_yield();
    uint64_t now = shmemi_now();
    choose_slice(now - before >= LONG_YIELD_NS);
    shmemi_processor_publish();
    return now;
}

/* Counts the PEs of this node on each processor, by what they have published last: pes_on[i] are
 * those on processor i. */
static void count_pes(uint16_t pes_on[CPU_SETSIZE])
{
    const struct shmemi_state *s = &shmemi_state;
    memset(pes_on, 0, CPU_SETSIZE * sizeof *pes_on);
    for (uint32_t i = 0; i < s->node_pes; i++) {
        struct shmemi_ctl *ctl = shmemi_ctl_of(s->peer_base[s->node_members[i]]);
        uint32_t shown = shmemi_read_once(&ctl->processor);
        if (shown > 0 && shown <= CPU_SETSIZE)
            pes_on[shown - 1]++;
    }
}

/* Moves to the processor with the fewest PEs, unless that would gain nothing. Threads that search
 * at the same time begin at different processors. */
static void move_to_idlest(void)
{
    uint16_t pes_on[CPU_SETSIZE];
    cpu_set_t allowed, best_only;
    int present = sched_getcpu(), best = present;
    if (present < 0 || present >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    count_pes(pes_on);
    for (int i = 1; i < CPU_SETSIZE; i++) {
        int cpu = (present + i) % CPU_SETSIZE;
        if (CPU_ISSET(cpu, &allowed) && pes_on[cpu] < pes_on[best])
            best = cpu;
    }
    if (pes_on[best] + 1 >= pes_on[present])
        return;              /* after the move there would be as many on that one */
    publish_processor(best); /* published before the move, for threads that search meanwhile */
    CPU_ZERO(&best_only);
    CPU_SET(best, &best_only);
    /* With an affinity of one processor the kernel moves the thread at once. */
    bool moved = sched_setaffinity(0, sizeof best_only, &best_only) == 0;
    if (moved)
        sched_setaffinity(0, sizeof allowed, &allowed);
    shmemi_processor_publish();
    if (moved)
        shmemi_count(&shmemi_state.live->effort.moves, 1);
}

/* Searches for a better processor if this thread has shared its own for long enough. If it shares
 * with a computing thread, which is so until MOVE_YIELDS quick yields after a long one, it does not
 * move: the PEs do not know where such threads run, and on the other processor it could have to
 * wait for one, too. */
static void move_when_due(uint64_t now)
{
    if (!shmemi_state.moves || mine.brief > QUICK_YIELDS - MOVE_YIELDS)
        return;
    if (mine.since == 0) {
        mine.since = now;
        mine.interval = MOVE_FIRST_NS;
    } else if (now - mine.since >= mine.interval) {
        move_to_idlest();
        mine.since = now;
        mine.interval = mine.interval * 2 > MOVE_LAST_NS ? MOVE_LAST_NS : mine.interval * 2;
    }
}

/* Yields the processor, and searches for a better one if this thread has shared its own for long
 * enough. With more PEs than processors every processor counts as shared. Otherwise the count of
 * involuntary switches shows whether the yield let another thread run; after QUIET_YIELDS yields
 * that did not, the processor counts as unshared again. */
void shmemi_yield(void)
{
    struct shmemi_statuspage_effort *counts = &shmemi_state.live->effort;
    shmemi_count(&counts->yields, 1);
    if (shmemi_state.crowded) {
        move_when_due(yield_and_time());
        return;
    }
    long before = forced_switches();
    uint64_t now = yield_and_time();
    if (forced_switches() != before) {
        shmemi_count(&counts->switches, 1);
        mine.shared_yields = QUIET_YIELDS;
        move_when_due(now);
    } else if (mine.shared_yields > 0 && --mine.shared_yields == 0) {
        mine.since = 0;
    }
}
