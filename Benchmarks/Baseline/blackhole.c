// A server that never answers: blackhole PORT accepts connections on the loopback, reads nothing and closes a
// connection when its client has.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count != 2) return fprintf(stderr, "usage: blackhole PORT\n"), 2;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int poller = epoll_create1(EPOLL_CLOEXEC), listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0) {
    return perror("blackhole"), 1;
  }
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);

  while (epoll_wait(poller, &event, 1, -1) == 1) {
    if (event.data.fd != listener) {
      close(event.data.fd);
      continue;
    }
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct epoll_event closed = {.events = EPOLLRDHUP, .data.fd = client};
    if (client >= 0) epoll_ctl(poller, EPOLL_CTL_ADD, client, &closed);
  }
  return perror("blackhole"), 1;
}
