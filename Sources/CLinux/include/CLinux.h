// Linux calls that Swift's Glibc module leaves out.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <errno.h>

// EPOLLEXCLUSIVE and friends are enumerators or macros with casts that the importer drops.
static inline unsigned int weir_epollexclusive(void) { return 1u << 28; }
