#ifndef C_SLOW_RESOLVER_H
#define C_SLOW_RESOLVER_H

// This process's getaddrinfo, for names that a test has registered: their lookups last until they are let go, and so
// does the thread that makes them. All other names are looked up as always.

/// Registers a name. Its lookups wait, unless `open`.
void slow_resolver_add(const char *name, int open);
/// Lets the lookups of a name go on: to 127.0.0.1, or, with `fails`, to "no such name".
void slow_resolver_open(const char *name, int fails);
/// Lookups of a name so far.
int slow_resolver_calls(const char *name);
/// Lookups under way of names that end in `suffix`.
int slow_resolver_running(const char *suffix);

#endif
