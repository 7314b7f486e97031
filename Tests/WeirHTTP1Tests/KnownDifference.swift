import WeirHTTP
import WeirHTTP1

/// The rules by which weir reads bytes in one way, and h11 and httptools in another.
enum KnownDifference: Hashable {
  /// They take what they call HTTP/0.9 and HTTP/2.0; on a connection of HTTP/1.1 it is a mistake or an attack.
  case otherVersions
  /// They refuse blanks before the colon in responses, too; RFC 9112 §5.1 has a proxy remove them, and libcurl takes
  /// them. Before the colon of Content-Length and Transfer-Encoding weir refuses them.
  case blankBeforeColon
  /// They compare repeated lengths as text, weir as numbers, as libcurl does.
  case sameLengthOtherDigits
  /// They bound extensions by far more, or not at all.
  case longExtensions
  /// They refuse blanks before an extension in responses, too; RFC 9112 §7.1.1 allows them, and libcurl takes them.
  case blankBeforeExtension

  /// The rule that explains why `theirs` is not the verdict of `reading`; nil if none does.
  init?(_ reading: Reading, of input: [UInt8], theirs: String) {
    switch reading.defect {
    case .notHTTP? where input.starts(with: "HTTP/0.9 ".utf8): self = .otherVersions
    case .malformedHead(.version)?: self = .otherVersions
    case .malformedChunks(.extensionsTooLong)?: self = .longExtensions
    case nil where theirs == "refused" && Self.hasBlank(before: 0x3a, in: input): self = .blankBeforeColon
    case nil where theirs == "refused" && Self.hasBlank(before: 0x3b, in: input): self = .blankBeforeExtension
    case nil where theirs == "refused" && input.firstRange(of: Array("Content-Length: 03\r".utf8)) != nil:
      self = .sameLengthOtherDigits
    default: return nil
    }
  }

  private static func hasBlank(before octet: UInt8, in input: [UInt8]) -> Bool {
    zip(input, input.dropFirst()).contains { ($0 == 0x20 || $0 == 0x09) && $1 == octet }
  }
}
