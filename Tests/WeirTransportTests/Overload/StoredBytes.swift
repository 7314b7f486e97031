/// Bytes of the collections that a value holds.
func storedBytes(in value: Any) -> Int {
  if let collection = value as? any Stored { return collection.bytes }
  return Mirror(reflecting: value).children.reduce(0) { $0 + storedBytes(in: $1.value) }
}

private protocol Stored {
  var bytes: Int { get }
}

/// A collection that has never had storage holds none; the header of another takes 32 bytes.
private func bytes(_ capacity: Int, _ stride: Int) -> Int { capacity == 0 ? 0 : 32 + capacity * stride }

extension Array: Stored {
  fileprivate var bytes: Int { WeirTransportTests.bytes(capacity, MemoryLayout<Element>.stride) }
}

// A third of a hash table's places stays free, roughly.
extension Dictionary: Stored {
  fileprivate var bytes: Int {
    WeirTransportTests.bytes(capacity * 4 / 3, MemoryLayout<Key>.stride + MemoryLayout<Value>.stride)
  }
}

extension Set: Stored {
  fileprivate var bytes: Int { WeirTransportTests.bytes(capacity * 4 / 3, MemoryLayout<Element>.stride) }
}
