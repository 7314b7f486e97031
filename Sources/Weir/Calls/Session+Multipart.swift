// Uploads of forms with files. The form is encoded when the URL request is built, by a worker unless the session has a
// request queue. It is encoded to memory, or from `usingThreshold` bytes on to a temporary file.

extension Session {
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
