/*
 * recorder.c: a profiler that records the ranges of a program. NVTX's headers load it by
 * NVTX_INJECTION64_PATH, and it replaces the functions of domains. RECORD names its file, to which
 * the process id is added; a line is one write.
 */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int out = -1;

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    char text[256];
    int n = snprintf(text, sizeof text, "%ld ", syscall(SYS_gettid));
    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    if (write(out, text, (size_t)n) != n)
        abort();
}

/* From then on a domain is identified by its name. */
static nvtxDomainHandle_t domain_create(const char *name)
{
    line("domain %s\n", name);
    return (nvtxDomainHandle_t)name;
}

static void name_category(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    line("category %s %u %s\n", (const char *)domain, category, name);
}

static int range_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    if (a->version != NVTX_VERSION || a->size != NVTX_EVENT_ATTRIB_STRUCT_SIZE ||
        a->messageType != NVTX_MESSAGE_TYPE_ASCII)
        abort();
    line("push %s %u %s\n", (const char *)domain, a->category, a->message.ascii);
    return 0;
}

static int range_pop(nvtxDomainHandle_t domain)
{
    line("pop %s\n", (const char *)domain);
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of)
{
    const NvtxExportTableCallbacks *callbacks = table_of(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable functions;
    unsigned int size;
    char name[4096];
    if (callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &size) ||
        size <= NVTX_CBID_CORE2_DomainCreateA || getenv("RECORD") == NULL)
        return 0;
    snprintf(name, sizeof name, "%s.%d", getenv("RECORD"), getpid());
    out = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out < 0)
        return 0;
    *functions[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)domain_create;
    *functions[NVTX_CBID_CORE2_DomainNameCategoryA] = (NvtxFunctionPointer)name_category;
    *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)range_push;
    *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)range_pop;
    return 1;
}
