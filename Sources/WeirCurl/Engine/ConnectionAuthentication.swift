import WeirHTTP

/// Schemes that authenticate a connection instead of a request (RFC 4559 §6; NTLM): all that follows on it is taken for
/// the same user's. Who sends several users' requests must not use such a connection again.
enum ConnectionAuthentication {
  private static let schemes: [StaticString] = ["ntlm", "negotiate"]

  /// Whether credentials, or a challenge, are of such a scheme.
  static func begins(_ value: UnsafeRawBufferPointer) -> Bool {
    schemes.contains { scheme in
      let count = scheme.utf8CodeUnitCount
      return value.begins(with: scheme) && (value.count == count || value[count].isBlank)
    }
  }

  /// Whether a response's head, status line included, asks for such a scheme.
  static func isAskedFor(in head: [UInt8]) -> Bool {
    head.withUnsafeBytes { head in
      head.split(separator: 10).contains { line in
        guard let line = HeaderLine(UnsafeRawBufferPointer(rebasing: line), named: .authenticate) else { return false }
        return isAskedFor(in: line.value)
      }
    }
  }

  /// Challenges and their parameters are both divided by commas (RFC 9110 §11.6.1), and none of the latter begins as one
  /// of the former does.
  private static func isAskedFor(in value: UnsafeRawBufferPointer) -> Bool {
    var start = 0
    var isQuoted = false
    var isEscaped = false
    for (index, byte) in value.enumerated() {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\"), isQuoted {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == UInt8(ascii: ","), !isQuoted {
        if begins(UnsafeRawBufferPointer(rebasing: value[start..<index].trimmed)) { return true }
        start = index + 1
      }
    }
    return begins(UnsafeRawBufferPointer(rebasing: value[start...].trimmed))
  }
}
