import CLinux

/// How much may be written to memory of malloc's; it may be more than was asked for.
package func usableSize(of start: UnsafeMutableRawPointer) -> Int { malloc_usable_size(start) }
