import WeirCurl
import WeirHTTP

/// Writes the head of a request (RFC 9112 §3). Its parts have been checked: no line end is in any of them.
enum RequestHeadWriter {
  /// The most bytes of what is neither a part nor a field: spaces, the version, names and line ends.
  private static let mostAround = 160

  /// Appends the head to `bytes`, in the order in which libcurl writes it: Host, the framing of chunks, the fields, the
  /// length.
  ///
  /// - Parameter length: That of the body, for Content-Length; nil for none.
  static func append(
    to bytes: inout [UInt8], method: String, target: Substring, host: [UInt8], fields: HeaderBlock,
    isChunked: Bool = false, length: Int64? = nil, upgrade: String = "", proxyAuthorization: [UInt8] = []
  ) {
    var target = target
    method.withOctets { method in
      target.withUTF8 { target in
        upgrade.withOctets { upgrade in
          let parts = method.count + target.count + upgrade.count + max(host.count, fields.hostValue.count)
          bytes.append(atMost: parts + fields.bytes.count + proxyAuthorization.count + mostAround) { place in
            place.put(method)
            place.put(.space)
            place.put(UnsafeRawBufferPointer(target))
            place.put(" HTTP/1.1\r\nHost: ")
            put(fields, host: host, at: &place) { place in
              place.put(isChunked ? "\r\nTransfer-Encoding: chunked\r\n" : "\r\n")
              if upgrade.isEmpty { return }
              place.put("Connection: upgrade\r\nUpgrade: ")
              place.put(upgrade)
              place.put("\r\n")
            }
            if !proxyAuthorization.isEmpty {
              place.put("Proxy-Authorization: ")
              proxyAuthorization.withUnsafeBytes { place.put($0) }
              place.put("\r\n")
            }
            if let length {
              place.put("Content-Length: ")
              place.put(digitsOf: length.magnitude)
              place.put("\r\n")
            }
            place.put("\r\n")
          }
        }
      }
    }
  }

  /// Writes the Host, by the fields or else that of the origin, then what comes between, then all other fields.
  @inline(__always)
  private static func put(
    _ fields: HeaderBlock, host: [UInt8], at place: inout UnsafeMutableRawPointer,
    between: (inout UnsafeMutableRawPointer) -> Void
  ) {
    let line = fields.hostLine
    fields.bytes.withUnsafeBytes { bytes in
      if line.isEmpty { host.withUnsafeBytes { place.put($0) } } else { place.put(bytes.octets(fields.hostValue)) }
      between(&place)
      place.put(bytes.octets(0..<line.lowerBound))
      place.put(bytes.octets(line.upperBound..<bytes.count))
    }
  }
}
