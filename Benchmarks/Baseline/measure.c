// Measures a program from its start to its end.
//
//   measure PROGRAM ARGUMENT...
//
// Runs the program with its output put aside, and prints one line:
//
//   rps=… cpu_us=… rss_kb=…
//
// rps is the number of runs per second, cpu_us its user and system time, rss_kb its peak of resident memory.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
  fprintf(stderr, "measure: %s\n", what);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double microseconds(const struct timeval *time) { return (double)time->tv_sec * 1e6 + (double)time->tv_usec; }

int main(int count, char **arguments) {
  if (count < 2) fail("usage: measure PROGRAM ARGUMENT...");
  double began = now();
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
    execvp(arguments[1], arguments + 1);
    fail("execvp");
  }
  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child) fail("wait4");
  double seconds = now() - began;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the program failed");
  printf("rps=%.5f cpu_us=%.0f rss_kb=%ld\n", 1 / seconds,
         microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime), usage.ru_maxrss);
}
