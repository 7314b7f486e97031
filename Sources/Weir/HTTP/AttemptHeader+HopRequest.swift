extension AttemptHeader {
  /// The number of earlier retries, according to the request's own header field.
  func count(in hop: HopRequest) -> Int {
    guard var value = hop.value(forHeader: name) else { return 0 }
    return value.withUTF8 { Self.count(UnsafeRawBufferPointer($0)) }
  }
}
