/* copied.c: a library with a variable that a program built without PIE has a copy of. */
long copied = 7;

long *library_sees(void)
{
    return &copied;
}
