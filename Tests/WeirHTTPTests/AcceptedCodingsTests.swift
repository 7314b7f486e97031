import Testing

@testable import WeirHTTP

@Suite struct AcceptedCodingsTests {
  @Test(
    arguments: [
      (nil, false, 0, 0), ("", false, 0, 0), ("gzip", true, 1000, 0), ("x-gzip", true, 1000, 0),
      ("GZIP, deflate, br", true, 1000, 1000), ("gzip;q=0", false, 0, 0), ("gzip;q=0.001", true, 1, 0),
      ("*", true, 1000, 1000), ("*;q=0", false, 0, 0), ("*;q=0, gzip", true, 1000, 0), ("*, gzip;q=0", false, 0, 1000),
      ("br", false, 0, 0), ("identity", false, 0, 0), ("gzip;q=0.5, identity", false, 500, 0),
      ("gzip;q=0.5, identity;q=0.5", true, 500, 0), ("gzip, identity;q=0", true, 1000, 0),
      ("gzip;q=0.5, *", false, 500, 1000), ("gzip;q=x", false, 0, 0), ("gzip;q=0, gzip", true, 1000, 0),
    ] as [(String?, Bool, Int, Int)])
  func tellsWhatAClientReads(field: String?, prefersGzip: Bool, gzip: Int, deflate: Int) {
    let codings = AcceptedCodings(field)
    #expect(codings.prefersGzip == prefersGzip)
    #expect(codings.gzip.thousandths == gzip)
    #expect(codings.deflate.thousandths == deflate)
  }

  @Test(arguments: [(nil, nil), ("gzip", nil), ("identity;q=0", 0), ("*;q=0.2", 200)] as [(String?, Int?)])
  func tellsOfBodiesWithoutACoding(field: String?, weight: Int?) {
    #expect(AcceptedCodings(field).identity?.thousandths == weight)
  }
}
