internal import WeirIO

/// What follows when a connection could not be accepted.
enum AcceptFailure: Equatable {
  /// Another loop was faster, or the client has left.
  case nothing
  /// The listener has closed.
  case end
  /// Close a connection that waits, and try once more.
  case evict
  /// Leave the listener alone for a moment: it stays ready, so that going on would spin.
  case pause

  /// - Parameter mayEvict: false when that was done for this connection already. Others of the process may be after
  ///   descriptors too, and would get all that this server gives up.
  init(_ error: Errno, isListening: Bool, mayEvict: Bool) {
    switch error {
    case .wouldBlock, .connectionAborted: self = .nothing
    case .invalidArgument where !isListening: self = .end
    case .tooManyOpenFiles, .tooManyOpenFilesInSystem: self = mayEvict ? .evict : .pause
    default: self = .pause
    }
  }
}
