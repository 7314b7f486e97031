// The clock and the result line of the programs that make requests.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline int ascending(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static inline double cpu_us(const struct rusage *usage) {
  return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e6 +
         (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

// Prints the line for `total` requests since `began`, whose latencies are in microseconds, and sorts these.
static inline void print_result(uint32_t *latencies, long total, uint64_t began, const struct rusage *before) {
  double seconds = (double)(now_ns() - began) / 1e9;
  struct rusage after;
  getrusage(RUSAGE_SELF, &after);
  qsort(latencies, (size_t)total, sizeof *latencies, ascending);
  printf("rps=%.0f p50_us=%u p99_us=%u cpu_us=%.2f rss_kb=%ld max_us=%u requests=%ld\n", (double)total / seconds,
         latencies[total / 2], latencies[total - 1 - total / 100], (cpu_us(&after) - cpu_us(before)) / (double)total,
         after.ru_maxrss, latencies[total - 1], total);
}
