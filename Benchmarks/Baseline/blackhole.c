// A server that never answers: blackhole PORT listens on the loopback and lets the kernel take connections in, and
// the requests sent on them, without ever accepting one. Room for 4,000 connections.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count != 2) return fprintf(stderr, "usage: blackhole PORT\n"), 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4000) != 0) {
    return perror("blackhole"), 1;
  }
  for (;;) pause();
}
