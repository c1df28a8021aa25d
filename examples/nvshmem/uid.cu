/*
 * uid: processes that have numbers, from MPI's launcher or any other, become PEs by a unique id.
 * Process 0 passes it to the others in a file.
 *
 *   uid NUMBER HOW_MANY FILE
 */
#include "check.h"

#include <string>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "uid NUMBER HOW_MANY FILE\n");
        return EXIT_FAILURE;
    }
    int number = atoi(argv[1]), all = atoi(argv[2]);
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    std::string part = std::string(argv[3]) + ".part";
    if (number == 0) { /* rename: others find a complete file, or none */
        nvshmemx_get_uniqueid(&id);
        FILE *f = fopen(part.c_str(), "wb");
        if (f == NULL || fwrite(&id, sizeof id, 1, f) != 1 || fclose(f) != 0 ||
            rename(part.c_str(), argv[3]) != 0) {
            perror(argv[3]);
            return EXIT_FAILURE;
        }
    } else {
        FILE *f;
        while ((f = fopen(argv[3], "rb")) == NULL)
            usleep(10000);
        if (fread(&id, sizeof id, 1, f) != 1)
            return EXIT_FAILURE;
        fclose(f);
    }
    nvshmemx_set_attr_uniqueid_args(number, all, &id, &attr);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        return EXIT_FAILURE;
    job j(true);
    int *box = (int *)nvshmem_malloc(sizeof(int)), got;
    nvshmem_int_p(box, j.me, (j.me + 1) % j.n);
    nvshmem_barrier_all();
    got = nvshmem_int_g(box, j.me);
    nvshmem_free(box);
    return j.says(got == (j.me + j.n - 1) % j.n, "PE %d wrote to me", got);
}
