/// A request of the gateway's client.
struct ClientRequest: CustomStringConvertible {
  /// 0 to 3: GET, HEAD, POST, and GET in HTTP/1.0.
  let method: Int
  let target: String

  var isHead: Bool { method == 1 }
  var isHTTP10: Bool { method == 3 }

  var description: String { "\(["GET", "HEAD", "POST", "GET"][method]) \(target) HTTP/1.\(isHTTP10 ? 0 : 1)" }

  var bytes: [UInt8] {
    let rest = method == 2 ? "Content-Length: 1\r\n\r\nx" : "\r\n"
    return Array("\(self)\r\nHost: h\r\n\(rest)".utf8)
  }
}
