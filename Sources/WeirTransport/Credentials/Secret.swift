/// A value that nobody may see: a text, or the content of a file that is followed. What it prints is not its value.
///
/// Two secrets are equal if they have the same text, or the same file with the same text around its content; the content
/// itself does not count.
public struct Secret: Sendable, Hashable, ExpressibleByStringLiteral {
  private enum Source: Sendable {
    case text(String)
    case file(SecretFile, prefix: String, suffix: String)
  }

  private let source: Source

  /// A text that does not change.
  public init(_ text: String) { source = .text(text) }

  public init(stringLiteral text: String) { self.init(text) }

  /// The content of a file as it is when the value is asked for, between two texts.
  public init(_ file: SecretFile, prefix: String = "", suffix: String = "") {
    source = .file(file, prefix: prefix, suffix: suffix)
  }

  /// The value at this moment.
  public var value: String { String(decoding: octets, as: UTF8.self) }

  /// The value at this moment.
  package var octets: [UInt8] {
    switch source {
    case .text(let text): Array(text.utf8)
    case .file(let file, let prefix, let suffix): prefix.utf8 + file.octets + suffix.utf8
    }
  }

  /// A number that changes with the value: one atomic load. What is read after it is at least as new.
  package var version: UInt64 { file?.version ?? 0 }

  /// The file whose content it is; nil for a text.
  package var file: SecretFile? { if case .file(let file, _, _) = source { file } else { nil } }

  public static func == (left: Secret, right: Secret) -> Bool {
    switch (left.source, right.source) {
    case (.text(let left), .text(let right)): left == right
    case (.file(let left, let leftPrefix, let leftSuffix), .file(let right, let rightPrefix, let rightSuffix)):
      left.path == right.path && leftPrefix == rightPrefix && leftSuffix == rightSuffix
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch source {
    case .text(let text): hasher.combine(text)
    case .file(let file, _, _): hasher.combine(file.path)
    }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The path of the file, or a remark in place of a text.
  public var description: String { file.map { "(secret in \($0.path))" } ?? "(secret)" }

  public var debugDescription: String { description }

  public var customMirror: Mirror { Mirror(self, children: []) }
}
