/*
 * fake.h: the shared part of the two fake libraries: settings from the environment, the log of
 * calls and the failures that a test requests.
 *
 * FAKE_CUDA holds words KEY=NUMBER, FAKE_CUDA_LOG names the file of the log: one line for each
 * call, its name and its result. fail_at=K makes the K-th call of a log fail. FAKE_CUDA_HOLD names
 * a folder: while it has a file with the number of the process as its name, the calls of the
 * function that the file names do not return. While the folder has a file NUMBER.loads, streams of
 * the primary context carry out nothing, as while the program loads a kernel beside one that runs.
 * A release that returns an error releases the object all the same, as close(2) does, so that a
 * test of failures leaves nothing behind.
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

/* Returns the number of a setting, or `otherwise` if it is not set. */
long fake_setting(const char *key, long otherwise);

/* Logs a call and returns its result: 999 (CUDA_ERROR_UNKNOWN) if the test makes this call fail
 * (fail_at), and DEINITIALIZED, if there is no other error, after fake_end. It waits first while
 * the test holds calls of the function. Without a log no call fails by fail_at. The caller
 * must not hold fake_lock. */
int fake_note(const char *name, int result);
enum { DEINITIALIZED = 4 };

/* The driver calls fake_end when the process exits; fake_has_ended reports whether it has. */
void fake_end(void);
bool fake_has_ended(void);

#endif
