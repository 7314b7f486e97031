/// A guess at the protocol of a connection by its first bytes. A TLS record begins with a type of 20 to 24 (RFC 8446
/// §5.1), and an HTTP request with the capital letters of its method and a blank.
enum FirstBytes: Equatable {
  case undecided
  case http
  /// The bytes are text, and no request of HTTP.
  case text
  /// The bytes may be TLS.
  case other

  /// The longest method that is looked for.
  static let longestMethod = 24

  init(_ bytes: UnsafeRawBufferPointer) {
    for (index, byte) in bytes.prefix(Self.longestMethod + 1).enumerated() {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): continue
      case UInt8(ascii: " ") where index > 0:
        self = .http
        return
      default:
        self = index == 0 ? .other : .text
        return
      }
    }
    self = bytes.count > Self.longestMethod ? .text : .undecided
  }
}
