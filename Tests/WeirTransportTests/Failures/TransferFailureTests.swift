import Testing
import WeirCurl

@testable import WeirTransport

/// What libcurl says of TLS and tunnels, in Foundation's terms.
@Suite struct TransferFailureTests {
  private func failure(_ error: TransferError) -> TransferFailure {
    TransferFailure(error, advice: TransferAdvice(options: TransportOptions()))
  }

  @Test(arguments: [
    (
      "OpenSSL SSL_read: OpenSSL/3.0.19: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
      FailureCode.clientCertificateRequired as FailureCode?
    ),
    ("OpenSSL SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0", .clientCertificateRejected),
    ("TLS connect error: error:0A000412:SSL routines::sslv3 alert bad certificate", .clientCertificateRejected),
    ("OpenSSL SSL_read: error:0A000415:SSL routines::sslv3 alert certificate expired", .clientCertificateRejected),
    ("TLS connect error: error:0A000410:SSL routines::sslv3 alert handshake failure", .secureConnectionFailed),
    ("OpenSSL SSL_read: error:0A00010B:SSL routines::wrong version number, errno 0", .secureConnectionFailed),
    ("OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0", nil),
    ("Recv failure: Connection reset by peer", nil),
    ("", nil),
  ])
  func textsOfTLS(text: String, code: FailureCode?) {
    #expect(FailureCode(ofTLS: text) == code)
    let received = failure(TransferError(.curl, code: .receiveError, message: text))
    #expect(received.code == code ?? .networkConnectionLost)
    let connected = failure(TransferError(.curl, code: .tlsConnect, message: text))
    #expect(connected.code == code ?? .secureConnectionFailed)
  }

  /// libcurl's text may be that of the connection before, on which it had sent the request first.
  @Test(arguments: [
    ("Recv failure: Connection reset by peer", FailureCode.badServerResponse, "the server's answer is not HTTP"),
    ("Received HTTP/0.9 when not allowed", .badServerResponse, "Received HTTP/0.9 when not allowed"),
    (TransferError.unsupportedURL, .unsupportedURL, TransferError.unsupportedURL),
  ])
  func anAnswerThatIsNotHTTP(text: String, code: FailureCode, told: String) {
    let failure = failure(TransferError(.curl, code: .unsupportedProtocol, message: text))
    #expect(failure.code == code)
    #expect(failure.text == told)
  }

  @Test(
    "The time that a connect took is left out, so that failures of one kind have one text",
    arguments: [
      ("Failed to connect to ::1 port 9 after 12 ms: no", "Failed to connect to ::1 port 9: no"),
      ("no after 0 ms", "no"), ("no after  after 7 ms", "no after"),
      ("no after  ms", "no after  ms"), ("no after ms", "no after ms"), ("no after 12 s", "no after 12 s"),
      ("no after 12ms", "no after 12ms"), ("no after", "no after"),
    ])
  func timesOfConnects(text: String, told: String) {
    #expect(failure(TransferError(.curl, code: .couldNotConnect, message: text)).text == told)
  }

  @Test func codesHaveLabelsOfTheirOwn() {
    #expect(FailureCode.cannotConnectToHost.label == "cannot_connect_to_host")
    #expect(FailureCode.httpTooManyRedirects.label == "http_too_many_redirects")
    #expect(FailureCode.badURL.label == "bad_url" && FailureCode.unsupportedURL.label == "unsupported_url")
    #expect(Set(FailureCode.allCases.map(\.label)).count == FailureCode.allCases.count)
  }

  @Test(
    arguments: [
      (.couldNotResolveHost, nil, "check the name and the machine's resolver"),
      (.badTrustRoots, nil, "tls.ca"), (.clientCertificateProblem, nil, "tls.certificate"),
      (.pinnedPublicKeyMismatch, nil, "tls.pins"),
      (
        .peerFailedVerification, .unknownRoot,
        "put the certificate of the server's authority into the upstream's tls.ca"
      ),
      (.peerFailedVerification, .wrongHost, "the certificate has another name; tls.serverName is the name to look for"),
      (.timedOut, nil, "connectTimeout: 5.0 s"),
    ] as [(CurlCode, CertificateDefect?, String)])
  func adviceToAGatewayNamesItsKeys(code: CurlCode, defect: CertificateDefect?, told: String) {
    var options = TransportOptions()
    options.connectTimeout = 5
    let error = TransferError(.curl, code: code, message: "m", certificateDefect: defect)
    let failure = TransferFailure(error, advice: TransferAdvice(options: options, naming: .upstream))
    #expect(failure.text == "m (\(told))")
    let silence = TransferFailure(
      TransferError(.silence, message: "s"), advice: TransferAdvice(options: options, naming: .upstream))
    #expect(silence.text == "s (silenceTimeout)")
  }

  @Test(
    arguments: [
      (.couldNotResolveHost, nil, "check the name and the machine's resolver"), (.badTrustRoots, nil, "--tls.ca"),
      (.peerFailedVerification, .unknownRoot, "give the certificate of the server's authority by --tls.ca"),
      (.peerFailedVerification, .wrongHost, "the URL has to name the server as its certificate does"),
      (.clientCertificateRequired, nil, "a module's tls_config has cert_file"), (.timedOut, nil, "--timeout"),
    ] as [(CurlCode, CertificateDefect?, String)])
  func adviceToTheProbeNamesItsFlags(code: CurlCode, defect: CertificateDefect?, told: String) {
    let error = TransferError(.curl, code: code, message: "m", certificateDefect: defect)
    let advice = TransferAdvice(options: TransportOptions(), naming: .probe)
    #expect(TransferFailure(error, advice: advice).text == "m (\(told))")
  }

  @Test func aCertificateThatIsWantedHasACodeOfItsOwn() {
    let failure = failure(TransferError(.curl, code: .clientCertificateRequired, message: ""))
    #expect(failure.code == .clientCertificateRequired)
    #expect(RequestOutcome(.transfer(failure), status: nil) == .tlsError)
  }

  @Test(arguments: [
    (301, FailureCode.resourceUnavailable, false), (400, .resourceUnavailable, false),
    (403, .resourceUnavailable, false), (405, .resourceUnavailable, false),
    (407, .userAuthenticationRequired, false), (408, .cannotConnectToHost, true), (429, .cannotConnectToHost, true),
    (500, .cannotConnectToHost, true), (502, .cannotConnectToHost, true), (504, .cannotConnectToHost, true),
  ])
  func refusedTunnels(status: Int, code: FailureCode, isRetryable: Bool) {
    let kind: TransferError.Kind = status == 407 ? .proxyUnauthorized : .proxyRefused
    let failure = failure(TransferError(kind, message: "", proxyStatus: status))
    #expect(failure.code == code)
    #expect(RetryRules.transientCodes.contains(failure.code) == isRetryable)
    #expect(RequestOutcome(.transfer(failure), status: nil) == .transportError)
    #expect(failure.isOfProxy == ![502, 503, 504].contains(status))
  }

  @Test(
    arguments: [
      (.proxyRefused, .ok, "proxy_refused", .resourceUnavailable),
      (.proxyUnauthorized, .ok, "proxy_authentication", .userAuthenticationRequired),
      (.proxyUnreachable, .couldNotConnect, "proxy_unreachable", .cannotConnectToHost),
      (.proxyUnreachable, .couldNotResolveProxy, "proxy_unreachable", .cannotFindHost),
      (.proxyTimeout, .timedOut, "proxy_timeout", .timedOut),
      (.proxyTLS, .peerFailedVerification, "proxy_tls", .serverCertificateHasUnknownRoot),
      (.proxyTLS, .tlsConnect, "proxy_tls", .secureConnectionFailed),
    ] as [(TransferError.Kind, CurlCode, String, FailureCode)])
  func failuresOfAProxyHaveLabelsOfTheirOwn(
    kind: TransferError.Kind, code: CurlCode, label: String, translated: FailureCode
  ) {
    let status = [.proxyRefused: 403, .proxyUnauthorized: 407][kind] ?? 0
    let failure = failure(
      TransferError(kind, code: code, message: "m", proxyStatus: status, certificateDefect: .unknownRoot))
    #expect(failure.code == translated)
    #expect(failure.proxyLabel == label && failure.isOfProxy)
    #expect(ExchangeFailure.transfer(failure).label == label)
    #expect(failure.text == "m (proxy)")
  }

  @Test func failuresOfAServerAreNotOfTheProxy() {
    let failure = failure(TransferError(.curl, code: .couldNotConnect, message: "m"))
    #expect(failure.proxyLabel == nil && !failure.isOfProxy)
    #expect(ExchangeFailure.transfer(failure).label == "cannot_connect_to_host")
  }
}
