/// Bytes of the collections that a value holds.
func storedBytes(in value: Any) -> Int {
  if let collection = value as? any Stored { return collection.bytes }
  return Mirror(reflecting: value).children.reduce(0) { $0 + storedBytes(in: $1.value) }
}

private protocol Stored {
  var bytes: Int { get }
}

/// A collection without capacity has no storage. Other storage begins with a header of 32 bytes.
private func bytes(_ capacity: Int, _ stride: Int) -> Int { capacity == 0 ? 0 : 32 + capacity * stride }

extension Array: Stored {
  fileprivate var bytes: Int { WeirTransportTests.bytes(capacity, MemoryLayout<Element>.stride) }
}

// A hash table has about a third more places than its capacity.
extension Dictionary: Stored {
  fileprivate var bytes: Int {
    WeirTransportTests.bytes(capacity * 4 / 3, MemoryLayout<Key>.stride + MemoryLayout<Value>.stride)
  }
}

extension Set: Stored {
  fileprivate var bytes: Int { WeirTransportTests.bytes(capacity * 4 / 3, MemoryLayout<Element>.stride) }
}
