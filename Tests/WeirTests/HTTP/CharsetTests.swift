import Foundation
import Testing

@testable import Weir

@Suite struct CharsetTests {
  /// Each encoding by its names, however they are spelled, with octets that only it reads so.
  @Test(
    arguments: [
      (["utf-8", "UTF-8", "utf8", "\"utf-8\"", "'utf-8'", "Utf_8", "unicode-1-1-utf-8"], [0xC3, 0xBC], "ü"),
      (["us-ascii", "US-ASCII", "ascii", "ANSI_X3.4-1968"], [0x61], "a"),
      (["iso-8859-1", "ISO_8859-1", "iso8859-1", "latin1"], [0xFC, 0x80], "ü\u{80}"),
      (["utf-16", "iso-10646-ucs-2", "unicode-1-1"], [0xFF, 0xFE, 0x61, 0], "a"),
      (["utf-16be"], [0, 0x61], "a"), (["utf-16le"], [0x61, 0], "a"), (["utf-32be"], [0, 0, 0, 0x61], "a"),
      (["utf-32le"], [0x61, 0, 0, 0], "a"), (["utf-32"], [0, 0, 0xFE, 0xFF, 0, 0, 0, 0x61], "a"),
      (["windows-1252", "WINDOWS-1252", "cp1252", "x-cp1252"], [0x80, 0x93], "€“"),
      (["windows-1250"], [0x8A], "Š"), (["windows-1251", "CP1251"], [0xCF], "П"), (["windows-1253"], [0xE1], "α"),
      (["windows-1254"], [0xFD], "ı"), (["windows-1255"], [0xE0], "א"), (["windows-1256"], [0xC7], "ا"),
      (["windows-1257"], [0xE0], "ą"), (["windows-1258"], [0xD0], "Đ"), (["iso-8859-2", "latin2"], [0xB1], "ą"),
      (["iso-8859-3"], [0xA1], "Ħ"), (["iso-8859-4"], [0xB1], "ą"), (["iso-8859-5"], [0xB0], "А"),
      (["iso-8859-6"], [0xC7], "ا"), (["iso-8859-7"], [0xE1], "α"), (["iso-8859-8"], [0xE0], "א"),
      (["iso-8859-9", "latin5"], [0xFD], "ı"), (["iso-8859-10"], [0xE0], "ā"), (["iso-8859-13"], [0xE0], "ą"),
      (["iso-8859-14"], [0xF0], "ŵ"), (["iso-8859-15", "latin-9"], [0xA4], "€"), (["iso-8859-16"], [0xA4], "€"),
      (["tis-620", "windows-874", "iso-8859-11"], [0xA1], "ก"), (["koi8-r"], [0xD0], "п"), (["koi8-u"], [0xA4], "є"),
      (["ibm866", "cp866"], [0x8F], "П"), (["ibm437"], [0x82], "é"), (["ibm850"], [0x82], "é"),
      (["macintosh", "x-mac-roman"], [0x8E], "é"),
      (["gbk", "GBK", "gb2312", "GB18030", "cp936"], [0xC4, 0xE3], "你"), (["gb18030"], [0x81, 0x30, 0x84, 0x36], "¥"),
      (["big5", "cp950"], [0xA7, 0x41], "你"), (["big5-hkscs"], [0xA7, 0x41], "你"),
      (["shift_jis", "x-sjis", "Windows-31J"], [0x83, 0x65, 0x87, 0x40], "テ①"),
      (["iso-2022-jp"], [0x1B, 0x24, 0x42, 0x25, 0x46, 0x1B, 0x28, 0x42], "テ"),
      (["euc-kr", "ks_c_5601-1987", "cp949"], [0xC7, 0xD1], "한"),
    ] as [([String], [UInt8], String)])
  func knownOnes(names: [String], octets: [UInt8], text: String) throws {
    for name in names {
      let found = try #require(Charset.name(in: "text/plain;a=b; CharSet = \(name) ;x"))
      let encoding = try #require(Charset.encoding(named: found), "\(name)")
      #expect(String(data: Data(octets), encoding: encoding) == text, "\(name)")
      #expect(Charset.name(in: name) == nil)
    }
  }

  @Test(
    arguments: [
      (nil, nil), ("", nil), ("text/plain", nil), ("text/plain; charset", nil), ("text/plain; charset=", nil),
      ("text/plain; charset=\"\"", nil), ("text/html; charset=utf-8, text/html", "utf-8"),
      ("text/plain; charset=Klingon", "klingon"),
      (
        "text/plain; charset=\(String(repeating: "x", count: 60))", String(repeating: "x", count: 40)
      ),
    ] as [(String?, String?)])
  func names(contentType: String?, name: String?) {
    #expect(contentType.flatMap(Charset.name) == name)
  }

  /// Where Foundation's own description is a number.
  @Test func namesOfEncodings() throws {
    #expect(Charset.name(of: try #require(Charset.encoding(named: "gbk"))) == "gb18030")
    #expect(Charset.name(of: .utf8) == nil && Charset.name(of: .windowsCP1252) == nil)
  }
}
