// zlib, with functions for the macros that Swift cannot see.
#pragma once
// Makes next_in a pointer to const, so that input is passed as it arrives.
#define ZLIB_CONST
#include <zlib.h>

// inflateInit2 is a macro that adds the header's version and the size of z_stream.
static inline int weir_inflateInit2(z_streamp stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

// deflateInit2 is a macro, too. Memory level 8 and the default strategy are zlib's own defaults.
static inline int weir_deflateInit2(z_streamp stream, int level, int window_bits) {
  return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}
