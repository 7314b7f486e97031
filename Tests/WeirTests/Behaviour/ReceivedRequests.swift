import WeirTestSupport

/// One request as a server received it.
struct ReceivedRequest: Equatable {
  let line: String
  let fields: [(name: String, value: String)]
  let body: String

  var method: String { String(line.prefix { $0 != " " }) }
  var target: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

  func value(of name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  func has(_ name: String) -> Bool { value(of: name) != nil }

  static func == (left: Self, right: Self) -> Bool {
    left.line == right.line && left.body == right.body
      && left.fields.elementsEqual(right.fields) { $0.name == $1.name && $0.value == $1.value }
  }

  /// The requests in what one connection received; bodies by `Content-Length`.
  static func all(in text: String) -> [ReceivedRequest] {
    var rest = Substring(text)
    var requests: [ReceivedRequest] = []
    while let end = rest.firstRange(of: "\r\n\r\n") {
      let lines = rest[..<end.lowerBound].split(separator: "\r\n", omittingEmptySubsequences: false)
      let fields = lines.dropFirst().map { line in
        (
          name: String(line.prefix { $0 != ":" }),
          value: String(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " })
        )
      }
      let length =
        fields.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) }.map { max(0, $0) } ?? 0
      rest = rest[end.upperBound...]
      requests.append(
        // By bytes: a line end is one character.
        ReceivedRequest(
          line: String(lines.first ?? ""), fields: Array(fields), body: String(Substring(rest.utf8.prefix(length)))))
      rest = Substring(rest.utf8.dropFirst(length))
    }
    return requests
  }
}

extension ScriptedServer {
  /// The requests received on the connection of that number, from 0.
  func requests(on index: Int = 0) -> [ReceivedRequest] { ReceivedRequest.all(in: receivedText(on: index)) }

  /// The same of all connections, in the order of these.
  var allRequests: [ReceivedRequest] { (0..<connectionCount).flatMap { requests(on: $0) } }
}
