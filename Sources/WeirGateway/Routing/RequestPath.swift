import WeirHTTP

/// The normal form of a request's path, so that the upstream sees the path that the route matched.
///
/// - Dot segments are resolved, also percent-encoded ones (RFC 3986 §6.2.2.3). None climbs above the root.
/// - Percent-encoded unreserved characters are decoded (§6.2.2.2): `/%61dmin` is `/admin`.
/// - An encoded slash (`%2F`) is unchanged and separates no segments. Empty segments (`//`) are unchanged too.
/// - Refused are malformed percent-encoding, backslashes, control characters and spaces, and fragments. So is a dot
///   segment behind an encoded slash or backslash (`..%2F`), since an upstream that decodes first would leave the
///   directory.
package enum RequestPath {
  package enum Result: Equatable, Sendable {
    case unchanged
    case changed([UInt8])
    case refused(String)
  }

  /// The path with its percent-encoded octets in upper case; nil if they are already.
  static func withUpperCaseEncoding(_ path: Span<UInt8>) -> [UInt8]? {
    guard var index = path.firstIndex(of: UInt8(ascii: "%"), from: 0) else { return nil }
    var spelled: [UInt8]?
    while index + 2 < path.count {
      for place in index + 1...index + 2 where path[place].hexValue != nil && path[place] >= UInt8(ascii: "a") {
        if spelled == nil { spelled = path.withUnsafeBytes { Array($0) } }
        spelled?[place] = path[place] - 0x20
      }
      guard let next = path.firstIndex(of: UInt8(ascii: "%"), from: index + 3) else { break }
      index = next
    }
    return spelled
  }

  package static func normalized(_ path: Span<UInt8>) -> Result {
    var hasPercent = false
    var hasDotSegment = false
    var previous: UInt8 = 0
    for index in path.indices {
      let byte = path[index]
      if byte <= 0x20 || byte == 0x7f { return .refused("must have no spaces and control characters") }
      if byte == UInt8(ascii: "\\") { return .refused("must have no backslash") }
      if byte == UInt8(ascii: "#") { return .refused("must have no fragment") }
      if byte == UInt8(ascii: "%") { hasPercent = true }
      // `/.well-known` goes through the resolver as well, which doesn't change it.
      if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { hasDotSegment = true }
      previous = byte
    }
    guard hasPercent || hasDotSegment else { return .unchanged }
    guard let decoded = decodingUnreserved(path) else { return .refused("has a % without two hexadecimal digits") }
    if hidesDotSegment(decoded) { return .refused("has a dot segment behind an encoded slash") }
    let resolved = resolvingDotSegments(decoded)
    return resolved.count == path.count && resolved.indices.allSatisfy { resolved[$0] == path[$0] }
      ? .unchanged : .changed(resolved)
  }

  private static func decodingUnreserved(_ path: Span<UInt8>) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(path.count)
    var index = 0
    while index < path.count {
      let byte = path[index]
      guard byte == UInt8(ascii: "%") else {
        result.append(byte)
        index += 1
        continue
      }
      guard index + 2 < path.count, let high = path[index + 1].hexValue,
        let low = path[index + 2].hexValue
      else { return nil }
      let decoded = high << 4 | low
      if OctetSet.unreserved.contains(decoded) {
        result.append(decoded)
      } else {
        result.append(byte)
        result.append(path[index + 1])
        result.append(path[index + 2])
      }
      index += 3
    }
    return result
  }

  /// Whether a segment, split at encoded slashes and backslashes, holds `.` or `..`.
  private static func hidesDotSegment(_ path: [UInt8]) -> Bool {
    path.split(separator: UInt8(ascii: "/")).contains { segment in
      var parts: [ArraySlice<UInt8>] = []
      var start = segment.startIndex
      var index = segment.startIndex
      while index + 2 < segment.endIndex {
        let code = (segment[index], segment[index + 1], segment[index + 2].lowercased)
        let isSlash = code == (UInt8(ascii: "%"), UInt8(ascii: "2"), UInt8(ascii: "f"))
        guard isSlash || code == (UInt8(ascii: "%"), UInt8(ascii: "5"), UInt8(ascii: "c")) else {
          index += 1
          continue
        }
        parts.append(segment[start..<index])
        index += 3
        start = index
      }
      guard !parts.isEmpty else { return false }
      parts.append(segment[start...])
      return parts.contains { isDots($0) }
    }
  }

  /// Removes dot segments (RFC 3986 §5.2.4) from a path that begins with a slash.
  private static func resolvingDotSegments(_ path: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(path.count)
    let segments = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (offset, segment) in segments.enumerated() {
      let isLast = offset == segments.count - 1
      guard isDots(segment) else {
        result.append(UInt8(ascii: "/"))
        result.append(contentsOf: segment)
        continue
      }
      if segment.count == 2, let slash = result.lastIndex(of: UInt8(ascii: "/")) { result.removeSubrange(slash...) }
      if isLast { result.append(UInt8(ascii: "/")) }
    }
    return result
  }

  private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
    (1...2).contains(segment.count) && segment.allSatisfy { $0 == UInt8(ascii: ".") }
  }
}
