/*
 * ranges.c: ranges for a profiler, by NVTX.
 *
 * NVTX consists of headers only: the first call loads the library that the profiler names in
 * NVTX_INJECTION64_PATH, and without one every call checks a pointer that is NULL. A build without
 * the headers has no ranges, and SHMEM_NVTX then fails.
 */
#include "ranges.h"

#if defined __has_include
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif
#endif

/* ---------------------------------------------------------------- by NVTX */

#ifdef NVTX_VERSION

/* The domains: one for calls, and one for the proxy's work. NULL: not made yet. */
static nvtxDomainHandle_t domains[SHMEMI_RANGES_OF];

/* The name of the group of each bit of SHMEMI_RANGE_, which is its name in SHMEM_NVTX. */
static const char *const groups_by_bit[] = {"init",       "alloc",           "coll",
                                            "wait",       "wait_on_stream",  "test",
                                            "memorder",   "quiet_on_stream", "atomic_fetch",
                                            "atomic_set", "rma_blocking",    "rma_nonblocking",
                                            "proxy"};

/* Returns the number of the NVTX category of a group: the group's bit, counted from 1. Category 0
 * has the ranges without a group. */
static uint32_t category(uint32_t group)
{
    return (uint32_t)__builtin_ctz(group) + 1;
}

/* Makes the domains of a process once: a later job shows its ranges in the same domains. Returns
 * false if there is no profiler. */
static bool open_domains(void)
{
    static const char *const names[] = {
        [SHMEMI_RANGES_OF_CALLS] = "SHMEM", [SHMEMI_RANGES_OF_PROXY] = "SHMEM_PROXY"};
    for (int domain = 0; domain < SHMEMI_RANGES_OF; domain++) {
        if (domains[domain] == NULL)
            domains[domain] = nvtxDomainCreateA(names[domain]);
        if (domains[domain] == NULL)
            return false;
        for (uint32_t i = 0; i < sizeof groups_by_bit / sizeof *groups_by_bit; i++)
            nvtxDomainNameCategoryA(domains[domain], category(1u << i), groups_by_bit[i]);
    }
    return true;
}

/* Returns 1 if a profiler listens, 0 if none does, and -1 if the library was built without ranges.
 */
static int find_profiler(void)
{
    return open_domains() ? 1 : 0;
}

/* Begins a range of this thread in one of the two domains (calls, or the proxy). */
void shmemi_range_enter(int domain, uint32_t group, const char *name)
{
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .category = category(group),
                               .messageType = NVTX_MESSAGE_TYPE_ASCII,
                               .message.ascii = name};
    nvtxDomainRangePushEx(domains[domain], &a);
}

/* Ends the range that this thread began last in a domain. */
void shmemi_range_leave(int domain)
{
    nvtxDomainRangePop(domains[domain]);
}

#else

/* Returns -1: the library was built without NVTX's header, so there are no ranges. */
static int find_profiler(void)
{
    return -1;
}

/* Does nothing: without NVTX no range begins. It is there for the linker, and is not called. */
void shmemi_range_enter(int domain, uint32_t group, const char *name)
{
    (void)domain;
    (void)group;
    (void)name;
}

/* Does nothing, like shmemi_range_enter. */
void shmemi_range_leave(int domain)
{
    (void)domain;
}

#endif

/* --------------------------------------------------------- calls as ranges */

/* Begins the range of a call: a profiler shows the time until shmemi_range_end as that call.
 * Returns true, which SHMEMI_RANGE stores in the variable that tells shmemi_range_end to end the
 * range. */
bool shmemi_range_begin(uint32_t group, const char *call)
{
    shmemi_range_enter(SHMEMI_RANGES_OF_CALLS, group, call);
    return true;
}

/* Ends the range of a call, if SHMEMI_RANGE has begun one. */
void shmemi_range_end(const bool *begun)
{
    if (SHMEMI_UNLIKELY(*begun))
        shmemi_range_leave(SHMEMI_RANGES_OF_CALLS);
}

/* The call that initialises, and whether its range has begun: only during init the library learns
 * which groups to show. The lock of init and finalize guards these. */
static const char *init_call;
static bool init_shown;

/* Before init: records the name of the call, whose range begins when the groups are known. */
void shmemi_ranges_await(const char *call)
{
    init_call = call;
    init_shown = false;
}

/* Sets the groups of ranges to show, and returns them. The core calls it during init, when it knows
 * the groups; so the range of the init call begins only now. */
int shmemi_ranges_open(uint32_t groups)
{
    int found = find_profiler();
    if (found <= 0)
        return found;
    shmemi_state.ranges = groups;
    if (groups & SHMEMI_RANGE_INIT)
        init_shown = shmemi_range_begin(SHMEMI_RANGE_INIT, init_call);
    return (int)groups;
}

/* After init: ends the range of the call, and shows no ranges if init has failed. */
void shmemi_ranges_settle(bool joined)
{
    shmemi_range_end(&init_shown);
    if (!joined)
        shmemi_state.ranges = 0;
}
