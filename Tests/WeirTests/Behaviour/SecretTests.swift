import Foundation
import FoundationNetworking
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir

/// Passwords of URLs are in no text and no error.
@Suite("Secrets in texts", .timeLimit(.minutes(5)))
struct SecretTests {
  private static func withPassword(_ url: String) -> String { url.replacing("http://", with: "http://me:hunter2@") }

  /// Whether the error, or whatever is behind it, speaks of the password.
  private static func tells(_ error: any Error) -> Bool {
    let url = error as? URLError
    let texts = [
      "\(error)", String(reflecting: error), error.localizedDescription, "\((error as NSError).userInfo)",
      url?.failingURL?.absoluteString ?? "",
    ]
    if texts.contains(where: { $0.contains("hunter2") }) { return true }
    return error.asWeirError?.underlyingError.map(tells) ?? false
  }

  @Test("A request's description, before, during and after")
  func description() async throws {
    let server = try answering(okResponse("1"))
    let session = Session()
    let request = session.request(Self.withPassword(server.url))
    #expect(await request.plainResponse().error == nil)
    #expect(request.description == "GET http://<redacted>@127.0.0.1:\(server.port)/ (200)")
  }

  @Test(
    "Errors of every stage",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "garbage\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: ftp://me:hunter2@h/\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: http://me:hunter2@127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "",
    ])
  func errors(_ reply: String) async throws {
    let server = try ScriptedServer(.once(reply))
    let session = Session()
    let response = await session.request(Self.withPassword(server.url)).plainResponse()
    let error = try #require(response.error)
    #expect(!Self.tells(error), "\(error)")
    #expect((error.underlyingError as? URLError)?.failingURL != nil)
    #expect(!response.debugDescription.contains("hunter2"))
  }

  @Test("Settings: client certificates and the proxy's credential")
  func settings() {
    let credential = URLCredential(user: "me", password: "hunter2", persistence: .none)
    let sources: [TLSConfiguration.ClientCertificate.Source] = [.file("/client.key"), .data(Data("hunter2".utf8))]
    for source in sources {
      for proxy in [
        ProxyConfiguration.http(host: "p", port: 1, credential: credential),
        .https(host: "p", port: 1, credential: credential, tls: Self.withPassword(tls: .data(Data("hunter2".utf8)))),
        .socks5(host: "p", port: 1, credential: credential),
        .socks5WithLocalLookup(host: "p", port: 1, credential: credential),
      ] {
        var configuration = SessionConfiguration()
        configuration.proxy = proxy
        configuration.tls = Self.withPassword(tls: source)
        for value in [configuration, configuration.tls, configuration.tls.clientCertificate, source, proxy] as [Any?] {
          Self.expectNoSecret(in: value)
        }
        let transport = TransportOptions(configuration)
        for value in [transport, transport.tls, transport.tls.clientCertificate, transport.proxy] as [Any?] {
          Self.expectNoSecret(in: value)
        }
        let text = "\(configuration)"
        for known in ["/client.pem", "user: me", "host: p"] { #expect(text.contains(known), "\(text)") }
      }
    }
  }

  @Test("Settings: a proxy of the environment")
  func environment() {
    let environment = ProxyEnvironment { $0 == "all_proxy" ? "http://me:hunter2@p:1" : nil }
    var configuration = SessionConfiguration()
    configuration.proxyOptions = .named(by: environment)
    #expect(environment.defect == nil)
    for value in [configuration, TransportOptions(configuration), environment.summary] as [Any?] {
      Self.expectNoSecret(in: value)
    }
    let useless = ProxyEnvironment { $0 == "http_proxy" ? "gopher://me:hunter2@p:1" : nil }
    #expect(useless.defect?.contains("http_proxy") == true && useless.defect?.contains("hunter2") == false)
  }

  private static func withPassword(tls key: TLSConfiguration.ClientCertificate.Source) -> TLSConfiguration {
    var tls = TLSConfiguration()
    tls.clientCertificate = .init(certificate: .file("/client.pem"), privateKey: key, passphrase: "hunter2")
    return tls
  }

  private static func expectNoSecret(in value: Any?) {
    var dumped = ""
    dump(value, to: &dumped)
    let bytes = Array("hunter2".utf8).map(String.init)
    for text in ["\(String(describing: value))", String(reflecting: value), dumped] {
      #expect(!text.contains("hunter2") && !text.contains(bytes.joined(separator: ", ")), "\(text)")
      #expect(!text.contains("- " + bytes[0] + "\n"), "\(text)")
    }
  }

  @Test("Deadline, cancelled task, unsupported scheme, no URL")
  func errorsOfOurOwn() async throws {
    let hole = try BlackHole()
    let session = Session()
    let late = await session.request(Self.withPassword(hole.url)).deadline(0.05).plainResponse()
    let request = session.request(Self.withPassword(hole.url))
    request.onURLSessionTaskCreation { $0.cancel() }
    let scheme = await session.request("ftp://me:hunter2@h/").plainResponse()
    let noURL = await session.request("http://me:hunter2@[bad/").plainResponse()
    for response in [late, scheme, noURL] {
      let error = try #require(response.error)
      #expect(!Self.tells(error), "\(error)")
    }
    request.cancel()
  }
}
