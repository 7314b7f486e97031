import WeirServer

/// A request or a response whose header fields can be visited one by one.
protocol FieldSource {
  /// Whether a Connection field may name other fields.
  var mayNameFields: Bool { get }
  /// Calls `body` with name and value of each field, in order. The bytes are valid during the call.
  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void)
}

extension HeaderFields: FieldSource {}
