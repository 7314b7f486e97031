// libcrypt (libxcrypt), for password hashes.
#pragma once
#include <crypt.h>
