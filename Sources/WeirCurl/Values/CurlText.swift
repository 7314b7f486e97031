/// Texts of libcurl, which may quote the peer.
enum CurlText {
  /// The text without header fields, which may hold secrets: newer versions quote a field that nghttp2 refuses. Line
  /// ends and other control characters, which may also stand in a certificate's names, become `?`.
  static func sanitized(_ text: String) -> String {
    let refusedField = "Invalid HTTP header field was received"
    if text.hasPrefix(refusedField) { return refusedField }
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var clean = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { clean.append(isControl(scalar) ? "?" : scalar) }
    return String(clean)
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .control }
}
