internal import WeirIO

/// The consequence of a connection that could not be accepted.
enum AcceptFailure: Equatable {
  /// Another loop took the connection first, or the client has left.
  case nothing
  /// The listener has closed.
  case end
  /// Close a waiting connection, and try once more.
  case evict
  /// Ignore the listener for a moment. It stays ready, so that going on would spin.
  case pause

  /// - Parameter mayEvict: False if a connection was already closed for this one. Other parts of the process may need
  ///   descriptors too, and would take all that this server gives up.
  init(_ error: Errno, isListening: Bool, mayEvict: Bool) {
    switch error {
    case .wouldBlock, .connectionAborted: self = .nothing
    case .invalidArgument where !isListening: self = .end
    case .tooManyOpenFiles, .tooManyOpenFilesInSystem: self = mayEvict ? .evict : .pause
    default: self = .pause
    }
  }
}
