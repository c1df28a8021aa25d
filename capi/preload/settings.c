/*
 * settings.c: the only reader of SHMEM_PRELOAD: modes joined by +, each a word and options that the
 * mode itself parses.
 */
#define _GNU_SOURCE
#include "head.h"
#include "preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The mode if the variable is not set. */
static const char default_text[] = "trace";

const struct preload_mode *preload_active[PRELOAD_MODES + 1];

/* The text of SHMEM_PRELOAD, into which modes store pointers. Not static, so that leak checkers
 * find a pointer to it. */
char *preload_settings_text __attribute__((visibility("hidden")));

/* Ends the process because SHMEM_PRELOAD has an unknown word, with a message that lists the forms
 * of all modes. */
static void refuse_word(const char *part)
{
    char forms[512] = "";
    for (int i = 0; preload_modes[i]; i++) {
        size_t at = strlen(forms);
        snprintf(forms + at, sizeof forms - at, "%s%s", i ? ", " : "", preload_modes[i]->form);
    }
    preload_refuse(
        "SHMEM_PRELOAD: unknown word \"%s\" (use one of these, or several joined by +: %s)", part,
        forms);
}

/* Reads one mode with its options from the text of SHMEM_PRELOAD, and switches it on. */
static void read_part(char *part, bool on[])
{
    size_t length = strcspn(part, ":,");
    for (int i = 0; preload_modes[i]; i++) {
        const struct preload_mode *m = preload_modes[i];
        if (strlen(m->word) != length || strncmp(m->word, part, length) != 0)
            continue;
        if (on[i])
            preload_refuse("SHMEM_PRELOAD: %s is there twice (leave one out)", m->word);
        on[i] = true;
        const char *error = m->set         ? m->set(part + length)
                            : part[length] ? "it takes nothing behind the word"
                                           : NULL;
        if (error)
            preload_refuse("SHMEM_PRELOAD: \"%s\": %s (write %s)", part, error, m->form);
        return;
    }
    part[length] = '\0';
    refuse_word(part);
}

/* Reads SHMEM_PRELOAD (modes joined by +) and stores its modes in preload_active, in the order of
 * the table of modes. The text is copied, because the modes keep pointers to their options. */
void preload_settings(void)
{
    const char *set = getenv("SHMEM_PRELOAD");
    char *text = strdup(set && *set ? set : default_text);
    if (!text)
        preload_refuse("SHMEM_PRELOAD: no memory for its text (the process has none left)");
    preload_settings_text = text;
    const char *id = getenv("SHMEM_HOST_ID");
    preload_host_id = id ? strdup(id) : NULL; /* the program may change the variable */
    if (!preload_host_id)
        preload_host_id = "";
    bool on[PRELOAD_MODES] = {false};
    for (char *part = text; part;) {
        char *next = strchr(part, '+');
        if (next)
            *next++ = '\0';
        read_part(part, on);
        part = next;
    }
    int n = 0;
    for (int i = 0; preload_modes[i]; i++)
        if (on[i])
            preload_active[n++] = preload_modes[i];
}

/* Splits the next key=value off a list with commas, and advances *text. Returns the key, and sets
 * *value to NULL if there is no "=". Returns NULL at the end. */
char *preload_option(char **text, char **value)
{
    if (*text && **text == ',')
        (*text)++;
    else if (!*text || !**text)
        return NULL;
    char *key = strsep(text, ",");
    *value = strchr(key, '=');
    if (*value)
        *(*value)++ = '\0';
    return key;
}
