import Synchronization

/// Sets a header field of each request to a secret, such as an API key in a file that is followed:
///
/// ```swift
/// let key = SecretField("X-API-Key", Secret(try SecretFile("/run/secrets/key")))
/// let session = Session(interceptor: key)
/// ```
///
/// The secret is read for each attempt. A redirect that leaves the request's origin takes the field off, and its value is
/// left out of ``Request/cURLDescription(redactingSecrets:)``.
public struct SecretField: HeaderAdapter, NamedInterceptor, AdaptOnlyInterceptor {
  /// The adapter's name in metrics; nil means the name of its type.
  public let name: String?
  /// The name of the field.
  public let field: String
  /// The field's value.
  public let secret: Secret

  /// Takes the field's name and its value.
  ///
  /// `name`: The adapter's name in metrics; nil means the name of its type.
  public init(_ field: String, _ secret: Secret, name: String? = nil) {
    self.field = field
    self.secret = secret
    self.name = name
  }

  public func headers(using state: RequestAdapterState) -> HTTPHeaders {
    let headers = HTTPHeaders([HTTPHeader(name: field, value: secret.value)])
    state.request?.noteSecrets(headers)
    return headers
  }
}

extension Request {
  /// Notes the fields that an adapter sets as secrets.
  func noteSecrets(_ headers: HTTPHeaders) {
    for header in headers where !Redaction.isSecretField(header.name) {
      fields.withLock { _ = $0.secretFields.insert(header.name) }
    }
  }

  /// Notes the fields that an adapter has set or changed as secrets.
  func noteSecrets(in adapted: URLRequest, beside original: URLRequest) {
    noteSecrets(HTTPHeaders(adapted.headers.filter { original.value(forHTTPHeaderField: $0.name) != $0.value }))
  }
}
