import Testing

@testable import WeirExporter

@Suite struct PageCodingTests {
  @Test(
    arguments: [
      (nil, .identity),
      ("", .identity),
      ("gzip", .gzip),
      ("GZip", .gzip),
      ("x-gzip", .gzip),
      ("gzip, deflate, br, zstd", .gzip),
      ("deflate, br", .identity),
      ("identity", .identity),
      ("gzip;q=0", .identity),
      ("gzip;q=0.0", .identity),
      ("gzip;q=0, *", .identity),
      ("gzip;q=0.001", .gzip),
      ("gzip;q=0.5, identity", .identity),
      ("gzip, identity", .gzip),
      ("gzip;q=0.5, identity;q=0.5", .gzip),
      ("*", .gzip),
      ("*;q=0.1, identity;q=0.2", .identity),
      ("*;q=0, identity", .identity),
      ("*;q=0, gzip", .gzip),
      ("identity;q=0, gzip;q=0.1", .gzip),
      ("identity;q=0, *", .gzip),
      // Nothing is left.
      ("identity;q=0", nil),
      ("*;q=0", nil),
      ("gzip;q=0, identity;q=0", nil),
      ("gzip;q=0, *;q=0", nil),
      ("identity;q=0, br", nil),
      // Broken elements are left out.
      ("gzip;q=1.5", .identity),
      ("gzip;q", .identity),
      ("identity;q=0;;;, gzip", .gzip),
      ("gzip;level=9", .gzip),
    ] as [(String?, PageCoding?)])
  func codings(field: String?, coding: PageCoding?) {
    #expect(PageCoding(acceptEncoding: field) == coding)
  }
}
