/// The head of a response, as received: its bytes, the values of the status line, and access to its fields.
///
/// The engine has checked its framing and unfolded its lines, but reading the fields does not rely on that.
@usableFromInline
package struct ResponseHead: Sendable {
  package let status: Int
  package let version: HTTPVersionNumber
  /// Whether there is a Content-Encoding field.
  package let isEncoded: Bool
  /// Whether a Connection field may name other fields: it has any value but `keep-alive`.
  package let mayNameFields: Bool
  /// The bytes from the status line to the blank line, with line ends. libcurl writes HTTP/2 heads in the form of
  /// HTTP/1.
  @usableFromInline package let bytes: [UInt8]

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

  /// Calls `body` with name and value of each line as received; repeated fields come one by one. The bytes are valid
  /// during the call.
  @inlinable
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    forEachLine { name, value, _ in body(name, value) }
  }

  /// Does the same with lines that may be passed on as they are: `plain` is the whole line, or empty.
  @inlinable
  package func forEachLine(
    _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ plain: UnsafeRawBufferPointer) -> Void
  ) {
    bytes.withUnsafeBytes { bytes in
      for field in FieldLines(ofHead: bytes) {
        body(bytes.octets(field.name), bytes.octets(field.value), bytes.octets(field.plain))
      }
    }
  }

  /// The value of a field; nil when absent. The values of repeated fields are joined by `, ` (RFC 9110 §5.2).
  package func value(forField name: String) -> String? {
    name.withOctets { name in
      var value: String?
      forEach { found, octets in
        guard found.equalsIgnoringCase(name) else { return }
        let text = FieldSyntax.text(octets)
        // In place, as the server decides how often a field is repeated.
        if value == nil { value = text } else { value?.append(", \(text)") }
      }
      return value
    }
  }

  /// The value of each field of this name, in order, for fields that are not lists. Their values may contain commas.
  package func values(ofField name: String) -> [String] {
    name.withOctets { name in
      var values: [String] = []
      forEach { if $0.equalsIgnoringCase(name) { values.append(FieldSyntax.text($1)) } }
      return values
    }
  }

  /// Where a redirect leads (RFC 9110 §10.2.2). Nil without `Location`, and with several that differ.
  package var location: String? {
    let values = locations
    return values.allSatisfy { $0 == values.first } ? values.first : nil
  }

  /// The value of each `Location` field, in order, with the octets encoded that no URL may hold: not all of them need be
  /// UTF-8.
  package var locations: [String] {
    var values: [String] = []
    forEach { if $0.spells("location") { values.append(URLSyntax.wellFormed($1)) } }
    return values
  }

  /// All fields. Repeated ones are joined under their first spelling.
  package func combinedFields() -> [String: String] {
    var fields: [(name: String, value: String)] = []
    // Linear in the number of fields, on which the server decides.
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

  /// The most interim heads (RFC 9110 §15.2) that may come before a final one.
  package static let mostInterim = 16
}
