internal import WeirIO

/// Opens connections for HTTP/1.1 by libcurl. Confined to the loop.
///
/// A TLS connection stays in its multi handle, and each call that sends or receives on it walks all connections of
/// that handle. So each multi handle gets a few only, and further engines are made when they are needed.
package final class Dialler {
  static let mostInOneMulti = 64

  /// The engine that also runs libcurl's own transfers.
  package let main: TransferEngine
  private(set) var others: [TransferEngine] = []

  package init(_ main: TransferEngine) {
    self.main = main
  }

  /// Whether libcurl is being called, so that no connection may be used or closed.
  package var isEntered: Bool { main.isInside || others.contains(where: \.isInside) }

  /// Opens a connection for the request `spec`, by its URL, trust, address policy, silence timeout and tag.
  package func dial(_ spec: TransferSpec, receiver: any DialReceiver) -> Dial {
    let engine = Scheme(url: spec.url) == .https ? engineWithRoom() : main
    return engine.dial(spec, receiver: receiver)
  }

  private func engineWithRoom() -> TransferEngine {
    if main.hasRoom { return main }
    if let engine = others.first(where: \.hasRoom) { return engine }
    // Without memory for another one, the first gets slower.
    guard !main.isClosed, let made = try? TransferEngine(sharingWith: main) else { return main }
    others.append(made)
    return made
  }

  /// Closes the engines; at the end of a turn only. Delegates and the observer hear all of it from within.
  package func close() {
    for engine in [main] + others {
      engine.close()
      engine.shutDown()
    }
  }
}

extension TransferEngine {
  fileprivate var hasRoom: Bool { pinned.count + transfers.count < Dialler.mostInOneMulti }
}
