public import FoundationNetworking

extension HTTPURLResponse {
  /// The header fields, in no meaningful order.
  public var headers: HTTPHeaders {
    var headers = HTTPHeaders()
    for (name, value) in allHeaderFields {
      guard let name = name as? String, let value = value as? String else { continue }
      headers.update(name: name, value: value)
    }
    return headers
  }
}
