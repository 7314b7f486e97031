import Foundation
import FoundationNetworking

/// Where an attempt is: the request of the present hop and what follows it.
struct Hop {
  var request: HopRequest?
  /// Set when this hop's response leads to another request.
  var next: URLRequest?
  /// Whether secrets meant for the first origin stay behind.
  var hasLeftOrigin = false
  /// Whether the hop has still to go on the wire, for the request was suspended between two.
  var isDue = false

  var url: URL? { request?.url }
}

/// A URL request and what is needed of it more than once: each question to a `URLRequest` costs as much as a lock.
final class HopRequest: Sendable {
  let urlRequest: URLRequest
  let url: URL?
  /// The URL's text; empty without one.
  let text: String
  let method: String

  init(_ urlRequest: URLRequest) {
    self.urlRequest = urlRequest
    url = urlRequest.url
    text = url?.absoluteString ?? ""
    method = urlRequest.httpMethod ?? "GET"
  }

  /// Whether the URL is an http or https one and names a host.
  var isSupported: Bool {
    var text = text
    return text.withUTF8 { bytes in
      let start = Self.length(of: "http://", in: bytes) ?? Self.length(of: "https://", in: bytes)
      guard let start, start < bytes.count else { return false }
      return !"/?#".utf8.contains(bytes[start])
    }
  }

  /// The length of `prefix` when `bytes` begin with it, in whatever case (RFC 9110 section 4.2.3).
  private static func length(of prefix: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard bytes.count >= prefix.utf8CodeUnitCount else { return nil }
    for index in 0..<prefix.utf8CodeUnitCount
    where FieldSyntax.lowercased(bytes[index]) != prefix.utf8Start[index] {
      return nil
    }
    return prefix.utf8CodeUnitCount
  }
}
