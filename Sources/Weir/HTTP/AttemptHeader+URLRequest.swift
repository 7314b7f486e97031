extension AttemptHeader {
  /// How many retries the request had before it came here, as it says itself.
  func count(in urlRequest: URLRequest) -> Int {
    guard var value = urlRequest.value(forHTTPHeaderField: name) else { return 0 }
    return value.withUTF8 { Self.count(UnsafeRawBufferPointer($0)) }
  }
}
