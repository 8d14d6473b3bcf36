// A program without .NET that tests record. What it does is its first argument; each way but `brief` prints `ready` first
// and then computes in spin_here() until it is ended, or for so many seconds as the second argument says. `busy` has
// computed before it is ready: whoever recorded it from its start has samples of it then, on the slowest machine.
//
//   busy           nothing more
//   threads COUNT  starts so many threads that wait
//   named          calls itself and a thread by names that act on a terminal, and that are no text
//   leaderless     ends its main thread; another computes on
//   outlived       starts a thread that computes on, and ends its main thread two seconds later
//   brief COUNT    ends after so many microseconds

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

volatile unsigned long sink;

__attribute__((noinline)) void spin_here(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
    {
        sink = sink * 6364136223846793005UL + i;
    }
}

static void *wait_for_ever(void *unused)
{
    for (;;)
    {
        pause();
    }
    return unused;
}

static void *spin_under_a_name(void *unused)
{
    prctl(PR_SET_NAME, "\033[31mred\tx\r\xff\xfe");
    for (;;)
    {
        spin_here(1000000);
    }
    return unused;
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "busy";
    int number = count > 2 ? atoi(words[2]) : 0;
    pthread_t thread;
    if (!strcmp(mode, "brief"))
    {
        usleep(number);
        return 0;
    }
    if (!strcmp(mode, "threads"))
    {
        for (int i = 0; i < number; i++)
        {
            if (pthread_create(&thread, NULL, wait_for_ever, NULL))
            {
                return 3;
            }
        }
        number = 0;
    }
    if (!strcmp(mode, "leaderless") || !strcmp(mode, "outlived"))
    {
        if (pthread_create(&thread, NULL, spin_under_a_name, NULL))
        {
            return 3;
        }
        puts("ready");
        fflush(stdout);
        if (!strcmp(mode, "outlived"))
        {
            sleep(2);
        }
        pthread_exit(NULL);
    }
    if (!strcmp(mode, "named"))
    {
        prctl(PR_SET_NAME, "\033]0;title\007\n\xc3");
        if (pthread_create(&thread, NULL, spin_under_a_name, NULL))
        {
            return 3;
        }
    }
    while (!strcmp(mode, "busy") && clock() < CLOCKS_PER_SEC / 10)
    {
        spin_here(1000000);
    }
    puts("ready");
    fflush(stdout);
    time_t end = time(NULL) + number;
    while (number == 0 || time(NULL) < end)
    {
        spin_here(1000000);
    }
    return 0;
}
