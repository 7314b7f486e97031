// Linux calls that Swift's Glibc module leaves out.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

// GNU extensions, declared here because the importer reads the headers without _GNU_SOURCE.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern const char *strerrordesc_np(int error);
extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern ssize_t preadv2(int file, const struct iovec *pieces, int count, off_t offset, int flags);
extern int sched_getaffinity(pid_t process, size_t size, cpu_set_t *cores);
extern int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned int flags);

// The number of bytes sent on a socket that its peer has not acknowledged; 0 for sockets that do not know. It is in C
// because Swift can't call variadic functions (ioctl).
static inline int weir_unacknowledged(int socket) {
  int waiting = 0;
  return ioctl(socket, TIOCOUTQ, &waiting) == 0 ? waiting : 0;
}

// The number of bytes read from a TCP connection; -1 for other sockets. It is in C because Swift can't call variadic
// functions (ioctl), and because the C library's tcp_info ends before tcpi_bytes_received (linux/tcp.h).
static inline long long weir_tcp_bytes_read(int socket) {
  struct {
    unsigned char before[128];
    unsigned long long received;
  } info;
  socklen_t length = sizeof info;
  int waiting = 0;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < sizeof info) return -1;
  if (ioctl(socket, FIONREAD, &waiting) != 0) return -1;
  return (long long)info.received - waiting;
}
