// Opens TLS connections to 127.0.0.1 at a steady rate, each with a full handshake, until it is ended.
// handshakes PORT PER_SECOND; prints how many succeeded and failed in all.
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { threads = 4 };

static SSL_CTX *context;
static struct sockaddr_in server;
static double interval;  // Seconds between two handshakes of a thread.
static atomic_long succeeded, failed;
static atomic_int ended;

static void stop(int signal) {
  (void)signal;
  ended = 1;
}

static int handshake(void) {
  int descriptor = socket(AF_INET, SOCK_STREAM, 0), done = 0;
  SSL *connection = SSL_new(context);
  if (descriptor >= 0 && connection && connect(descriptor, (struct sockaddr *)&server, sizeof server) == 0)
    done = SSL_set_fd(connection, descriptor) == 1 && SSL_connect(connection) == 1;
  SSL_free(connection);
  if (descriptor >= 0) close(descriptor);
  return done;
}

static void *run(void *number) {
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  double at = next.tv_sec + next.tv_nsec / 1e9 + interval * (long)number / threads;
  while (!ended) {
    next = (struct timespec){(time_t)at, (long)((at - (time_t)at) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    atomic_fetch_add(handshake() ? &succeeded : &failed, 1);
    at += interval;
  }
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  server = (struct sockaddr_in){AF_INET, htons(atoi(arguments[1])), {htonl(INADDR_LOOPBACK)}, {0}};
  interval = threads / atof(arguments[2]);
  signal(SIGTERM, stop);
  signal(SIGPIPE, SIG_IGN);
  context = SSL_CTX_new(TLS_client_method());
  if (!context) return 1;
  pthread_t all[threads];
  for (long i = 0; i < threads; i++)
    if (pthread_create(&all[i], NULL, run, (void *)i) != 0) return 1;
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  printf("handshakes=%ld failed=%ld\n", succeeded, failed);
  return 0;
}
