/*
 * fake.h: the shared part of the two fake libraries: settings from the environment, the log of
 * calls and the failures that a test asks for.
 *
 * FAKE_CUDA holds words KEY=NUMBER, FAKE_CUDA_LOG names the file of the log: one line for each
 * call, its name and its result. fail_at=K makes the K-th call of a log fail. FAKE_CUDA_HOLD names
 * a folder: while it has a file with the number of the process as its name, the calls of the
 * function that the file names do not return. While it has one with .loads behind the number,
 * streams of the primary context stand still, as they do while the program loads a kernel beside
 * one that runs. A release that fails does its work all the same, as a kernel does for close(2), so
 * that a test of failures leaves nothing behind.
 */
#ifndef FAKE_H
#define FAKE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A setting, or otherwise where it is not there. */
long fake_setting(const char *key, long otherwise);

/* Notes a call and answers its result: that of the test if it wants one. After fake_end no call
 * works: it is DEINITIALIZED. */
int fake_note(const char *name, int result);
enum { DEINITIALIZED = 4 };
void fake_end(void);
bool fake_has_ended(void);

#endif
