/// The head of a final response, as received: its bytes, what the status line says, and the reading of its fields.
///
/// It comes from the engine, which has checked its framing and unfolded its lines, but the reading trusts nothing.
package struct ResponseHead: Sendable {
  package let status: Int
  package let version: HTTPVersionNumber
  /// Whether it has a Content-Encoding.
  package let isEncoded: Bool
  /// Whether a Connection field may name other fields: any value but `keep-alive`.
  package let mayNameFields: Bool
  /// Status line to blank line, line ends included. HTTP/2 heads come in the shape of HTTP/1, as libcurl writes them.
  package let bytes: [UInt8]

  package init(
    status: Int, version: HTTPVersionNumber = .http1_1, isEncoded: Bool = false, mayNameFields: Bool = true,
    bytes: [UInt8]
  ) {
    self.status = status
    self.version = version
    self.isEncoded = isEncoded
    self.mayNameFields = mayNameFields
    self.bytes = bytes
  }

  /// Calls `body` with name and value of each field as received, repeated ones apart; the bytes are valid during the call.
  @inlinable
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      for field in FieldLines(ofHead: bytes) { body(bytes.octets(field.name), bytes.octets(field.value)) }
    }
  }

  /// The value of a field, repeated ones joined by `, ` (RFC 9110 §5.2); nil when absent.
  package func value(forField name: String) -> String? {
    name.withOctets { name in
      var value: String?
      forEach { found, octets in
        guard found.equalsIgnoringCase(name) else { return }
        let text = FieldSyntax.text(octets)
        // In place: how often a field is repeated is the server's choice.
        if value == nil { value = text } else { value?.append(", \(text)") }
      }
      return value
    }
  }

  /// The value of each field of this name, in order, for fields that are no lists: their values may hold commas.
  package func values(ofField name: String) -> [String] {
    name.withOctets { name in
      var values: [String] = []
      forEach { if $0.equalsIgnoringCase(name) { values.append(FieldSyntax.text($1)) } }
      return values
    }
  }

  /// All fields, repeated ones joined under their first spelling.
  package func combinedFields() -> [String: String] {
    var fields: [(name: String, value: String)] = []
    // Linear in the number of fields, which is the server's choice.
    var positions: [String: Int] = [:]
    positions.reserveCapacity(Self.usualFieldCount)
    fields.reserveCapacity(Self.usualFieldCount)
    forEach { name, value in
      let (name, value) = (FieldSyntax.text(name), FieldSyntax.text(value))
      let key = FieldSyntax.lowercased(name)
      if let position = positions[key] {
        fields[position].value += ", \(value)"
      } else {
        positions[key] = fields.count
        fields.append((name, value))
      }
    }
    var combined = [String: String](minimumCapacity: fields.count)
    for field in fields { combined[field.name] = field.value }
    return combined
  }

  private static let usualFieldCount = 16
}
