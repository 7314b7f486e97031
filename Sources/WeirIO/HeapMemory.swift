import CLinux

/// The number of bytes that may be written to memory that malloc returned; it may be more than was asked for.
package func usableSize(of start: UnsafeMutableRawPointer) -> Int { malloc_usable_size(start) }
