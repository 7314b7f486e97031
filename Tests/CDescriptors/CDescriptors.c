#define _GNU_SOURCE
#include "CDescriptors.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static atomic_int used_up;

void descriptors_are_used_up(int value) { atomic_store(&used_up, value); }

// Goes on to the call that stands behind the one of this name: a sanitizer's, which is to know of descriptors, or libc's.
#define UNLESS_USED_UP(name, ...)                                         \
  extern __typeof__(name) __interceptor_##name __attribute__((weak));     \
  if (atomic_load(&used_up)) {                                            \
    errno = EMFILE;                                                       \
    return -1;                                                            \
  }                                                                       \
  __typeof__(name) *next = __interceptor_##name;                          \
  if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);   \
  return next(__VA_ARGS__)

int socket(int family, int kind, int protocol) { UNLESS_USED_UP(socket, family, kind, protocol); }

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags) {
  UNLESS_USED_UP(accept4, descriptor, address, length, flags);
}

int epoll_create1(int flags) { UNLESS_USED_UP(epoll_create1, flags); }
