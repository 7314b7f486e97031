/// Anything that can show header fields one by one: a request's, a response's, a list of ours.
protocol FieldSource {
  /// Calls `body` with name and value of each field, in order. The bytes are valid during the call.
  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void)
}

/// Header fields in the order they were added, all in one buffer.
struct FieldList: FieldSource, Sendable {
  private var bytes: [UInt8] = []
  private var ends: [(name: Int, value: Int)] = []

  init(reservingBytes count: Int = 0, fields: Int = 0) {
    bytes.reserveCapacity(count)
    ends.reserveCapacity(fields)
  }

  var count: Int { ends.count }

  mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
    bytes.append(contentsOf: name)
    let nameEnd = bytes.count
    bytes.append(contentsOf: value)
    ends.append((nameEnd, bytes.count))
  }

  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for end in ends {
        body(
          UnsafeRawBufferPointer(rebasing: bytes[start..<end.name]),
          UnsafeRawBufferPointer(rebasing: bytes[end.name..<end.value]))
        start = end.value
      }
    }
  }

  /// For tests and logs.
  var pairs: [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    forEach { pairs.append((String(decoding: $0, as: UTF8.self), String(decoding: $1, as: UTF8.self))) }
    return pairs
  }
}
