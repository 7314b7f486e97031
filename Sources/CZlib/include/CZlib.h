// zlib, and functions for the macros that Swift cannot see.
#pragma once
#include <zlib.h>
