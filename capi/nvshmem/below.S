/*
 * below.S: the functions of libshmem.so under their names, for this library alone: each jumps to
 * where below.c has found it. An entry of the linker's own table would cost as much, but be filled
 * by whatever library of the program comes first with that name. zz_below.h, which a build makes,
 * has a line BELOW(name) for each function that the objects of this library call. With
 * BELOW_EXPORTS they are the exports of libnvshmem_host.so.3, which the version script shows.
 */
#ifdef BELOW_EXPORTS
#define HIDE(name)
#else
#define BELOW_NAMES "zz_below.h"
#define HIDE(name) .hidden name;
#endif

#if defined(__x86_64__)
#define JUMP(slot) jmp *slot(%rip)
#elif defined(__aarch64__)
/* By x16, which is for jumps like this one. */
#define JUMP(slot) adrp x16, slot; ldr x16, [x16, :lo12:slot]; br x16
#else
#error "below.S: write the jump for this processor"
#endif

/* Whole pages, so that below.c can forbid writes to them. */
    .section .bss.nvshmemi_slots, "aw", @nobits
    .balign 4096
    .globl nvshmemi_slots
    .hidden nvshmemi_slots
nvshmemi_slots:

#define BELOW(name)                                \
    .section .bss.nvshmemi_slots, "aw", @nobits;   \
slot_##name: .skip 8;                              \
    .text;                                         \
    .balign 8;                                     \
    .globl name;                                   \
    HIDE(name)                                     \
    .type name, @function;                         \
name: JUMP(slot_##name);                           \
    .size name, .- name;
#include BELOW_NAMES

    .section .bss.nvshmemi_slots, "aw", @nobits
    .balign 4096
    .globl nvshmemi_slots_end
    .hidden nvshmemi_slots_end
nvshmemi_slots_end:

    .section .note.GNU-stack, "", @progbits
