// Uploads. No method throws or waits: failures arrive at the handlers.

extension Session {
  private typealias Uploadable = UploadRequest.Uploadable

  // MARK: Data

  /// Uploads bytes to a URL.
  @preconcurrency
  public func upload(
    _ data: Data, to url: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
  ) -> UploadRequest {
    upload(
      Uploadable.data(data), with: RequestParts(url: url, method: method, headers: headers, modifier: requestModifier),
      interceptor, shouldAutomaticallyResume, fileManager)
  }

  /// Uploads bytes with a URL request whose own body is not sent.
  public func upload(
    _ data: Data, with convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
  ) -> UploadRequest {
    upload(Uploadable.data(data), with: convertible, interceptor, shouldAutomaticallyResume, fileManager)
  }

  // MARK: Files

  /// Uploads a regular file to a URL. The file stays where it is.
  @preconcurrency
  public func upload(
    _ fileURL: URL, to url: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
  ) -> UploadRequest {
    upload(
      Uploadable.file(fileURL, shouldRemove: false),
      with: RequestParts(url: url, method: method, headers: headers, modifier: requestModifier),
      interceptor, shouldAutomaticallyResume, fileManager)
  }

  /// Uploads a regular file with a URL request whose own body is not sent. The file stays where it is.
  public func upload(
    _ fileURL: URL, with convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
  ) -> UploadRequest {
    upload(
      Uploadable.file(fileURL, shouldRemove: false), with: convertible, interceptor, shouldAutomaticallyResume,
      fileManager)
  }

  // MARK: Streams

  /// Uploads a stream's bytes to a URL: in chunks, or as many bytes as a `Content-Length` among the headers says. A
  /// worker reads the stream once; no other code may use it from now on.
  @preconcurrency
  public func upload(
    _ stream: InputStream, to url: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
  ) -> UploadRequest {
    upload(
      Uploadable.stream(stream),
      with: RequestParts(url: url, method: method, headers: headers, modifier: requestModifier),
      interceptor, shouldAutomaticallyResume, fileManager)
  }

  /// Uploads a stream's bytes with a URL request whose own body is not sent.
  public func upload(
    _ stream: InputStream, with convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
  ) -> UploadRequest {
    upload(Uploadable.stream(stream), with: convertible, interceptor, shouldAutomaticallyResume, fileManager)
  }

  // MARK: The designated method

  /// Uploads the body that a convertible makes for each attempt.
  public func upload(
    _ upload: any UploadConvertible, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
  ) -> UploadRequest {
    self.upload(upload, with: upload, interceptor, shouldAutomaticallyResume, fileManager)
  }

  private func upload(
    _ upload: any UploadableConvertible, with convertible: any URLRequestConvertible,
    _ interceptor: (any RequestInterceptor)?, _ shouldAutomaticallyResume: Bool?, _ fileManager: FileManager
  ) -> UploadRequest {
    prepared(
      UploadRequest(
        upload: upload, convertible: convertible, context: context, interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume, fileManager: fileManager))
  }

  // MARK: Forms with files

  // The form is encoded when the URL request is built, by a worker unless the session has a request queue. It is encoded
  // to memory, or from `usingThreshold` bytes on to a temporary file.

  /// Uploads a form that `multipartFormData` fills; that closure is called at once.
  @preconcurrency
  public func upload(
    multipartFormData fill: (MultipartFormData) -> Void, to url: any URLConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    method: HTTPMethod = .post, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default,
    requestModifier: RequestModifier? = nil
  ) -> UploadRequest {
    upload(
      multipartFormData: Self.form(fileManager, fill), to: url, usingThreshold: encodingMemoryThreshold,
      method: method, headers: headers, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume, fileManager: fileManager, requestModifier: requestModifier)
  }

  /// Uploads a form that `multipartFormData` fills at once, with a URL request whose own body is not sent.
  public func upload(
    multipartFormData fill: (MultipartFormData) -> Void, with convertible: any URLRequestConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default
  ) -> UploadRequest {
    upload(
      multipartFormData: Self.form(fileManager, fill), with: convertible, usingThreshold: encodingMemoryThreshold,
      interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, fileManager: fileManager)
  }

  /// Uploads a form.
  @preconcurrency
  public func upload(
    multipartFormData form: MultipartFormData, to url: any URLConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    method: HTTPMethod = .post, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default,
    requestModifier: RequestModifier? = nil
  ) -> UploadRequest {
    upload(
      multipartFormData: form,
      with: RequestParts(url: url, method: method, headers: headers, modifier: requestModifier),
      usingThreshold: encodingMemoryThreshold, interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume, fileManager: fileManager)
  }

  /// Uploads a form with a URL request whose own body is not sent.
  public func upload(
    multipartFormData form: MultipartFormData, with convertible: any URLRequestConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default
  ) -> UploadRequest {
    upload(
      MultipartUpload(form, with: convertible, threshold: encodingMemoryThreshold), interceptor: interceptor,
      shouldAutomaticallyResume: shouldAutomaticallyResume, fileManager: fileManager)
  }

  private static func form(_ fileManager: FileManager, _ fill: (MultipartFormData) -> Void) -> MultipartFormData {
    let form = MultipartFormData(fileManager: fileManager)
    fill(form)
    return form
  }
}
