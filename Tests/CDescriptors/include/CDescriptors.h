#ifndef C_DESCRIPTORS_H
#define C_DESCRIPTORS_H

// This process's socket, accept4 and epoll_create1, which can fail as in a process that has no descriptors left. The limit of open
// files would not do: libdispatch opens a file each second while work waits, and ends the process if it can't.

/// Makes the calls fail with EMFILE, or lets them go on. It is for tests that run alone.
void descriptors_are_used_up(int used_up);

#endif
