import WeirCurl
import WeirIO
import WeirTransport

/// An HTTP engine whose behaviour is recorded.
enum EngineUnderTest: Sendable, CaseIterable {
  case libcurl
  /// Our own, for each request that it may run.
  case own

  /// Makes the engine; on its loop.
  func make(
    on loop: EventLoop, options: TransportOptions, observer: any TransferEngineObserver
  ) throws -> any TransportEngine {
    var options = options
    options.http1Engine = self == .own ? .own : .libcurl
    return try Engines(loop: loop, options: options, observer: observer)
  }

  /// The version that the engine's recording is of.
  var version: String {
    switch self {
    case .libcurl: CurlLibrary.version
    case .own: "own-\(CurlLibrary.version)"
    }
  }
}
