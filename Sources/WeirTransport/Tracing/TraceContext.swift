import WeirHTTP

/// A position in a distributed trace, as the fields `traceparent` and `tracestate` carry it (W3C Trace Context).
///
/// The session adds these fields to each attempt of a request (``SessionConfiguration/traceContext``).
public struct TraceContext: Sendable, Hashable {
  /// The two halves of the trace's identifier, which are not both 0.
  package let high: UInt64
  package let low: UInt64
  /// Never 0.
  package let parent: UInt64
  package let flags: UInt8
  /// Data of tracing systems about the trace, in the form of `tracestate`; nil if there is none.
  public let traceState: String?

  /// The flags that this version knows: sampled, and that the identifier is random (Level 2).
  private static let knownFlags: UInt8 = 0b11
  private static let sampledFlag: UInt8 = 0b1

  init(high: UInt64, low: UInt64, parent: UInt64, flags: UInt8, traceState: String? = nil) {
    (self.high, self.low, self.parent, self.flags, self.traceState) = (high, low, parent, flags, traceState)
  }

  /// Reads the fields.
  ///
  /// - Parameters:
  ///   - traceparent: The version, the trace's identifier, the identifier of the parent and the flags, in lower-case
  ///     hexadecimal: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. Of a later version the same parts are
  ///     read.
  ///   - tracestate: Left out if it is malformed or longer than 512 bytes.
  /// - Returns: Nil if `traceparent` is malformed, or an identifier is 0.
  public init?(traceparent: String, tracestate: String? = nil) {
    guard let context = traceparent.withOctets({ Self($0) }) else { return nil }
    var state = TraceState()
    tracestate?.withOctets { state.add($0) }
    self = context.with(state.text)
  }

  /// Reads `traceparent`.
  package init?(_ octets: UnsafeRawBufferPointer) {
    guard octets.count >= Self.length, let version = Self.number(octets, 0..<2), version != 0xff,
      octets.count == Self.length || version > 0 && octets[Self.length] == Self.hyphen,
      octets[2] == Self.hyphen, octets[35] == Self.hyphen, octets[52] == Self.hyphen,
      let high = Self.number(octets, 3..<19), let low = Self.number(octets, 19..<35),
      let parent = Self.number(octets, 36..<52), let flags = Self.number(octets, 53..<55), high != 0 || low != 0,
      parent != 0
    else { return nil }
    let known = version == 0 ? Self.knownFlags : Self.sampledFlag
    self.init(high: high, low: low, parent: parent, flags: UInt8(truncatingIfNeeded: flags) & known)
  }

  /// The identifier of the trace: 32 lower-case hexadecimal digits.
  public var traceID: String { String(decoding: traceIDOctets, as: UTF8.self) }

  /// The identifier of the operation that sent or sends the request: 16 lower-case hexadecimal digits.
  public var parentID: String {
    String(decoding: Self.octets(Self.digits) { $0.put(hexadecimal: parent) }, as: UTF8.self)
  }

  /// Whether the caller may have recorded the trace.
  public var isSampled: Bool { flags & Self.sampledFlag != 0 }

  /// The value of `traceparent`, in version 00.
  public var traceparent: String { String(decoding: traceparentOctets, as: UTF8.self) }

  package var traceIDOctets: [UInt8] {
    Self.octets(2 * Self.digits) { place in
      place.put(hexadecimal: high)
      place.put(hexadecimal: low)
    }
  }

  package var traceparentOctets: [UInt8] {
    Self.octets(Self.length) { place in
      place.put("00-")
      place.put(hexadecimal: high)
      place.put(hexadecimal: low)
      place.put("-")
      place.put(hexadecimal: parent)
      place.put("-0")
      place.put(0x30 + flags)
    }
  }

  package func with(_ traceState: String?) -> TraceContext {
    TraceContext(high: high, low: low, parent: parent, flags: flags, traceState: traceState)
  }

  /// The same position for another operation of the trace.
  package func child(parent: UInt64) -> TraceContext {
    TraceContext(high: high, low: low, parent: parent, flags: flags, traceState: traceState)
  }

  /// The same for an operation that is recorded, whether the caller's were or not.
  package func recordedChild(parent: UInt64) -> TraceContext {
    TraceContext(high: high, low: low, parent: parent, flags: flags | Self.sampledFlag, traceState: traceState)
  }

  // MARK: Digits

  private static let length = 55
  /// How many digits a number has.
  private static let digits = 16
  private static let hyphen = UInt8(ascii: "-")

  /// A number in lower-case hexadecimal digits; nil if there are other octets.
  private static func number(_ octets: UnsafeRawBufferPointer, _ range: Range<Int>) -> UInt64? {
    var number: UInt64 = 0
    for index in range {
      let octet = octets[index]
      switch octet {
      case 0x30...0x39: number = number << 4 | UInt64(octet - 0x30)
      case 0x61...0x66: number = number << 4 | UInt64(octet - 0x57)
      default: return nil
      }
    }
    return number
  }

  /// Octets that `write` puts one behind the other.
  private static func octets(_ count: Int, _ write: (inout UnsafeMutableRawPointer) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      guard var place = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
      write(&place)
      initialized = count
    }
  }
}

extension UnsafeMutableRawPointer {
  /// Writes 16 digits, and moves on behind them.
  fileprivate mutating func put(hexadecimal number: UInt64) {
    put(half: number >> 32)
    put(half: number & 0xFFFF_FFFF)
  }

  /// Writes the 8 digits of 32 bits: all at once, each in an octet of a word.
  private mutating func put(half: UInt64) {
    // The four octets, the highest in the lowest bits, with 16 bits for each; then the digits, with 8 bits for each.
    var word = half.byteSwapped >> 32
    word = (word | word << 16) & 0x0000_FFFF_0000_FFFF
    word = (word | word << 8) & 0x00FF_00FF_00FF_00FF
    word = (word >> 4 | word << 8) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = (word + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    word += 0x3030_3030_3030_3030 + letters * 0x27
    storeBytes(of: word.littleEndian, as: UInt64.self)
    self += 8
  }
}

extension TraceContext: CustomStringConvertible {
  /// The value of `traceparent`.
  public var description: String { traceparent }
}

/// Draws identifiers of traces, of their parts and of requests. A value: equal seeds give equal identifiers.
///
/// The two halves of an identifier come from generators of their own. So two processes repeat each other's only if they drew
/// the same 64 bits of difference, however many identifiers they draw.
package struct TraceIDs: Sendable {
  private var high: PickRandom
  private var low: PickRandom
  private var parents: PickRandom

  package init(using random: inout some RandomNumberGenerator) {
    high = PickRandom(seed: random.next())
    low = PickRandom(seed: random.next())
    parents = PickRandom(seed: random.next())
  }

  /// Seeds from the system's randomness.
  package init() {
    var random = SystemRandomNumberGenerator()
    self.init(using: &random)
  }

  /// Begins a trace that is sampled as `sampler` decides.
  package mutating func begin(by sampler: TraceSampler) -> TraceContext {
    let (high, low) = pair()
    let context = TraceContext(high: high, low: low, parent: parent(), flags: 0)
    return sampler.chooses(context) ? context.recordedChild(parent: context.parent) : context
  }

  /// The identifier of an operation.
  package mutating func parent() -> UInt64 {
    while true {
      let number = parents.next()
      if number != 0 { return number }
    }
  }

  /// The identifier of a request: 32 hexadecimal digits.
  package mutating func request() -> [UInt8] {
    let (high, low) = pair()
    return TraceContext(high: high, low: low, parent: 1, flags: 0).traceIDOctets
  }

  private mutating func pair() -> (UInt64, UInt64) {
    while true {
      let pair = (high.next(), low.next())
      if pair != (0, 0) { return pair }
    }
  }
}

/// The list in the fields `tracestate` of a request (W3C Trace Context §3.3). Several fields are one list.
package struct TraceState {
  /// A longer list is left out.
  package static let longest = 512
  private static let mostMembers = 32

  private var list: [UInt8] = []
  private var keys: [[UInt8]] = []
  private var isMalformed = false

  package init() {}

  /// The list; nil without a member, if any field is malformed, or if the list is too long.
  package var text: String? {
    isMalformed || list.isEmpty || list.count > Self.longest ? nil : String(decoding: list, as: UTF8.self)
  }

  /// Adds a field's value.
  package mutating func add(_ value: UnsafeRawBufferPointer) {
    // A comma belongs to no key and no value.
    for member in value.split(separator: UInt8.comma) {
      let member = UnsafeRawBufferPointer(rebasing: member).trimmed
      // Members may be empty.
      if member.isEmpty { continue }
      guard !isMalformed, keys.count < Self.mostMembers, list.count <= Self.longest,
        let equals = member.firstIndex(of: .equalsSign, in: 0..<member.count),
        Self.isKey(member.octets(0..<equals)), Self.isValue(member.octets(equals + 1..<member.count)),
        !keys.contains(where: { $0.elementsEqual(member[..<equals]) })
      else {
        isMalformed = true
        return
      }
      keys.append(Array(member[..<equals]))
      if !list.isEmpty { list.append(.comma) }
      list.append(contentsOf: member)
    }
  }

  /// `vendor`, or `tenant@vendor`.
  private static func isKey(_ key: UnsafeRawBufferPointer) -> Bool {
    let at = UInt8(ascii: "@")
    guard let place = key.firstIndex(of: at, in: 0..<key.count) else {
      return isPart(key, longest: 256, mayBeginWithDigit: false)
    }
    return isPart(key.octets(0..<place), longest: 241, mayBeginWithDigit: true)
      && isPart(key.octets(place + 1..<key.count), longest: 14, mayBeginWithDigit: false)
  }

  private static func isPart(_ part: UnsafeRawBufferPointer, longest: Int, mayBeginWithDigit: Bool) -> Bool {
    guard let first = part.first, part.count <= longest, isLetter(first) || mayBeginWithDigit && first.isDigit else {
      return false
    }
    return part.allSatisfy { isLetter($0) || $0.isDigit || [0x5f, 0x2d, 0x2a, 0x2f].contains($0) }
  }

  private static func isLetter(_ octet: UInt8) -> Bool { octet &- 0x61 < 26 }

  /// Visible ASCII and blanks within, up to 256.
  private static func isValue(_ value: UnsafeRawBufferPointer) -> Bool {
    (1...256).contains(value.count) && value.allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != .equalsSign }
  }
}
