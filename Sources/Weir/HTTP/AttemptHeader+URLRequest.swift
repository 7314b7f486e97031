extension AttemptHeader {
  /// The number of retries that the request had before it came here, according to its own header field.
  func count(in urlRequest: URLRequest) -> Int {
    guard var value = urlRequest.value(forHTTPHeaderField: name) else { return 0 }
    return value.withUTF8 { Self.count(UnsafeRawBufferPointer($0)) }
  }
}
