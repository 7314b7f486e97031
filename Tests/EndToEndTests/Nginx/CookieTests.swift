import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Cookies of a server that many use.
@Suite(.needs(.nginx), .timeLimit(.minutes(5))) struct CookieTests {
  @Test("Across redirects and paths")
  func redirects() async throws {
    let nginx = try await NginxServer(
      config: """
        location = /login {
          add_header Set-Cookie "id=7; HttpOnly; Max-Age=60";
          add_header Set-Cookie "deep=1; Path=/deep";
          return 302 /deep/echo;
        }
        location = /deep/echo { add_header Set-Cookie "id=; Max-Age=0; Path=/"; return 200 "$http_cookie"; }
        location = /echo { return 200 "$http_cookie"; }
        """)
    let cookies = CookieStorage()
    let client = try MeasuredSession { $0.httpCookieStorage = cookies }
    #expect(try await client.text(nginx.url("/login")) == "deep=1; id=7")
    #expect(try await client.text(nginx.url("/deep/echo")) == "deep=1")
    let none = await client.get(nginx.url("/echo"))
    #expect(none.response?.statusCode == 200 && none.data?.isEmpty ?? true)
    #expect(cookies.cookies.map(\.name) == ["deep"])
  }

  @Test("Secure ones go over TLS only, and can't be set otherwise")
  func secure() async throws {
    let certificates = try await TestCertificates()
    let config = """
      location = /set { add_header Set-Cookie "__Host-id=$scheme; Secure; Path=/"; add_header Set-Cookie "s=$scheme; Secure"; return 200; }
      location = /over { add_header Set-Cookie "s=worse; Path=/"; return 200; }
      location = /echo { return 200 "$http_cookie"; }
      """
    let nginx = try await NginxServer(
      .init("tls", listen: "ssl", certificates.server.directives + config), .init("plain", config))
    let client = try MeasuredSession {
      $0.tls.trustRoots = .file(certificates.authority.certificate)
      $0.httpCookieStorage = CookieStorage()
    }
    _ = await client.get(nginx.url("/set", on: "plain"))
    #expect(client.session.sessionConfiguration.httpCookieStorage?.cookies.isEmpty == true)
    _ = await client.get(nginx.url(https: "tls", "/set"))
    _ = await client.get(nginx.url("/over", on: "plain"))
    #expect(try await client.text(nginx.url(https: "tls", "/echo")) == "__Host-id=https; s=https")
    let plain = await client.get(nginx.url("/echo", on: "plain"))
    #expect(plain.data?.isEmpty ?? true)
  }
}
