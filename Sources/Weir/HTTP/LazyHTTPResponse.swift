import Foundation
package import FoundationNetworking
import Synchronization

/// A response head as received, made into an `HTTPURLResponse` only when somebody asks.
///
/// Building one costs several microseconds; a status check or the look-up of one field needs none of it.
package final class LazyHTTPResponse: Sendable {
  package let statusCode: Int
  package let url: URL?
  private let head: ResponseHead
  package let httpVersion: String
  private let built: Mutex<HTTPURLResponse?>

  /// Takes the head's bytes: status line, field lines and the blank line, each ended by CRLF.
  package init(head: [UInt8], url: URL?, statusCode: Int, httpVersion: String = "HTTP/1.1") {
    self.head = ResponseHead(bytes: head)
    self.url = url
    self.statusCode = statusCode
    self.httpVersion = httpVersion
    built = Mutex(nil)
  }

  /// Takes a response that is built already.
  package init(_ response: HTTPURLResponse) {
    head = ResponseHead(bytes: [])
    url = response.url
    statusCode = response.statusCode
    httpVersion = ""
    built = Mutex(response)
  }

  /// The response; built on first use, by one thread, then kept.
  package var response: HTTPURLResponse? {
    built.withLock { built in
      if built == nil, let url {
        built = HTTPURLResponse(
          url: url, statusCode: statusCode, httpVersion: httpVersion, headerFields: head.combinedFields())
      }
      return built
    }
  }

  /// Whether the response exists already.
  package var isBuilt: Bool { built.withLock { $0 != nil } }

  /// A field's value without building the response; repeated fields joined by `, ` (RFC 9110 section 5.2).
  package func value(forHeader name: String) -> String? {
    guard head.bytes.isEmpty else { return head.value(forField: name) }
    return built.withLock { $0?.value(forHTTPHeaderField: name) }
  }

  /// Passes on each field as received, repeated ones apart; the bytes are valid only during the call.
  package func forEachField(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    head.forEachField(body)
  }
}
