// Uploads of asynchronous sequences; see `SequenceInputStream`. No method throws or waits: failures arrive at the handlers.

extension Session {
  /// Uploads the chunks of a sequence to a URL: in chunks, or as many bytes as `length` says.
  ///
  /// The sequence is iterated over once, so that a request that has begun to send it is not retried;
  /// ``upload(to:length:method:headers:interceptor:shouldAutomaticallyResume:requestModifier:making:)`` makes another one
  /// for each attempt. A chunk is asked for when the one before has been given to the connection. With a `length`, the
  /// number of bytes, the request fails if the sequence gives fewer or more; without one it is not known.
  @preconcurrency
  public func upload<Body: AsyncSequence & Sendable>(
    stream body: Body, length: Int64? = nil, to url: any URLConvertible, method: HTTPMethod = .post,
    headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil
  ) -> UploadRequest where Body.Element: Collection<UInt8> {
    upload(
      SequenceInputStream(body, length: length), to: url, method: method, headers: headers, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume, requestModifier: requestModifier)
  }

  /// Uploads the chunks of a sequence with a URL request whose own body is not sent.
  public func upload<Body: AsyncSequence & Sendable>(
    stream body: Body, length: Int64? = nil, with convertible: any URLRequestConvertible,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
  ) -> UploadRequest where Body.Element: Collection<UInt8> {
    upload(
      SequenceInputStream(body, length: length), with: convertible, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  /// Uploads the chunks of a sequence that `make` makes anew for each attempt, to a URL.
  ///
  /// `make` runs on the session's `requestQueue`, else on one of its workers. Its error is the attempt's, as
  /// ``WeirError/createUploadableFailed(error:)`` unless it is a ``WeirError``.
  @preconcurrency
  public func upload<Body: AsyncSequence & Sendable>(
    to url: any URLConvertible, length: Int64? = nil, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    requestModifier: RequestModifier? = nil, making make: @escaping @Sendable () throws -> Body
  ) -> UploadRequest where Body.Element: Collection<UInt8> {
    upload(
      with: RequestParts(url: url, method: method, headers: headers, modifier: requestModifier), length: length,
      interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, making: make)
  }

  /// Uploads the chunks of a sequence that `make` makes anew for each attempt, with a URL request whose own body is not sent.
  @preconcurrency
  public func upload<Body: AsyncSequence & Sendable>(
    with convertible: any URLRequestConvertible, length: Int64? = nil, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, making make: @escaping @Sendable () throws -> Body
  ) -> UploadRequest where Body.Element: Collection<UInt8> {
    upload(
      SequenceUpload(convertible: convertible) { .stream(SequenceInputStream(try make(), length: length)) },
      interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
  }
}

/// A URL request and the sequences that are made for its attempts.
private struct SequenceUpload: UploadConvertible {
  let convertible: any URLRequestConvertible
  let make: @Sendable () throws -> UploadRequest.Uploadable

  func asURLRequest() throws -> URLRequest { try convertible.asURLRequest() }
  func createUploadable() throws -> UploadRequest.Uploadable { try make() }
}
