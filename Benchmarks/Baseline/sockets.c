// The floor: what the same requests cost a C program that speaks HTTP/1.1 on plain sockets and does nothing else.
//
//   sockets URL TOTAL CONCURRENCY
//
// Makes TOTAL requests, CONCURRENCY at a time, each on a connection of its own that is kept open, reads each body whole, and
// prints the line of transfers.c. It knows what it measures against: http://ADDRESS:PORT/PATH, and responses with
// Content-Length. It looks for that field alone, and whatever is wrong ends it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "result.h"

enum { max_events = 256, buffer_size = 65536, body_capacity = 1 << 22 };

struct connection {
  int descriptor;
  // Bytes of the body that have not come; 0 before the head.
  size_t missing;
  char *body;
  size_t length;
  char *head;
  size_t head_length;
  uint64_t started;
};

static int poller;
static char request[2048];
static size_t request_length;
static long total, started_count, finished_count;
static uint32_t *latencies;
static char buffer[buffer_size];

static void fail(const char *what) {
  fprintf(stderr, "sockets: %s\n", what);
  exit(1);
}

static void start_next(struct connection *connection) {
  if (started_count == total) return;
  started_count++;
  connection->started = now_ns();
  connection->missing = connection->length = connection->head_length = 0;
  if (send(connection->descriptor, request, request_length, MSG_NOSIGNAL) != (ssize_t)request_length) fail("send");
}

static void finish(struct connection *connection) {
  latencies[finished_count++] = (uint32_t)((now_ns() - connection->started) / 1000);
  start_next(connection);
}

static size_t content_length(const char *head, size_t length) {
  for (const char *line = memchr(head, '\n', length); line != NULL; line = memchr(line, '\n', (size_t)(head + length - line))) {
    line++;
    if (strncasecmp(line, "content-length:", 15) == 0) return strtoul(line + 15, NULL, 10);
  }
  fail("no Content-Length");
  return 0;
}

// Takes bytes of a head, which may come in pieces; returns how many of them belong to it.
static size_t take_head(struct connection *connection, const char *bytes, size_t count) {
  size_t before = connection->head_length;
  if (before + count > buffer_size) fail("the head is too long");
  memcpy(connection->head + before, bytes, count);
  connection->head_length += count;
  const char *end = memmem(connection->head, connection->head_length, "\r\n\r\n", 4);
  if (end == NULL) return count;
  if (connection->head_length < 12 || memcmp(connection->head, "HTTP/1.1 200", 12) != 0) fail("not a 200");
  size_t length = (size_t)(end - connection->head) + 4;
  connection->missing = content_length(connection->head, length);
  if (connection->missing == 0 || connection->missing > body_capacity) fail("a body of a size that is not measured");
  return length - before;
}

static void take(struct connection *connection, const char *bytes, size_t count) {
  if (connection->missing == 0) {
    size_t head = take_head(connection, bytes, count);
    bytes += head;
    count -= head;
    if (connection->missing == 0) return;
  }
  if (count > connection->missing) fail("more than the response");
  memcpy(connection->body + connection->length, bytes, count);
  connection->length += count;
  connection->missing -= count;
  if (connection->missing == 0) finish(connection);
}

static void receive(struct connection *connection) {
  ssize_t count = recv(connection->descriptor, buffer, sizeof buffer, 0);
  if (count > 0) {
    take(connection, buffer, (size_t)count);
  } else if (count == 0) {
    fail("a connection ended");
  } else if (errno != EAGAIN && errno != EINTR) {
    fail("recv");
  }
}

static void open_connection(struct connection *connection, const struct sockaddr_in *address) {
  int on = 1;
  connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection->descriptor < 0) fail("socket");
  if (connect(connection->descriptor, (const struct sockaddr *)address, sizeof *address) != 0) fail("connect");
  setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->descriptor, &event) != 0) fail("epoll_ctl");
  connection->body = malloc(body_capacity);
  connection->head = malloc(buffer_size);
  if (connection->body == NULL || connection->head == NULL) fail("out of memory");
}

int main(int count, char **arguments) {
  const char *usage = "usage: sockets http://ADDRESS:PORT/PATH TOTAL CONCURRENCY";
  char host[64], path[1024];
  int port;
  if (count != 4 || sscanf(arguments[1], "http://%63[0-9.]:%d%1023s", host, &port, path) != 3) fail(usage);
  total = atol(arguments[2]);
  long concurrency = atol(arguments[3]);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  if (total < 1 || concurrency < 1 || inet_pton(AF_INET, host, &address.sin_addr) != 1) fail(usage);
  request_length = (size_t)snprintf(
      request, sizeof request,
      "GET %s HTTP/1.1\r\nHost: %s:%d\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\nAccept-Language: en;q=1.0\r\n"
      "User-Agent: transfers/Unknown (Unknown; build:Unknown; Linux 6.1.0) Weir/" WEIR_VERSION "\r\n\r\n",
      path, host, port);

  poller = epoll_create1(EPOLL_CLOEXEC);
  latencies = calloc((size_t)total, sizeof *latencies);
  struct connection *connections = calloc((size_t)concurrency, sizeof *connections);
  if (poller < 0 || latencies == NULL || connections == NULL) fail("out of memory");
  for (long index = 0; index < concurrency; index++) open_connection(&connections[index], &address);

  struct rusage before;
  getrusage(RUSAGE_SELF, &before);
  uint64_t began = now_ns();
  for (long index = 0; index < concurrency; index++) start_next(&connections[index]);
  while (finished_count < total) {
    static struct epoll_event events[max_events];
    int ready = epoll_wait(poller, events, max_events, -1);
    if (ready < 0 && errno != EINTR) fail("epoll_wait");
    for (int index = 0; index < ready; index++) receive(events[index].data.ptr);
  }
  print_result(latencies, total, began, &before);
  return 0;
}
