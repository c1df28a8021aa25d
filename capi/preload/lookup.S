/*
 * lookup.S: the shim's dlsym. It calls preload_lookup(handle, name, return address) of lookup.c,
 * which returns in rax a function to jump to, or NULL and in rdx the result. The jump leaves the
 * arguments and the caller's return address in place, because the C library's dlsym finds by that
 * address after which object RTLD_NEXT has to search. On other processors the shim has no dlsym.
 */
#if defined(__x86_64__)
    .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdx
    call preload_lookup
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    je 1f
    jmpq *%rax
1:
    movq %rdx, %rax
    ret
    .cfi_endproc
    .size dlsym, . - dlsym
    .hidden preload_lookup
#endif
    .section .note.GNU-stack, "", @progbits
