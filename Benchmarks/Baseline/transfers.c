// The yardstick: what the same requests cost a C program that does nothing but drive libcurl well.
//
//   transfers URL TOTAL CONCURRENCY [--handles reset|fresh] [--idle N IDLE_URL] [--eager] [--gzip] [--ca FILE]
//   transfers handles
//
// Makes TOTAL requests, CONCURRENCY at a time, reads each body whole, and prints one line:
//
//   rps=… p50_us=… p99_us=… cpu_us=… rss_kb=… max_us=… requests=…
//
// cpu_us is user and system time per request, rss_kb the peak. curl_multi_socket_action over epoll. Easy handles come
// from a pool and are fully reset between requests, or with --handles fresh are made for each request. A program that talks
// to untrusted servers by a libcurl below 8.14.1 needs the latter (docs/libcurl.md); `transfers handles` prints the way for
// the libcurl at hand. The program is fast because it tells epoll little: a descriptor that libcurl loses interest in stays
// registered, because its connection goes idle for an instant and is then used again. --eager passes every change on at
// once, to show the difference. --idle first opens N transfers that are never
// answered and keeps them open throughout. --gzip inflates the bodies as they come. --ca is the authority of https URLs.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "result.h"

enum { max_descriptors = 1 << 16, max_events = 256 };

// The events that libcurl wants of a descriptor, and those that epoll was asked for.
struct interest {
  uint32_t wanted;
  uint32_t registered;
};

struct transfer {
  CURL *easy;
  char *body;
  size_t length;
  size_t capacity;
  z_stream *inflater;
  uint64_t started;
  bool idle;
};

static struct interest interests[max_descriptors];
static CURLM *multi;
static int poller;
static bool eager, fresh_handles, gzip;
static uint64_t timer_deadline = UINT64_MAX;
static struct curl_slist *headers;

static const char *url, *authority;
static long total, started_count, finished_count, failed_count;
static uint32_t *latencies;

static void fail(const char *what) {
  fprintf(stderr, "transfers: %s\n", what);
  exit(1);
}

// MARK: - epoll

static void apply(int descriptor, uint32_t events) {
  struct interest *interest = &interests[descriptor];
  if (interest->registered == events) return;
  struct epoll_event event = {.events = events, .data.fd = descriptor};
  int operation = events == 0 ? EPOLL_CTL_DEL : interest->registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(poller, operation, descriptor, &event) != 0) fail("epoll_ctl");
  interest->registered = events;
}

static int on_socket(CURL *easy, curl_socket_t descriptor, int what, void *context, void *socket_context) {
  (void)easy, (void)context, (void)socket_context;
  if (descriptor >= max_descriptors) fail("too many descriptors");
  struct interest *interest = &interests[descriptor];
  interest->wanted = what == CURL_POLL_REMOVE ? 0
                     : (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
  if (interest->wanted != 0 || eager) apply(descriptor, interest->wanted);
  return 0;
}

static int on_timer(CURLM *handle, long milliseconds, void *context) {
  (void)handle, (void)context;
  timer_deadline = milliseconds < 0 ? UINT64_MAX : now_ns() + (uint64_t)milliseconds * 1000000u;
  return 0;
}

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)context, (void)purpose;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// The kernel forgets a closed descriptor; so must the table, before its number is used again.
static int on_close(void *context, curl_socket_t descriptor) {
  (void)context;
  interests[descriptor] = (struct interest){0, 0};
  return close(descriptor);
}

// MARK: - Transfers

static void make_room(struct transfer *transfer, size_t count) {
  if (transfer->length + count <= transfer->capacity) return;
  transfer->capacity = (transfer->length + count) * 2;
  transfer->body = realloc(transfer->body, transfer->capacity);
  if (transfer->body == NULL) fail("out of memory");
}

// Inflates all bodies of a transfer with one stream, straight into the body.
static void inflate_body(struct transfer *transfer, char *bytes, size_t count) {
  z_stream *inflater = transfer->inflater;
  inflater->next_in = (Bytef *)bytes;
  inflater->avail_in = (uInt)count;
  do {
    make_room(transfer, 16384);
    size_t room = transfer->capacity - transfer->length;
    inflater->next_out = (Bytef *)transfer->body + transfer->length;
    inflater->avail_out = (uInt)room;
    int code = inflate(inflater, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) fail("inflate");
    transfer->length += room - inflater->avail_out;
    if (code == Z_STREAM_END) break;
  } while (inflater->avail_in > 0 || inflater->avail_out == 0);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context) {
  (void)size;
  struct transfer *transfer = context;
  if (gzip) {
    inflate_body(transfer, bytes, count);
    return count;
  }
  make_room(transfer, count);
  memcpy(transfer->body + transfer->length, bytes, count);
  transfer->length += count;
  return count;
}

static void start_inflating(struct transfer *transfer) {
  if (transfer->inflater != NULL) {
    inflateReset(transfer->inflater);
    return;
  }
  transfer->inflater = calloc(1, sizeof *transfer->inflater);
  if (transfer->inflater == NULL || inflateInit2(transfer->inflater, 16 + MAX_WBITS) != Z_OK) fail("inflateInit2");
}

static void start(struct transfer *transfer, const char *target) {
  if (transfer->easy == NULL) transfer->easy = curl_easy_init();
  if (transfer->easy == NULL) fail("curl_easy_init");
  CURL *easy = transfer->easy;
  curl_easy_setopt(easy, CURLOPT_URL, target);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  if (authority != NULL) curl_easy_setopt(easy, CURLOPT_CAINFO, authority);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
  transfer->length = 0;
  if (gzip) start_inflating(transfer);
  transfer->started = now_ns();
  if (curl_multi_add_handle(multi, easy) != CURLM_OK) fail("curl_multi_add_handle");
}

static void start_next(struct transfer *transfer) {
  if (started_count == total) return;
  started_count++;
  start(transfer, url);
}

static void finish(struct transfer *transfer, CURLcode code) {
  if (transfer->idle) fail("an idle transfer ended");
  long status = 0;
  curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
  if (code != CURLE_OK || status != 200) {
    if (failed_count++ == 0) fprintf(stderr, "transfers: status %ld, %s\n", status, curl_easy_strerror(code));
  }
  latencies[finished_count++] = (uint32_t)((now_ns() - transfer->started) / 1000);
  curl_multi_remove_handle(multi, transfer->easy);
  if (fresh_handles) {
    curl_easy_cleanup(transfer->easy);
    transfer->easy = NULL;
  } else {
    curl_easy_reset(transfer->easy);
  }
  start_next(transfer);
}

static void reap(void) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    struct transfer *transfer;
    CURLcode code = message->data.result;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
    finish(transfer, code);
  }
}

// MARK: - Loop

static int wait_milliseconds(void) {
  if (timer_deadline == UINT64_MAX) return -1;
  uint64_t now = now_ns();
  return now >= timer_deadline ? 0 : (int)((timer_deadline - now + 999999) / 1000000);
}

static void act(curl_socket_t descriptor, int what) {
  int running;
  if (curl_multi_socket_action(multi, descriptor, what, &running) != CURLM_OK) fail("curl_multi_socket_action");
}

static void turn(void) {
  static struct epoll_event events[max_events];
  int count = epoll_wait(poller, events, max_events, wait_milliseconds());
  if (count < 0 && errno != EINTR) fail("epoll_wait");
  for (int index = 0; index < count; index++) {
    int descriptor = events[index].data.fd;
    uint32_t happened = events[index].events;
    // libcurl does not wait for this event, which epoll would report in every turn.
    if (interests[descriptor].wanted == 0) {
      apply(descriptor, 0);
      continue;
    }
    // An event that the last change of interest overtook.
    if ((happened & (interests[descriptor].wanted | EPOLLERR | EPOLLHUP)) == 0) {
      apply(descriptor, interests[descriptor].wanted);
      continue;
    }
    act(descriptor, (happened & EPOLLIN ? CURL_CSELECT_IN : 0) | (happened & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                        (happened & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0));
  }
  if (timer_deadline != UINT64_MAX && now_ns() >= timer_deadline) {
    timer_deadline = UINT64_MAX;
    act(CURL_SOCKET_TIMEOUT, 0);
  }
  reap();
}

// MARK: - Program

static struct transfer *make_transfers(long count, bool idle) {
  struct transfer *transfers = calloc((size_t)count, sizeof *transfers);
  if (transfers == NULL) fail("out of memory");
  for (long index = 0; index < count; index++) transfers[index].idle = idle;
  return transfers;
}

// Until every idle transfer has sent its request and waits for an answer.
static void settle_idle(struct transfer *transfers, long count) {
  long waiting = 0;
  while (waiting < count) {
    turn();
    waiting = 0;
    for (long index = 0; index < count; index++) {
      long sent = 0;
      curl_easy_getinfo(transfers[index].easy, CURLINFO_REQUEST_SIZE, &sent);
      waiting += sent > 0;
    }
  }
}

static void raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int count, char **arguments) {
  const char *usage =
      "usage: transfers URL TOTAL CONCURRENCY [--handles reset|fresh] [--idle N IDLE_URL] [--eager] [--gzip]\n"
      "                 [--ca FILE]\n       transfers handles";
  if (count == 2 && strcmp(arguments[1], "handles") == 0) {
    puts(curl_version_info(CURLVERSION_NOW)->version_num < 0x080e01 ? "fresh" : "reset");
    return 0;
  }
  if (count < 4) fail(usage);
  url = arguments[1];
  total = atol(arguments[2]);
  long concurrency = atol(arguments[3]), idle_count = 0;
  const char *idle_url = NULL;
  for (int index = 4; index < count; index++) {
    if (strcmp(arguments[index], "--eager") == 0) {
      eager = true;
    } else if (strcmp(arguments[index], "--gzip") == 0) {
      gzip = true;
    } else if (strcmp(arguments[index], "--ca") == 0 && index + 1 < count) {
      authority = arguments[++index];
    } else if (strcmp(arguments[index], "--handles") == 0 && index + 1 < count) {
      fresh_handles = strcmp(arguments[++index], "fresh") == 0;
      if (!fresh_handles && strcmp(arguments[index], "reset") != 0) fail(usage);
    } else if (strcmp(arguments[index], "--idle") == 0 && index + 2 < count) {
      idle_count = atol(arguments[++index]);
      idle_url = arguments[++index];
    } else {
      fail(usage);
    }
  }
  if (total < 1 || concurrency < 1 || idle_count < 0) fail(usage);

  raise_descriptor_limit();
  curl_global_init(CURL_GLOBAL_ALL);
  poller = epoll_create1(EPOLL_CLOEXEC);
  multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, concurrency + idle_count);
  headers = curl_slist_append(headers, "Accept-Encoding: gzip, deflate");
  headers = curl_slist_append(headers, "Accept-Language: en;q=1.0");
  headers = curl_slist_append(
      headers, "User-Agent: transfers/Unknown (Unknown; build:Unknown; Linux 6.1.0) Weir/" WEIR_VERSION);
  latencies = calloc((size_t)total, sizeof *latencies);
  if (poller < 0 || multi == NULL || headers == NULL || latencies == NULL) fail("out of memory");

  struct transfer *idle = make_transfers(idle_count, true);
  for (long index = 0; index < idle_count; index++) start(&idle[index], idle_url);
  settle_idle(idle, idle_count);

  struct transfer *transfers = make_transfers(concurrency, false);
  struct rusage before;
  getrusage(RUSAGE_SELF, &before);
  uint64_t began = now_ns();
  for (long index = 0; index < concurrency; index++) start_next(&transfers[index]);
  while (finished_count < total) turn();
  print_result(latencies, total, began, &before);
  if (failed_count > 0) fprintf(stderr, "transfers: %ld of %ld failed\n", failed_count, total);
  return failed_count > 0;
}
