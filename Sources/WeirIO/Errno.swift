import CLinux
import Glibc

/// An error number of the system, as `errno` holds it.
package struct Errno: RawRepresentable, Error, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: CInt

  package init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// The calling thread's last error.
  package static var current: Errno { Errno(rawValue: errno) }

  package static var wouldBlock: Errno { Errno(rawValue: EAGAIN) }
  package static var interrupted: Errno { Errno(rawValue: EINTR) }
  package static var connectionReset: Errno { Errno(rawValue: ECONNRESET) }
  package static var brokenPipe: Errno { Errno(rawValue: EPIPE) }
  package static var addressInUse: Errno { Errno(rawValue: EADDRINUSE) }
  package static var tooManyOpenFiles: Errno { Errno(rawValue: EMFILE) }
  package static var tooManyOpenFilesInSystem: Errno { Errno(rawValue: ENFILE) }
  package static var connectionAborted: Errno { Errno(rawValue: ECONNABORTED) }
  package static var connectionRefused: Errno { Errno(rawValue: ECONNREFUSED) }
  package static var inProgress: Errno { Errno(rawValue: EINPROGRESS) }
  package static var addressNotAvailable: Errno { Errno(rawValue: EADDRNOTAVAIL) }
  package static var addressFamilyNotSupported: Errno { Errno(rawValue: EAFNOSUPPORT) }
  package static var invalidArgument: Errno { Errno(rawValue: EINVAL) }

  package var description: String {
    strerrordesc_np(rawValue).map { String(cString: $0) } ?? "error \(rawValue)"
  }
}

/// Runs a system call that reports failure as −1, and repeats it when a signal interrupted it.
@inline(__always)
package func systemCall<Result: FixedWidthInteger>(_ call: () -> Result) throws(Errno) -> Result {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno.current
    if error != .interrupted { throw error }
  }
}

/// The number of bytes that may be written to memory that malloc returned; it may be more than was asked for.
package func usableSize(of start: UnsafeMutableRawPointer) -> Int { malloc_usable_size(start) }
