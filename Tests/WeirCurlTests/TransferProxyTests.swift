import Testing

@testable import WeirCurl

@Suite struct TransferProxyTests {
  /// RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func base64(text: String, encoded: String) {
    #expect(BasicProxyCredential.base64(text.utf8) == encoded)
  }

  @Test func base64HasAllDigits() {
    #expect(BasicProxyCredential.base64([0xfb, 0xff, 0xbf]) == "+/+/")
  }

  /// Connections are shared between requests with equal proxies only.
  @Test func equality() {
    let (one, other) = (TransferCredential(user: "a", password: "b"), TransferCredential(user: "a", password: "c"))
    let basic = BasicProxyCredential(one)
    let trust = TransferTrust(TLSOptions(), serverName: "x")
    let proxies = [
      TransferProxy(.http, host: "p", port: 1), TransferProxy(.https, host: "p", port: 1),
      TransferProxy(.socks5, host: "p", port: 1), TransferProxy(.socks5h, host: "p", port: 1),
      TransferProxy(.http, host: "q", port: 1), TransferProxy(.http, host: "p", port: 2),
      TransferProxy(.https, host: "p", port: 1, trust: trust), TransferProxy(.http, host: "p", port: 1, answer: one),
      TransferProxy(.http, host: "p", port: 1, answer: other),
      TransferProxy(.http, host: "p", port: 1, credential: basic),
      TransferProxy(.http, host: "p", port: 1, credential: BasicProxyCredential(one)),
    ]
    #expect(Set(proxies).count == proxies.count)
    let again = TransferProxy(.http, host: "P", port: 1, credential: basic)
    #expect(again == proxies[9] && again.hashValue == proxies[9].hashValue)
  }

  @Test func kinds() {
    let proxies = TransferProxy.Kind.allCases.map { TransferProxy($0, host: "p", port: 1) }
    #expect(proxies.map(\.resolvesNames) == [true, true, false, true])
    #expect(proxies.map(\.takesRequests) == [true, true, false, false])
    #expect(proxies.map(\.name) == ["http://p:1", "https://p:1", "socks5://p:1", "socks5h://p:1"])
    #expect(TransferProxy(.http, host: "[::1]", port: 1).name == "http://[::1]:1")
  }

  @Test func secretsAreInNoText() {
    let credential = TransferCredential(user: "me", password: "hunter22")
    let proxy = TransferProxy(
      .http, host: "p", port: 1, credential: BasicProxyCredential(credential), answer: credential)
    var dumped = ""
    dump(ProxyOptions.proxy(proxy), to: &dumped)
    for text in ["\(proxy)", String(reflecting: proxy), dumped] {
      #expect(text.contains("http://p:1") && !text.contains("hunter22") && !text.contains("authorization"))
    }
    #expect(proxy.credential?.redacted("no hunter22 here") == "no <redacted> here")
  }

  @Test func theProxyOfAHost() {
    let proxy = TransferProxy(.http, host: "p", port: 1)
    #expect(ProxyOptions.none.proxy(to: "a", port: 80, isSecure: false) == nil)
    #expect(ProxyOptions.proxy(proxy).proxy(to: "a", port: 80, isSecure: false) === proxy)
    let environment = ProxyEnvironment { ["http_proxy": "p:1", "no_proxy": "b"][$0] }
    let options = ProxyOptions.named(by: environment)
    #expect(options.proxy(to: "a", port: 80, isSecure: false)?.name == "http://p:1")
    #expect(options.proxy(to: "a", port: 443, isSecure: true) == nil)
    #expect(options.proxy(to: "b", port: 80, isSecure: false) == nil)
  }
}
