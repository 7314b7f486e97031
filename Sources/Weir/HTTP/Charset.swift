import WeirHTTP

/// The charset parameter of a media type (RFC 9110 section 8.3.2), as an encoding.
enum Charset {
  /// The longest name of a charset (RFC 2978 section 2.3).
  private static let longestName = 40

  /// The encoding of that name; nil if it is not known.
  static func encoding(named name: String) -> String.Encoding? { encodings[key(of: name)] }

  /// The name that a Content-Type has, in lower case and without quotes; nil without one. A comma ends it: repeated
  /// fields are joined by one.
  static func name(in contentType: String) -> String? {
    contentType.withOctets { contentType in
      for parameter in contentType.parameterParts.dropFirst() {
        let (field, value) = parameter.nameAndValue
        guard let value, field.spells("charset") else { continue }
        let name = value.drop(while: isQuote).prefix { !isQuote($0) && $0 != .comma }.prefix(longestName)
        let text = FieldSyntax.lowercased(UnsafeRawBufferPointer(rebasing: name)).trimmingCharacters(in: .whitespaces)
        return text.isEmpty ? nil : text
      }
      return nil
    }
  }

  private static func isQuote(_ octet: UInt8) -> Bool { octet == .quotationMark || octet == UInt8(ascii: "'") }

  /// The name of an encoding that Foundation has no constant for; nil for others.
  static func name(of encoding: String.Encoding) -> String? {
    table.first { encoding.rawValue & coreFoundation != 0 && $0.encoding == encoding }?.names.first
  }

  /// Names are compared by their letters and digits (UTS 22 section 1.4), so that `utf8` and `iso_8859-1` are known.
  private static func key(of name: String) -> String { name.filter { $0.isLetter || $0.isNumber } }

  private static let encodings = Dictionary(
    table.flatMap { row in row.names.map { (key(of: $0), row.encoding) } }, uniquingKeysWith: { first, _ in first })

  /// The names in use, from IANA's registry and the Encoding Standard, of the encodings that Foundation reads on Linux.
  /// EUC-JP is not among them.
  private static let table: [(names: [String], encoding: String.Encoding)] = [
    (["utf-8", "unicode-1-1-utf-8", "utf-8-sig"], .utf8),
    (["us-ascii", "ascii", "iso646-us", "ansi_x3.4-1968", "csascii"], .ascii),
    (["iso-8859-1", "iso8859-1", "latin1", "l1", "iso-ir-100", "ibm819", "cp819", "csisolatin1"], .isoLatin1),
    (["utf-16", "iso-10646-ucs-2", "unicode-1-1", "ucs-2"], .utf16),
    (["utf-16be"], .utf16BigEndian), (["utf-16le"], .utf16LittleEndian),
    (["utf-32"], .utf32), (["utf-32be"], .utf32BigEndian), (["utf-32le"], .utf32LittleEndian),
    (["windows-1252", "cp1252", "x-cp1252"], .windowsCP1252),
    (["windows-1250", "cp1250", "x-cp1250"], .windowsCP1250),
    (["windows-1251", "cp1251", "x-cp1251"], .windowsCP1251),
    (["windows-1253", "cp1253", "x-cp1253"], .windowsCP1253),
    (["windows-1254", "cp1254", "x-cp1254"], .windowsCP1254),
    (["windows-1255", "cp1255", "x-cp1255"], foundation(0x0505)),
    (["windows-1256", "cp1256", "x-cp1256"], foundation(0x0506)),
    (["windows-1257", "cp1257", "x-cp1257"], foundation(0x0507)),
    (["windows-1258", "cp1258", "x-cp1258"], foundation(0x0508)),
    (["iso-8859-2", "latin2", "l2", "csisolatin2"], .isoLatin2),
    (["iso-8859-3", "latin3"], foundation(0x0203)), (["iso-8859-4", "latin4"], foundation(0x0204)),
    (["iso-8859-5", "cyrillic"], foundation(0x0205)), (["iso-8859-6", "arabic"], foundation(0x0206)),
    (["iso-8859-7", "greek"], foundation(0x0207)),
    (["iso-8859-8", "iso-8859-8-i", "iso-8859-8-e", "hebrew"], foundation(0x0208)),
    (["iso-8859-9", "latin5", "l5"], foundation(0x0209)), (["iso-8859-10", "latin6"], foundation(0x020A)),
    (["iso-8859-13"], foundation(0x020D)), (["iso-8859-14", "latin8"], foundation(0x020E)),
    (["iso-8859-15", "latin9", "latin-9"], foundation(0x020F)), (["iso-8859-16", "latin10"], foundation(0x0210)),
    (["windows-874", "tis-620", "iso-8859-11", "cp874"], foundation(0x041D)),
    (["koi8-r", "koi8"], foundation(0x0A02)), (["koi8-u"], foundation(0x0A08)),
    (["ibm866", "cp866"], foundation(0x041B)), (["ibm437", "cp437"], foundation(0x0400)),
    (["ibm850", "cp850"], foundation(0x0410)), (["macintosh", "x-mac-roman"], foundation(0x0000)),
    // GB 18030 extends GBK, and that GB 2312.
    (["gb18030", "gbk", "gb2312", "gb_2312-80", "cp936", "ms936", "x-gbk", "euc-cn"], foundation(0x0632)),
    (["big5", "cn-big5", "x-x-big5", "cp950"], foundation(0x0423)), (["big5-hkscs"], foundation(0x0A06)),
    (["shift_jis", "sjis", "x-sjis", "ms_kanji", "windows-31j", "cp932"], foundation(0x0420)),
    (["iso-2022-jp", "csiso2022jp"], .iso2022JP),
    (["euc-kr", "ks_c_5601-1987", "windows-949", "cp949", "korean", "uhc"], foundation(0x0422)),
  ]

  /// The bit by which Foundation tells Core Foundation's numbers of encodings from its own.
  private static let coreFoundation: UInt = 0x8000_0000

  private static func foundation(_ number: UInt) -> String.Encoding {
    String.Encoding(rawValue: coreFoundation | number)
  }
}
