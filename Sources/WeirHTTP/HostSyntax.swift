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
