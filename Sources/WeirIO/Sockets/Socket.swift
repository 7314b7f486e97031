internal import CLinux
internal import Glibc

/// A socket's descriptor and what is done with it. Its owner closes it, once.
package struct Socket: Hashable, Sendable {
  package let descriptor: CInt

  package init(descriptor: CInt) {
    self.descriptor = descriptor
  }

  package static func listening(on address: SocketAddress, backlog: Int) throws(Errno) -> Socket {
    throw .invalidArgument
  }
  package static func unlink(_ path: String) {}
  package func localAddress() throws(Errno) -> SocketAddress { throw .invalidArgument }
  package func close() {}
}
