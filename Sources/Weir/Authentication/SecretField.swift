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
public struct SecretField: RequestInterceptor, NamedInterceptor, AdaptOnlyInterceptor {
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

  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    completion(.success(adapted(urlRequest)))
  }

  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    let adapted = adapted(urlRequest)
    state.request?.noteSecrets(in: adapted, beside: urlRequest)
    completion(.success(adapted))
  }

  private func adapted(_ urlRequest: URLRequest) -> URLRequest {
    var urlRequest = urlRequest
    urlRequest.setValue(secret.value, forHTTPHeaderField: field)
    return urlRequest
  }
}

extension Request {
  /// Notes the fields that an adapter has set or changed as secrets.
  func noteSecrets(in adapted: URLRequest, beside original: URLRequest) {
    let names = (adapted.allHTTPHeaderFields ?? [:]).compactMap { name, value in
      !Redaction.isSecretField(name) && original.value(forHTTPHeaderField: name) != value ? name : nil
    }
    if !names.isEmpty { fields.withLock { $0.secretFields.formUnion(names) } }
  }
}
