/*
 * lookup.S: dlsym, which hands its arguments on with the caller's return address on the stack: the
 * loader's own dlsym looks at it to know which object RTLD_NEXT is after. preload_lookup (lookup.c)
 * returns a function to jump to, or none and the result.
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
