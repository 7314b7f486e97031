extension DataRequest {
  /// Adds a validation. Validations run in the order in which they were added, up to the first failure.
  @preconcurrency
  @discardableResult
  public func validate(_ validation: @escaping Validation) -> Self {
    add(.custom { validation($0.urlRequest, $1, $0.data) })
  }

  /// Accepts only these status codes.
  @preconcurrency
  @discardableResult
  public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
    add(.rule { $0.failure(status: acceptable) })
  }

  /// Accepts only these content types; `*` stands for any type or subtype. An empty body always passes.
  @preconcurrency
  @discardableResult
  public func validate<Types: Sequence<String> & SendableMetatype>(
    contentType acceptable: @escaping @Sendable @autoclosure () -> Types
  ) -> Self {
    add(.rule { $0.failure(contentType: acceptable()) })
  }

  /// Accepts status codes 200 to 299 and content types that the request's `Accept` field accepts.
  @discardableResult
  public func validate() -> Self { addUsualValidators() }
}

extension DownloadRequest {
  /// Adds a validation. Validations run in the order in which they were added, up to the first failure.
  @preconcurrency
  @discardableResult
  public func validate(_ validation: @escaping Validation) -> Self {
    add(.custom { validation($0.urlRequest, $1, $0.fileURL) })
  }

  /// Accepts only these status codes.
  @preconcurrency
  @discardableResult
  public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
    add(.rule { $0.failure(status: acceptable) })
  }

  /// Accepts only these content types; `*` stands for any type or subtype. An empty file always passes.
  @preconcurrency
  @discardableResult
  public func validate<Types: Sequence<String> & SendableMetatype>(
    contentType acceptable: @escaping @Sendable @autoclosure () -> Types
  ) -> Self {
    add(.rule { $0.failure(contentType: acceptable()) })
  }

  /// Accepts status codes 200 to 299 and content types that the request's `Accept` field accepts.
  @discardableResult
  public func validate() -> Self { addUsualValidators() }
}

// Validators run when the body has ended; the handlers have the received chunks by then. With `streaming()` they run when
// the head has come.
extension DataStreamRequest {
  /// Adds a validation. Validations run in the order in which they were added, up to the first failure.
  @preconcurrency
  @discardableResult
  public func validate(_ validation: @escaping Validation) -> Self {
    add(.custom { validation($0.urlRequest, $1) })
  }

  /// Accepts only these status codes.
  @preconcurrency
  @discardableResult
  public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
    add(.rule { $0.failure(status: acceptable) })
  }

  /// Accepts only these content types; `*` stands for any type or subtype. The type of an empty body is checked too.
  @preconcurrency
  @discardableResult
  public func validate<Types: Sequence<String> & SendableMetatype>(
    contentType acceptable: @escaping @Sendable @autoclosure () -> Types
  ) -> Self {
    add(.rule { $0.failure(contentType: acceptable()) })
  }

  /// Accepts status codes 200 to 299 and content types that the request's `Accept` field accepts.
  @discardableResult
  public func validate() -> Self { addUsualValidators() }
}
