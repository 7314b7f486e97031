import WeirIO

/// The listeners that a process hands to the one that takes over, and their descriptors there. A value, whose text stands
/// in the environment of the new process.
///
/// The text has words that a space separates: the descriptor by which the two processes talk, then descriptor and
/// address of each socket, such as `4 6=127.0.0.1:8080 7=unix:/run/weir.sock`. An address is the one that was asked for,
/// so that one with port 0 is found too.
struct HandedOver: Equatable {
  static let variable = "WEIR_LISTENERS"

  struct Item: Equatable {
    let descriptor: CInt
    let address: SocketAddress
  }

  /// The end of a socket pair whose other end the old process has.
  var channel: CInt
  var items: [Item]
}

extension HandedOver {
  /// Nil if `text` has not the form above, or names a descriptor twice or one of the standard streams.
  init?(parsing text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard let first = words.first, let channel = Self.descriptor(first) else { return nil }
    self.init(channel: channel, items: [])
    for word in words.dropFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let descriptor = Self.descriptor(parts[0]),
        let address = try? SocketAddress(parsing: Self.unescaped(parts[1]))
      else { return nil }
      items.append(Item(descriptor: descriptor, address: address))
    }
    let all = items.map(\.descriptor) + [channel]
    guard Set(all).count == all.count else { return nil }
  }

  var text: String {
    (["\(channel)"] + items.map { "\($0.descriptor)=\(Self.escaped("\($0.address)"))" }).joined(separator: " ")
  }

  private static func descriptor(_ text: Substring) -> CInt? {
    guard let number = CInt(text), number > 2, "\(number)" == text else { return nil }
    return number
  }

  /// A path may have spaces.
  private static func escaped(_ text: String) -> String {
    text.replacing("%", with: "%25").replacing(" ", with: "%20")
  }

  private static func unescaped(_ text: Substring) -> String {
    String(text).replacing("%20", with: " ").replacing("%25", with: "%")
  }
}
