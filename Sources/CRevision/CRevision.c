#include "CRevision.h"

// script/build writes revision.h, which git ignores. In C, as Swift can't ask whether a file is there.
#if __has_include("revision.h")
#include "revision.h"
#endif
#ifndef WEIR_REVISION
#define WEIR_REVISION "unknown"
#endif

const char *weir_revision(void) { return WEIR_REVISION; }
