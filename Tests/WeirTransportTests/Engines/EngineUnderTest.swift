import WeirCurl
import WeirIO

/// An HTTP engine whose behaviour is recorded.
enum EngineUnderTest: Sendable {
  case libcurl

  /// Makes the engine; on its loop.
  func make(
    on loop: EventLoop, options: TransportOptions, observer: any TransferEngineObserver
  ) throws -> any TransportEngine {
    switch self {
    case .libcurl: try TransferEngine(loop: loop, options: options, observer: observer)
    }
  }

  /// The version that the engine's recording is of.
  var version: String {
    switch self {
    case .libcurl: CurlLibrary.version
    }
  }
}
