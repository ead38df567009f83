/* Bugs on purpose, one per sanitizer. The build that has the sanitizer must stop each of them with a
 * non-zero exit; a zero exit means that the sanitizer is not on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int heap_overflow(int n)
{
    volatile int *array = malloc((size_t)n * sizeof *array);
    if (!array) return 0;
    array[n] = 7; /* one past the end */
    free((void *)array);
    return 0;
}

static int signed_overflow(int n)
{
    volatile int big = 0x7fffffff;
    return big + n == 0;
}

static int race(void)
{
    int counter = 0;
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 100000; i++) counter++;
    return counter == 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 0;
    if (strcmp(argv[1], "address") == 0) return heap_overflow(argc);
    if (strcmp(argv[1], "undefined") == 0) return signed_overflow(argc);
    if (strcmp(argv[1], "thread") == 0) return race();
    return 0;
}
