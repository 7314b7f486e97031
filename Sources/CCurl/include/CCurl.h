// libcurl, and typed doors to its variadic functions, which Swift cannot call.
#pragma once
#include <curl/curl.h>
