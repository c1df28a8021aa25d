/*
 * symbols.h: keeps libfabric from reading the kernel's symbol table while its providers start.
 */
#ifndef SHMEMI_OFI_SYMBOLS_H
#define SHMEMI_OFI_SYMBOLS_H

/*
 * Lets a library's calls of fopen find no /proc/kallsyms. Returns the address of its import, for
 * shmemi_ofi_show_symbols, or NULL if nothing was changed: the library does not import fopen, or in
 * a form that is not known here. One thread at a time hides and shows.
 */
void **shmemi_ofi_hide_symbols(void *library);

/* Restores the import that hide_symbols has returned; NULL: there is nothing to restore. */
void shmemi_ofi_show_symbols(void *library, void **import);

/* Returns the address of the pointer through which the library calls fopen, or NULL. */
void **shmemi_ofi_import(void *library);

#endif
