// Nothing to call: linking this target is its effect. See CThreadSanitizer.c.
#pragma once
