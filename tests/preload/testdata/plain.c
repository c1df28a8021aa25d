/*
 * plain.c: a program that calls no function of SHMEM.
 */
#include <stdio.h>

int main(void)
{
    puts("plain");
    return 0;
}
