import WeirHTTP

/// The name that a response suggests for its body (RFC 6266), made safe: it can't lead out of the directory.
struct SuggestedFileName: Equatable, Sendable {
  let text: String

  /// The longest name that Linux file systems accept, in bytes.
  private static let lengthLimit = 255

  /// The name from a response; nil if neither its `Content-Disposition` nor its URL gives one.
  init?(_ response: HTTPURLResponse) {
    self.init(disposition: response.value(forHTTPHeaderField: "Content-Disposition"), url: response.url)
  }

  init?(disposition: String?, url: URL?) {
    if let name = disposition.flatMap(Self.name(inDisposition:)) {
      self.init(name)
    } else {
      self.init(url?.lastPathComponent ?? "")
    }
  }

  /// Removes forbidden characters and cuts the name to the greatest length; nil if no file name is left. A leading dot
  /// is removed, since it would hide the file or make it a settings file of some program.
  init?(_ name: String) {
    let kept = name.unicodeScalars.filter { scalar in
      scalar != "/" && scalar != "\\" && scalar.properties.generalCategory != .control
    }
    let trimmed = String(String.UnicodeScalarView(kept)).trimmingCharacters(in: .whitespaces)
    // By scalars: a dot and a combining one make one character.
    let visible = trimmed.unicodeScalars.drop { $0 == "." || $0.properties.isWhitespace }
    let text = Self.cut(String(visible))
    if text.isEmpty { return nil }
    self.text = text
  }

  /// Cuts a name but keeps its extension, which says what is in the file.
  private static func cut(_ name: String) -> String {
    guard name.utf8.count > lengthLimit else { return name }
    let ending = name.lastIndex(of: ".").map { String(name[$0...]) } ?? ""
    let end = ending.utf8.count < 32 ? ending : ""
    var kept = String(name.dropLast(end.count))
    while kept.utf8.count + end.utf8.count > lengthLimit { kept.unicodeScalars.removeLast() }
    return kept + end
  }

  // MARK: Content-Disposition

  /// `filename*` takes precedence over `filename` (RFC 6266 section 4.3).
  private static func name(inDisposition value: String) -> String? {
    var plain: String?
    var extended: String?
    value.withOctets { value in
      for part in value.parameterParts.dropFirst() {
        let (octets, value) = part.nameAndValue
        guard let text = value else { continue }
        let name = FieldSyntax.lowercased(octets)
        if name == "filename", plain == nil {
          plain = text.unquoted.map { $0.withUnsafeBytes { FieldSyntax.text($0) } } ?? FieldSyntax.text(text)
        } else if name == "filename*", extended == nil {
          extended = Self.decoded(FieldSyntax.text(text))
        }
      }
    }
    return extended ?? plain
  }

  /// Decodes `UTF-8'en'a%20b` (RFC 8187 section 3.2); nil for any other charset.
  private static func decoded(_ text: String) -> String? {
    let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, FieldSyntax.lowercased(String(parts[0])) == "utf-8" else { return nil }
    return String(parts[2]).removingPercentEncoding
  }
}
