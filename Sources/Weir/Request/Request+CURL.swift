public import Dispatch
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
  /// The request as a command line for curl, for people to read and run again.
  ///
  /// - Parameter redactingSecrets: Whether passwords, cookies, Authorization and Proxy-Authorization are left out.
  public func cURLDescription(redactingSecrets: Bool = true) -> String {
    guard let urlRequest = lastRequest else { return CURLCommand.failure }
    return CURLCommand(
      request: urlRequest, sessionHeaders: context.configuration.headers,
      credentials: credential.map { [$0] } ?? [], redactingSecrets: redactingSecrets
    ).text
  }

  /// Calls `handler` once with the redacted command line: at once if there is a URL request, else when the attempt's
  /// final one is created or could not be.
  @discardableResult
  public func cURLDescription(
    on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void
  ) -> Self {
    let describe: @Sendable () -> Void = { [weak self] in
      guard let text = self?.cURLDescription() else { return }
      queue.async { handler(text) }
    }
    let isKnown = fields.withLock { fields in
      if fields.isURLRequestFinal { return true }
      fields.observers.cURL.append(describe)
      return false
    }
    if isKnown { describe() }
    return self
  }

  /// The same on the request's handler queue.
  @discardableResult
  public func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
    cURLDescription(on: deliveryQueue, calling: handler)
  }

  /// Serves those who wait for the attempt's final URL request.
  func describeToWaiting() {
    let waiting = fields.withLock { fields in
      defer { fields.observers.cURL.removeAll() }
      return fields.observers.cURL
    }
    for describe in waiting { describe() }
  }
}
