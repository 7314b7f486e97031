/// The body of a request, as a curl command line says it.
enum CURLBody {
  case none
  case data(Data)
  case file(URL, isTemporary: Bool)
  /// Bytes that weir reads or makes while it sends them; nil for those that are sent in chunks.
  ///
  /// - Parameter what: What they are, for the remark.
  case input(length: Int64?, what: String)
  /// Bytes that are made when the request is sent.
  case unmade

  /// The longest text that is an argument: the system takes 128 KiB at most.
  private static let longestArgument = 100_000

  /// curl's option that sends the body; nil if there is none, or it is not made yet.
  var option: String? {
    switch self {
    case .none, .unmade: nil
    case .data(let data): Self.word(of: data).map(Self.option) ?? "--data-binary @-"
    case .file(let url, _): "--data-binary \(ShellWord.quoted("@\(url.path)"))"
    case .input(nil, _): "-T -"
    case .input: "--data-binary @-"
    }
  }

  /// The words for `printf` that write the body to curl's standard input; nil if they are not needed.
  var input: String? {
    guard case .data(let data) = self, Self.word(of: data) == nil else { return nil }
    return ShellWord.format(data)
  }

  /// A sentence on what the command does not do; nil if it does everything.
  var remark: String? {
    switch self {
    case .none, .data, .file(_, isTemporary: false): nil
    case .file: "The file is removed when the request has ended."
    case .input(_, let what): "The body is \(what): give it to curl's standard input."
    case .unmade: "The body is made when the request is sent."
    }
  }

  private static func option(_ text: String) -> String {
    // curl would take `-d` with a leading `@` as the name of a file to read.
    "\(text.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d") \(ShellWord.quoted(text))"
  }

  /// The body as an argument; nil if it can't be one: a zero byte ends an argument, and control characters would not
  /// survive a terminal.
  private static func word(of data: Data) -> String? {
    guard data.count <= longestArgument, data.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A })
    else { return nil }
    return String(validating: data, as: UTF8.self)
  }
}

/// Quotes words for a shell, so that nothing in them is expanded. It works on bytes: a shell sees a quote even if a
/// combining character follows it.
enum ShellWord {
  static func quoted(_ text: String) -> String {
    let parts = text.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
  }

  /// A format for `printf` that writes these bytes, whatever they are.
  static func format(_ bytes: Data) -> String {
    var text: [UInt8] = [UInt8(ascii: "'")]
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "'"): text += #"'\''"#.utf8
      case UInt8(ascii: "\\"): text += #"\\"#.utf8
      case UInt8(ascii: "%"): text += "%%".utf8
      case 0x09: text += #"\t"#.utf8
      case 0x0A: text += #"\n"#.utf8
      case 0x0D: text += #"\r"#.utf8
      // A minus at the start would be an option's.
      case UInt8(ascii: "-") where text.count > 1, 0x20...0x2C, 0x2E...0x7E: text.append(byte)
      default: text += [UInt8(ascii: "\\")] + [byte >> 6, byte >> 3 & 7, byte & 7].map { UInt8(ascii: "0") + $0 }
      }
    }
    return String(decoding: text + [UInt8(ascii: "'")], as: UTF8.self)
  }
}
