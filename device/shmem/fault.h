/*
 * fault.h: reports of wrong calls. A kernel writes the call and the cause where the host finds
 * them, and traps. A trap ends the kernel and makes every later call of the CUDA runtime fail, so
 * that the program does not go on with wrong data.
 */
#ifndef SHMEM_FAULT_H
#define SHMEM_FAULT_H

#include "access.h"
#include "unit.h"

#ifndef __CUDACC_RTC__
#include <assert.h>
#endif

#ifdef SHMEMI_KERNEL

/*
 * Prints that a call was made without a job, or on a GPU of the process that is not the PE's: then
 * the host has no reader of reports. When a kernel ends by a trap, the driver prints only
 * assertions, with their text and the block and thread of each thread that fails one.
 */
SHMEMI_COLD void shmemi_no_job(void)
{
    static const char text[] = "shmem_init comes first, for this GPU, and shmem_finalize last";
#ifdef __CUDACC_RTC__
    __assertfail(text, "shmem/shmem.cuh", __LINE__, "a call of libshmem", 1);
#else
    __assert_fail(text, "shmem/shmem.cuh", __LINE__, "a call of libshmem");
#endif
}

/*
 * Reports a wrong call to the host. The first thread that calls this fills in the report and stores
 * ready last. All threads wait for ready before they trap, since the first trap ends them all; they
 * give up after a million polls, in case the first thread does not get that far. call is the number
 * of the public function, a hash of its name (capi/spec). fault is one of SHMEMI_FAULT_...
 * (zz_wire.h), which says what pe, address and length are; pe -1: none.
 */
SHMEMI_D void shmemi_report_fault(const struct shmemi_device_image *image, uint32_t fault,
                                  uint32_t call, int pe, uint64_t address, uint64_t length)
{
    struct shmemi_device_report *report = (struct shmemi_device_report *)image->job.report;
    if (report != NULL) {
        uint32_t before, polls = 0, ready = 0;
        asm volatile("atom.relaxed.sys.global.cas.b32 %0, [%1], 0, 1;"
                     : "=r"(before)
                     : "l"(&report->claimed)
                     : "memory");
        if (before == 0) {
            report->fault = fault;
            report->call = call;
            report->pe = pe;
            report->block_x = blockIdx.x;
            report->block_y = blockIdx.y;
            report->block_z = blockIdx.z;
            report->thread_x = threadIdx.x;
            report->thread_y = threadIdx.y;
            report->thread_z = threadIdx.z;
            report->address = address;
            report->length = length;
            asm volatile("st.release.sys.global.u32 [%0], 1;" ::"l"(&report->ready) : "memory");
            shmemi_complete_system();
        }
        while (ready == 0 && ++polls < 1000000)
            shmemi_load_flag(&report->ready, &ready);
    } else {
        shmemi_no_job();
    }
}

/* Reports a wrong call to the host and stops the kernel by a trap. */
__attribute__((noreturn)) SHMEMI_COLD void shmemi_fault(const struct shmemi_device_image *image,
                                                        uint32_t fault, uint32_t call, int pe,
                                                        uint64_t address, uint64_t length)
{
    shmemi_report_fault(image, fault, call, pe, address, length);
    asm volatile("trap;");
    __builtin_unreachable();
}

/* Ends the calling thread, because the job ends and the thread would wait for ever. */
__attribute__((noreturn)) SHMEMI_D void shmemi_end(void)
{
    asm volatile("exit;");
    __builtin_unreachable();
}

#endif

#endif
