#define _GNU_SOURCE
#include "CSlowResolver.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

struct entry {
  char name[64];
  int open, fails, calls, running;
};

// Names are few and stay; an entry never moves.
static struct entry entries[512];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct entry *find(const char *name) {
  for (int index = 0; index < count; index++)
    if (strcmp(entries[index].name, name) == 0) return &entries[index];
  return NULL;
}

void slow_resolver_add(const char *name, int open) {
  pthread_mutex_lock(&lock);
  if (find(name) == NULL && count < 512) {
    strncpy(entries[count].name, name, sizeof entries[count].name - 1);
    entries[count].open = open;
    count++;
  }
  pthread_mutex_unlock(&lock);
}

void slow_resolver_open(const char *name, int fails) {
  pthread_mutex_lock(&lock);
  struct entry *entry = find(name);
  if (entry != NULL) {
    entry->open = 1;
    entry->fails = fails;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

int slow_resolver_calls(const char *name) {
  pthread_mutex_lock(&lock);
  struct entry *entry = find(name);
  int calls = entry == NULL ? 0 : entry->calls;
  pthread_mutex_unlock(&lock);
  return calls;
}

int slow_resolver_running(const char *suffix) {
  int running = 0;
  size_t length = strlen(suffix);
  pthread_mutex_lock(&lock);
  for (int index = 0; index < count; index++) {
    size_t own = strlen(entries[index].name);
    if (own >= length && strcmp(entries[index].name + own - length, suffix) == 0) running += entries[index].running;
  }
  pthread_mutex_unlock(&lock);
  return running;
}

// Gives up after half a minute, so that a failed test ends.
static int wait_for(struct entry *entry) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 30;
  entry->calls++;
  entry->running++;
  while (!entry->open && pthread_cond_timedwait(&changed, &lock, &end) != ETIMEDOUT) {
  }
  entry->running--;
  return !entry->open || entry->fails;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  resolver next = (resolver)dlsym(RTLD_NEXT, "getaddrinfo");
  if (next == NULL) return EAI_SYSTEM;
  pthread_mutex_lock(&lock);
  struct entry *entry = node == NULL ? NULL : find(node);
  int fails = entry == NULL ? 0 : wait_for(entry);
  pthread_mutex_unlock(&lock);
  if (fails) return EAI_NONAME;
  return next(entry == NULL ? node : "127.0.0.1", service, hints, result);
}
