public import FoundationNetworking

extension HTTPURLResponse {
  /// The header fields, in no meaningful order.
  public var headers: HTTPHeaders {
    HTTPHeaders(
      allHeaderFields.compactMap { name, value in
        guard let name = name as? String, let value = value as? String else { return nil }
        return HTTPHeader(name: name, value: value)
      })
  }
}
