package spec

// An Example is a program, or a part of one, that manual pages show. tests/run builds and runs
// each.
type Example struct {
	Pages  []string // the functions' names, without the prefix
	Code   string   // the lines of a function; of a whole program if it has main
	Prints string   // the lines that two PEs print, sorted
}

// Whole reports whether the example is a whole program. Other examples are lines between init and
// finalize, in which me is the number of the PE, and n is how many PEs the job has.
func (e *Example) Whole() bool { return e.Code[0] == '#' }

// Examples has an example for each of the functions that programs call most.
var Examples = []Example{
	{
		[]string{"init", "finalize", "my_pe", "n_pes"},
		`#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
    shmem_finalize();
}`,
		"PE 0 of 2\nPE 1 of 2\n",
	},
	{
		[]string{"malloc", "free"},
		`double *row = shmem_malloc(1000 * sizeof *row); /* on every PE */
if (row == NULL)
    shmem_global_exit(1); /* SHMEM_SYMMETRIC_SIZE is too small */
row[999] = me;
printf("PE %d has a row\n", me);
shmem_free(row); /* on every PE, too */`,
		"PE 0 has a row\nPE 1 has a row\n",
	},
	{
		[]string{"calloc"},
		`long *sum = shmem_calloc(1, sizeof *sum); /* 0 on every PE */
shmem_atomic_add(sum, me + 1, 0);
shmem_barrier_all();
if (me == 0)
    printf("the sum is %ld\n", *sum);
shmem_free(sum);`,
		"the sum is 3\n",
	},
	{
		[]string{"put", "barrier_all"},
		`long *box = shmem_calloc(3, sizeof *box);
long source[3] = {me, 10 * me, 100 * me};
shmem_put(box, source, 3, (me + 1) % n);
shmem_barrier_all(); /* completes the puts of all PEs */
printf("PE %d has %ld %ld %ld\n", me, box[0], box[1], box[2]);
shmem_free(box);`,
		"PE 0 has 1 10 100\nPE 1 has 0 0 0\n",
	},
	{
		[]string{"get"},
		`long *box = shmem_malloc(sizeof *box), theirs;
*box = 10 * me;
shmem_barrier_all(); /* every PE has written its own */
shmem_get(&theirs, box, 1, (me + 1) % n);
printf("PE %d reads %ld\n", me, theirs);
shmem_free(box);`,
		"PE 0 reads 10\nPE 1 reads 0\n",
	},
	{
		[]string{"p"},
		`int *word = shmem_calloc(1, sizeof *word);
shmem_p(word, me + 1, (me + 1) % n);
shmem_barrier_all();
printf("PE %d got %d\n", me, *word);
shmem_free(word);`,
		"PE 0 got 2\nPE 1 got 1\n",
	},
	{
		[]string{"g"},
		`int *word = shmem_malloc(sizeof *word);
*word = me + 1;
shmem_barrier_all();
printf("PE %d sees %d\n", me, shmem_g(word, (me + 1) % n));
shmem_free(word);`,
		"PE 0 sees 2\nPE 1 sees 1\n",
	},
	{
		[]string{"put_signal", "signal_wait_until"},
		`double *page = shmem_calloc(100, sizeof *page), data[100];
uint64_t *ready = shmem_calloc(1, sizeof *ready);
for (int i = 0; i < 100; i++)
    data[i] = i;
if (me == 0)
    shmem_put_signal(page, data, 100, ready, 1, SHMEM_SIGNAL_SET, 1);
if (me == 1) {
    shmem_signal_wait_until(ready, SHMEM_CMP_EQ, 1);
    printf("the last number is %g\n", page[99]); /* with the signal the data is there */
}
shmem_free(ready);
shmem_free(page);`,
		"the last number is 99\n",
	},
	{
		[]string{"wait_until", "fence"},
		`int *value = shmem_calloc(1, sizeof *value), *flag = shmem_calloc(1, sizeof *flag);
if (me == 0) {
    shmem_p(value, 42, 1);
    shmem_fence(); /* the flag arrives behind the value */
    shmem_p(flag, 1, 1);
}
if (me == 1) {
    shmem_wait_until(flag, SHMEM_CMP_NE, 0);
    printf("the value is %d\n", *value);
}
shmem_free(flag);
shmem_free(value);`,
		"the value is 42\n",
	},
	{
		[]string{"quiet"},
		`long *box = shmem_calloc(1, sizeof *box), source = me + 1;
shmem_put_nbi(box, &source, 1, (me + 1) % n);
shmem_quiet(); /* the data is there, and source may change */
source = -1;
shmem_sync_all();
printf("PE %d holds %ld\n", me, *box);
shmem_free(box);`,
		"PE 0 holds 2\nPE 1 holds 1\n",
	},
	{
		[]string{"atomic_fetch_add"},
		`long *next = shmem_calloc(1, sizeof *next);
long ticket = shmem_atomic_fetch_add(next, 1, 0); /* a number that no other PE gets */
shmem_barrier_all();
if (me == 0)
    printf("%ld tickets, and mine is %s of them\n", *next, ticket < *next ? "one" : "none");
shmem_free(next);`,
		"2 tickets, and mine is one of them\n",
	},
	{
		[]string{"atomic_compare_swap"},
		`long *owner = shmem_malloc(sizeof *owner);
*owner = -1;
shmem_barrier_all();
if (shmem_atomic_compare_swap(owner, -1, me, 0) == -1)
    printf("one PE is the owner\n");
shmem_free(owner);`,
		"one PE is the owner\n",
	},
	{
		[]string{"sum_reduce"},
		`long *mine = shmem_malloc(sizeof *mine), *all = shmem_malloc(sizeof *all);
*mine = me + 1;
shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 1);
printf("PE %d knows the sum %ld\n", me, *all);
shmem_free(all);
shmem_free(mine);`,
		"PE 0 knows the sum 3\nPE 1 knows the sum 3\n",
	},
	{
		[]string{"broadcast"},
		`int *seed = shmem_malloc(sizeof *seed), *shared = shmem_malloc(sizeof *shared);
*seed = 7 + me;
shmem_broadcast(SHMEM_TEAM_WORLD, shared, seed, 1, 0); /* that of PE 0 */
printf("PE %d has seed %d\n", me, *shared);
shmem_free(shared);
shmem_free(seed);`,
		"PE 0 has seed 7\nPE 1 has seed 7\n",
	},
	{
		[]string{"fcollect"},
		`int *mine = shmem_malloc(sizeof *mine), *all = shmem_malloc(n * sizeof *all);
*mine = 10 * me;
shmem_fcollect(SHMEM_TEAM_WORLD, all, mine, 1);
printf("PE %d has %d to %d\n", me, all[0], all[n - 1]);
shmem_free(all);
shmem_free(mine);`,
		"PE 0 has 0 to 10\nPE 1 has 0 to 10\n",
	},
	{
		[]string{"team_split_strided"},
		`shmem_team_t even;
shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even);
if (even != SHMEM_TEAM_INVALID) {
    printf("PE %d is %d of %d\n", me, shmem_team_my_pe(even), shmem_team_n_pes(even));
    shmem_team_destroy(even);
}`,
		"PE 0 is 0 of 1\n",
	},
	{
		[]string{"ptr"},
		`int *word = shmem_calloc(1, sizeof *word), *theirs = shmem_ptr(word, (me + 1) % n);
if (theirs != NULL)
    *theirs = me + 1; /* a store: the PE is on this node */
else
    shmem_p(word, me + 1, (me + 1) % n);
shmem_barrier_all();
printf("PE %d found %d\n", me, *word);
shmem_free(word);`,
		"PE 0 found 2\nPE 1 found 1\n",
	},
}
