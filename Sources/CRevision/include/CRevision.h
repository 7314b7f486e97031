// Which commit this build is of.
#pragma once

// As short as `git describe` gives it; "unknown" where script/build did not write it.
const char *weir_revision(void);
