import Testing
import WeirIO

@testable import WeirGateway

@Suite struct LimitKeyTests {
  private struct Request: LimitedRequest {
    var limitedAddress: IPAddress?
    var user: [UInt8]?
    var fields: [(name: String, value: String)] = []

    func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void) {
      for field in fields where field.name == name { Array(field.value.utf8).withUnsafeBytes(body) }
    }
  }

  private static func from(_ address: String) -> Request { Request(limitedAddress: IPAddress(address)) }

  @Test(
    arguments: [
      ("192.0.2.1", "192.0.2.1", 64, true), ("192.0.2.1", "192.0.2.2", 64, false),
      ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", 64, true), ("2001:db8:0:1::1", "2001:db8:0:2::1", 64, false),
      ("2001:db8:0:1::1", "2001:db8:0:ff::2", 56, true), ("2001:db8:0:1::1", "2001:db8:0:100::1", 56, false),
      ("2001:db8::1", "2001:db8:ffff::1", 32, true), ("2001:db8::1", "2001:db9::1", 32, false),
      ("2001:db8::1", "2001:db8::2", 128, false), ("2001:db8::1:1", "2001:db8::1:2", 112, true),
      ("::", "0.0.0.0", 64, false),
    ])
  func addressesCountByTheirPrefix(one: String, other: String, prefix: Int, isSame: Bool) {
    let key = LimitKey.client(prefix6: prefix)
    #expect((key.fingerprint(Self.from(one)) == key.fingerprint(Self.from(other))) == isSame)
  }

  @Test func requestsWithoutTheirPartShareOne() {
    for key in [LimitKey.standard, .user, .header("x-tenant"), .route] {
      #expect(key.fingerprint(Request()) == key.fingerprint(Request()))
      #expect(key.fingerprint(Request()) != 0)
    }
    #expect(LimitKey.user.fingerprint(Request(user: [])) != LimitKey.user.fingerprint(Request()))
    let empty = Request(fields: [("x-tenant", "")])
    #expect(LimitKey.header("x-tenant").fingerprint(empty) != LimitKey.header("x-tenant").fingerprint(Request()))
  }

  @Test func otherPartsDoNotCount() {
    let one = Request(limitedAddress: .v4(1), user: [1], fields: [("x-tenant", "a"), ("x-tenant", "b")])
    let two = Request(limitedAddress: .v4(2), user: [1], fields: [("x-other", "c"), ("x-tenant", "a")])
    #expect(LimitKey.user.fingerprint(one) == LimitKey.user.fingerprint(two))
    #expect(LimitKey.route.fingerprint(one) == LimitKey.route.fingerprint(two))
    #expect(LimitKey.standard.fingerprint(one) != LimitKey.standard.fingerprint(two))
    // The first field of the name counts.
    #expect(LimitKey.header("x-tenant").fingerprint(one) == LimitKey.header("x-tenant").fingerprint(two))
    let three = Request(fields: [("x-tenant", "b")])
    #expect(LimitKey.header("x-tenant").fingerprint(one) != LimitKey.header("x-tenant").fingerprint(three))
  }
}
