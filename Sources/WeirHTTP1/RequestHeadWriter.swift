import WeirCurl
import WeirHTTP

/// Writes the head of a request (RFC 9112 §3). Its parts have been checked: no line end is in any of them.
enum RequestHeadWriter {
  /// Appends the head to `bytes`, in the order in which libcurl writes it: Host, the framing of chunks, the fields, the
  /// length.
  static func append(
    to bytes: inout [UInt8], method: String, target: Substring, host: [UInt8], fields: HeaderBlock,
    isWithoutExpect: Bool, upload: Upload, upgrade: String? = nil, proxyAuthorization: [UInt8]? = nil
  ) {
    append(&bytes, method)
    bytes.append(.space)
    append(&bytes, target)
    append(&bytes, " HTTP/1.1\r\nHost: ")
    let own = fields.hostLine
    if own.isEmpty { bytes.append(contentsOf: host) } else { appendHost(&bytes, fields.bytes[own]) }
    append(&bytes, upload.isChunked ? "\r\nTransfer-Encoding: chunked\r\n" : "\r\n")
    if let upgrade {
      append(&bytes, "Connection: upgrade\r\nUpgrade: ")
      append(&bytes, upgrade)
      append(&bytes, "\r\n")
    }
    if isWithoutExpect {
      fields.forEach { name, value in
        guard !name.spells("expect"), !name.spells("host") else { return }
        bytes.append(field: name, value.isEmpty ? ":" : ": ", value, "\r\n")
      }
    } else if own.isEmpty {
      bytes.append(contentsOf: fields.bytes)
    } else {
      bytes.append(contentsOf: fields.bytes[..<own.lowerBound])
      bytes.append(contentsOf: fields.bytes[own.upperBound...])
    }
    if let proxyAuthorization {
      append(&bytes, "Proxy-Authorization: ")
      bytes.append(contentsOf: proxyAuthorization)
      append(&bytes, "\r\n")
    }
    if let length = upload.length, !upload.isEmpty {
      append(&bytes, "Content-Length: ")
      append(&bytes, number: length)
      append(&bytes, "\r\n\r\n")
    } else {
      append(&bytes, "\r\n")
    }
  }

  /// Appends the value of a Host line.
  private static func appendHost(_ bytes: inout [UInt8], _ line: ArraySlice<UInt8>) {
    let value = line.dropLast(2).drop { $0 != .colon }.dropFirst().drop(while: \.isBlank)
    bytes.append(contentsOf: value)
  }

  private static func append(_ bytes: inout [UInt8], number: Int64) {
    if number > 9 { append(&bytes, number: number / 10) }
    bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  private static func append(_ bytes: inout [UInt8], _ text: StaticString) {
    bytes.append(contentsOf: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static func append(_ bytes: inout [UInt8], _ text: some StringProtocol) {
    let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable {
      bytes.append(contentsOf: UnsafeRawBufferPointer($0))
    }
    if isCopied == nil { bytes.append(contentsOf: text.utf8) }
  }
}
