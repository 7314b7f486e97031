/// The header fields of a request in the order received: offsets into one byte buffer. Names compare without case.
package struct HeaderFields: Sendable {
  package var count: Int { 0 }

  /// The value of the first field named `name`.
  package subscript(name: StaticString) -> String? { nil }
  package func contains(_ name: StaticString) -> Bool { false }
  /// Whether a comma-separated field holds `token`, compared without case.
  package func contains(_ name: StaticString, token: StaticString) -> Bool { false }
  /// All values of `name`, joined by commas (RFC 9110 §5.3).
  package func combined(_ name: StaticString) -> String? { nil }
  /// Calls `body` with name and value of each field, without surrounding white space; the bytes are valid during the call.
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {}
}
