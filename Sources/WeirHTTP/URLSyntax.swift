/// The grammar of URLs and of references to them (RFC 3986).
package enum URLSyntax {
  /// The URL or reference with each octet percent-encoded that may not stand where it does (§2.1). What is encoded
  /// already stays as it is, so that a second time changes nothing.
  ///
  /// Foundation's `URL(string:)` would encode the escapes of such a text once more. `[` and `]` may only stand around the
  /// address of a host (§3.2.2), and `%` only before two hexadecimal digits. The octets of a host and its port stay, as
  /// the name may be in another script; a reader of URLs turns it into ASCII, or refuses it.
  package static func wellFormed(_ url: UnsafeRawBufferPointer) -> String {
    escaped(url) ?? String(decoding: url, as: UTF8.self)
  }

  package static func wellFormed(_ url: String) -> String { url.withOctets(escaped) ?? url }

  /// Whether the octet ends an authority (§3.2).
  @inlinable @inline(__always)
  package static func endsAuthority(_ octet: UInt8) -> Bool {
    octet == .slash || octet == .questionMark || octet == UInt8(ascii: "#")
  }

  /// Nil if nothing has to be encoded.
  private static func escaped(_ url: UnsafeRawBufferPointer) -> String? {
    let (host, fragment) = (host(of: url), url.firstIndex(of: UInt8(ascii: "#"), in: 0..<url.count))
    func mayStay(_ index: Int) -> Bool {
      switch url[index] {
      case let octet where OctetSet.segment.contains(octet):
        // In a user's name or password it would end them (§3.2.1).
        octet != UInt8(ascii: "@") || index >= host.lowerBound - 1
      case .slash, .questionMark: true
      case UInt8(ascii: "#"): index == fragment
      case UInt8(ascii: "%"): host.contains(index) || isEscape(url, at: index)
      default: host.contains(index)
      }
    }
    guard let first = url.indices.first(where: { !mayStay($0) }) else { return nil }
    var octets = Array(url[..<first])
    octets.reserveCapacity(url.count + 32)
    for index in first..<url.count {
      let octet = url[index]
      if mayStay(index) {
        octets.append(octet)
      } else {
        octets.append(UInt8(ascii: "%"))
        octets.append(digit(octet >> 4))
        octets.append(digit(octet & 15))
      }
    }
    return String(decoding: octets, as: UTF8.self)
  }

  /// Where the host and its port are; empty, at the beginning, in a reference without an authority.
  private static func host(of url: UnsafeRawBufferPointer) -> Range<Int> {
    let scheme = url.prefix {
      $0.isLetterOrDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
    }
    let mark: StaticString = scheme.isEmpty ? "//" : "://"
    guard UnsafeRawBufferPointer(rebasing: url[scheme.endIndex...]).begins(with: mark) else { return 0..<0 }
    let authority = url[(scheme.endIndex + mark.utf8CodeUnitCount)...].prefix { !endsAuthority($0) }
    let start = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
    return start..<authority.endIndex
  }

  private static func isEscape(_ url: UnsafeRawBufferPointer, at index: Int) -> Bool {
    index + 2 < url.count && url[index + 1].hexValue != nil && url[index + 2].hexValue != nil
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

/// The grammar of host names.
package enum HostSyntax {
  /// Whether it is a host name: labels of 1 to 63 octets, 253 in all (RFC 1035 §2.3.4), perhaps with a dot at the end.
  package static func isName(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
    let dot = UInt8(ascii: ".")
    let name = bytes.last == dot ? bytes.dropLast() : bytes[...]
    return name.count <= 253
      && name.split(separator: dot, omittingEmptySubsequences: false).allSatisfy { label in
        (1...63).contains(label.count)
          && label.allSatisfy { OctetSet.unreserved.contains($0) && $0 != UInt8(ascii: "~") }
      }
  }
}
