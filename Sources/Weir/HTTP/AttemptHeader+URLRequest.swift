extension AttemptHeader {
  /// The number of earlier retries, according to the request's own header field.
  func count(in urlRequest: URLRequest) -> Int {
    guard var value = urlRequest.value(forHTTPHeaderField: name) else { return 0 }
    return value.withUTF8 { Self.count(UnsafeRawBufferPointer($0)) }
  }
}
