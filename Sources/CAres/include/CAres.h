// c-ares, the name lookups of the gateway.
#pragma once
#include <stdbool.h>
#include <sys/uio.h>

// Later versions of c-ares mark the calls of 1.18 as deprecated; weir keeps to what 1.18 has.
#define CARES_NO_DEPRECATED
#include <ares.h>
