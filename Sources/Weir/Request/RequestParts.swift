/// The parts from which a URL request is built, in this order: URL, method and headers; the modifier; the parameters.
final class RequestParts: URLRequestConvertible {
  typealias Encode = @Sendable (URLRequest) throws -> URLRequest

  let url: any URLConvertible
  let method: HTTPMethod
  let headers: HTTPHeaders?
  let modifier: Session.RequestModifier?
  /// Encodes the parameters; nil if there are none.
  let encode: Encode?

  init(
    url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders?, modifier: Session.RequestModifier?,
    encode: Encode? = nil
  ) {
    self.url = url
    self.method = method
    self.headers = headers
    self.modifier = modifier
    self.encode = encode
  }

  /// The request, if it is of a URL and one of the methods that a `URLRequest` leaves as they are; else nil.
  var plain: HopRequest? {
    get throws {
      guard encode == nil, modifier == nil, headers?.isEmpty ?? true, Self.isPlain(method) else { return nil }
      return HopRequest(plain: try url.asURL(), method: method)
    }
  }

  private static func isPlain(_ method: HTTPMethod) -> Bool {
    method == .get || [.delete, .head, .options, .patch, .post, .put].contains(method)
  }

  func asURLRequest() throws -> URLRequest {
    var request = try URLRequest(url: url, method: method, headers: headers)
    try modifier?(&request)
    return try encode?(request) ?? request
  }
}
