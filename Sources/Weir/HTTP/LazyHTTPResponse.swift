import Synchronization
package import WeirHTTP

/// A response head as received, made into an `HTTPURLResponse` only on demand.
///
/// Building an `HTTPURLResponse` costs several microseconds; a status check or the lookup of one field does not need
/// it.
package final class LazyHTTPResponse: ResponseFacts, Sendable {
  /// The received head; it has no bytes if the response was built elsewhere.
  package let head: ResponseHead
  package let url: URL?
  private let built: Mutex<HTTPURLResponse?>

  package init(_ head: ResponseHead, url: URL?) {
    self.head = head
    self.url = url
    built = Mutex(nil)
  }

  /// Takes a response that is already built.
  package init(_ response: HTTPURLResponse) {
    head = ResponseHead(status: response.statusCode, bytes: [])
    url = response.url
    built = Mutex(response)
  }

  package var statusCode: Int { head.status }

  /// The response; built on first use, by one thread, then kept.
  package var response: HTTPURLResponse? {
    built.withLock { built in
      if built == nil, let url {
        built = HTTPURLResponse(
          url: url, statusCode: head.status, httpVersion: head.version.fieldName, headerFields: head.combinedFields())
      }
      return built
    }
  }

  /// Whether the response exists already.
  package var isBuilt: Bool { built.withLock { $0 != nil } }

  /// A field's value, without building the response; repeated fields are joined by `, ` (RFC 9110 section 5.2).
  package func value(forHeader name: String) -> String? {
    guard head.bytes.isEmpty else { return head.value(forField: name) }
    return built.withLock { $0?.value(forHTTPHeaderField: name) }
  }

  /// Where a redirect leads.
  var location: String? { head.bytes.isEmpty ? value(forHeader: "Location") : head.location }

  /// The values of a field, each by itself. A response that was built elsewhere has them joined already.
  package func values(ofHeader name: String) -> [String] {
    guard head.bytes.isEmpty else { return head.values(ofField: name) }
    return value(forHeader: name).map { [$0] } ?? []
  }
}

/// Facts that serializers and validators read from a response, in either of its forms.
protocol ResponseFacts {
  var statusCode: Int { get }
  func value(forHeader name: String) -> String?
}

extension HTTPURLResponse: ResponseFacts {
  func value(forHeader name: String) -> String? { value(forHTTPHeaderField: name) }
}
