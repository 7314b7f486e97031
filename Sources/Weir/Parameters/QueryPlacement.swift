import Foundation
import FoundationNetworking

/// Puts an encoded query where it belongs: into the URL or the body.
enum QueryPlacement {
  static let formContentType = "application/x-www-form-urlencoded; charset=utf-8"

  /// The methods whose parameters go into the URL when the method decides.
  static func belongsInURL(_ method: String) -> Bool {
    method == "GET" || method == "HEAD" || method == "DELETE"
  }

  /// The URL with the query added to the one it has.
  ///
  /// Text is put together here: setting `URLComponents.percentEncodedQuery` traps on a query that is not properly
  /// escaped, and with custom escaping rules the caller's data decide about that.
  static func url(_ url: URL, adding query: String) -> URL? {
    if query.isEmpty { return url }
    let text = url.absoluteString
    let fragment = text.firstIndex(of: "#") ?? text.endIndex
    let base = text[..<fragment]
    let separator =
      switch base.firstIndex(of: "?") {
      case nil: "?"
      case let mark? where base.index(after: mark) == base.endIndex: ""
      default: "&"
      }
    return URL(string: "\(base)\(separator)\(query)\(text[fragment...])")
  }

  static func setBody(_ query: String, of request: inout URLRequest) {
    setContentType(formContentType, of: &request)
    request.httpBody = Data(query.utf8)
  }

  /// Sets the content type unless there is one.
  static func setContentType(_ type: String, of request: inout URLRequest) {
    if request.value(forHTTPHeaderField: "Content-Type") == nil {
      request.setValue(type, forHTTPHeaderField: "Content-Type")
    }
  }
}
