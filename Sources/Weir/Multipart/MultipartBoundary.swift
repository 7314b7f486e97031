import WeirHTTP

/// The boundary between the parts of a form.
enum MultipartBoundary {
  /// `weir.boundary.` and 64 random bits. So the parts need not be searched for it.
  static func random() -> String {
    "weir.boundary." + hexadecimal(.random(in: 0 ... .max)) + hexadecimal(.random(in: 0 ... .max))
  }

  /// The media type with the boundary, which is quoted if it is not a token (RFC 9110 section 5.6.6).
  static func contentType(of boundary: String) -> String {
    guard !FieldSyntax.isToken(boundary) else { return "multipart/form-data; boundary=\(boundary)" }
    let escaped = boundary.unicodeScalars.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
    return "multipart/form-data; boundary=\"\(String(String.UnicodeScalarView(escaped)))\""
  }

  private static func hexadecimal(_ number: UInt32) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}
