import Glibc

/// A regular expression of a module, compiled.
///
/// `@unchecked Sendable`: the compiled expression does not change, and the C library locks it while it matches.
final class Pattern: @unchecked Sendable {
  /// The expression as the module has it.
  let source: String
  private let compiled: UnsafeMutablePointer<regex_t>

  init(_ source: String) throws(PatternTranslation.Refusal) {
    let translation = try PatternTranslation(source)
    self.source = source
    compiled = .allocate(capacity: 1)
    compiled.initialize(to: regex_t())
    var flags = REG_EXTENDED | REG_NOSUB
    if translation.ignoresCase { flags |= REG_ICASE }
    if translation.isMultiline { flags |= REG_NEWLINE }
    let result = regcomp(compiled, translation.text, flags)
    guard result == 0 else {
      var text = [CChar](repeating: 0, count: 256)
      regerror(result, compiled, &text, text.count)
      compiled.deallocate()
      let reason = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      throw PatternTranslation.Refusal("can't be compiled: \(reason)")
    }
  }

  deinit {
    regfree(compiled)
    compiled.deallocate()
  }

  /// Whether it matches anywhere in the octets, which may hold NUL.
  func matches(_ octets: some Collection<UInt8>) -> Bool {
    // The zero at the end is not part of the range: AddressSanitizer takes all that `regexec` gets for a C string.
    let bytes = Array(octets) + [0]
    return bytes.withUnsafeBytes { bytes in
      var range = regmatch_t(rm_so: 0, rm_eo: regoff_t(clamping: bytes.count - 1))
      guard let base = bytes.baseAddress else { return false }
      return regexec(compiled, base.assumingMemoryBound(to: CChar.self), 0, &range, REG_STARTEND) == 0
    }
  }
}

extension Pattern: Equatable {
  static func == (left: Pattern, right: Pattern) -> Bool { left.source == right.source }
}
