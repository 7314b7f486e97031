import WeirHTTP
import WeirIO
import WeirTransport

// Values that may come from files. No problem repeats one, nor what might be one in a wrong place.

extension ConfigurationForm<Secret> {
  /// The mapping of a file and of texts around its content.
  static var fileShape: ConfigurationShape { ReadSecret.mapping.shape }

  /// A text, or the content of a file between two texts.
  static var secret: Self {
    Self(.named("secret", .either([.text(nil), fileShape]))) { reader in
      if case .mapping(let entries) = reader.node.content { return ReadSecret.secret(reader, entries) }
      guard let text = reader.read(as: .string, unless: problem(secret:)) else { return nil }
      if text.hasPrefix("/") { reader.warn("looks like a path; for the content of a file write { file: /path }") }
      if text.hasPrefix("${") { reader.warn("looks like a variable, and none is replaced; write { file: /path }") }
      return Secret(text)
    }.secret
  }

  private static func problem(secret text: String) -> String? {
    if text.isEmpty { return "is empty; give the secret, or { file: /path }" }
    if text.utf8.count > 64 << 10 { return "must be at most 64 KiB" }
    return FieldSyntax.isValue(text.utf8)
      ? nil : "a secret must not hold control characters, nor begin or end with a space"
  }
}

/// A secret of a file as it was read.
private struct ReadSecret {
  var file = ""
  var prefix = ""
  var suffix = ""

  static let mapping = ConfigurationMapping(ReadSecret()) {
    Key(
      "file", .file, \.file,
      """
      an absolute path, of a file of at most 64 KiB that holds one line: `Authorization: { file: /run/secrets/key, \
      prefix: "Bearer " }`. It is followed: new content is in force within 2 s ([credentials.md](credentials.md))
      """, missing: .required("the absolute path of the file that holds the secret"))
    Key("prefix", .text(unless: { problem(of: $0 + "x") }), \.prefix, "goes before the file's content")
    Key("suffix", .text(unless: { problem(of: "x" + $0) }), \.suffix, "goes behind the file's content")
  }

  private static func problem(of value: String) -> String? {
    FieldSyntax.isValue(value.utf8)
      ? nil : "must not hold control characters, nor begin or end the value with a space"
  }

  static func secret(_ reader: ConfigurationReader, _ entries: [YAMLNode.Entry]) -> Secret? {
    guard entries.allSatisfy({ entry in mapping.keys.contains { $0.name == entry.key } }) else {
      // A key may be the secret, as in { s3cret }.
      reader.report("has other keys than file, prefix and suffix; write the secret in quotes, or { file: /path }")
      return nil
    }
    let (read, given) = mapping.read(reader, entries)
    guard let file = given.fitting("file") else { return nil }
    let mark = FileMark(ofFile: read.file)
    do throws(SecretFile.Problem) {
      let secret = Secret(try SecretFile(read.file), prefix: read.prefix, suffix: read.suffix)
      if let file = secret.file { reader.findings.secretFiles.append((reader.path.description, file)) }
      return secret
    } catch {
      file.report("the file \(error.reason)")
      // The file may be all that is wrong. One that is followed needs no reload.
      reader.findings.reads?.note(read.file, mark)
      return nil
    }
  }
}
