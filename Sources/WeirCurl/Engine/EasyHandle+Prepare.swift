internal import CCurl
import WeirHTTP

extension EasyHandle {
  /// The most bytes that libcurl reads at once.
  private static let bufferSize = 65_536

  /// Resets the handle and sets all options for `transfer`. Returns an error if the transfer can't be sent.
  func prepare(for transfer: Transfer, engine: TransferEngine) -> TransferError? {
    if let defect = transfer.headers.block.defect { return TransferError(.invalidRequest, message: defect) }
    guard let scheme = Scheme(url: transfer.spec.url) else {
      return TransferError(.curl, code: .unsupportedProtocol, message: TransferError.unsupportedURL)
    }
    if let defect = RequestRules.defect(of: transfer.spec) {
      return TransferError(.invalidRequest, message: defect)
    }
    // No rule of hosts would know the name: not the destination policy's behind a proxy, nor that of a host's pins.
    guard CurlURL.isHostKnown(of: transfer.spec.url) else {
      let text = "libcurl \(CurlLibrary.version) can't write the URL's host in ASCII; write it with xn--"
      return TransferError(.curl, code: .malformedURL, message: text)
    }
    if transfer.spec.opensTunnel, transfer.dialled == nil {
      return TransferError(.invalidRequest, message: "a tunnel needs a plain URL, and the engine of weir's own")
    }
    if let refusal = engine.refusalOfLiteral(transfer.spec) ?? transfer.refusalOfProxy() { return refusal }
    if let rules = transfer.spec.rules, transfer.dialled == nil { engine.note(rules) }
    guard reset() else { return TransferError(.curl, code: .outOfMemory, message: "no memory for an easy handle") }
    var options = OptionSetter(easy)
    setConnection(&options, transfer, engine)
    setRequest(&options, transfer, engine)
    if transfer.dialled != nil {
      // 8.14.1 would turn bytes sent on a connection with ALPN's h2 into HTTP/2.
      options.set(CURLOPT_CONNECT_ONLY, 1)
      options.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    }
    transfer.mayMultiplex = transfer.dialled == nil && engine.version(of: transfer.spec).mayMultiplex(scheme)
    if transfer.mayMultiplex { engine.mayMultiplex = true }
    transfer.expectation = transfer.mayMultiplex ? .unknown : .http1
    // With this option, other transfers to the origin wait while a connection is being made. With HTTP/1 that would be
    // of no use: they would run one after another. Where HTTP/2 is unreliable, the transfers that waited for the first
    // connection fail.
    if CurlLibrary.hasReliableHTTP2, engine.isKnownToMultiplex(transfer) { options.set(CURLOPT_PIPEWAIT, 1) }
    var serverName: String?
    if scheme == .https {
      let trust = transfer.spec.trust ?? engine.prepared.trust
      options.setTrust(trust, .server)
      serverName = trust.serverName
    }
    setPlace(&options, transfer.spec, serverName, isForwarded: transfer.isTakenByProxy)
    guard options.result == .ok else {
      let text = String(cString: curl_easy_strerror(CURLcode(rawValue: options.result.rawValue)))
      return TransferError(.curl, code: options.result, message: text)
    }
    return nil
  }

  /// Makes the connection lead to the request's endpoint. A server's name of its own is put into the URL, from which
  /// libcurl takes it; without an endpoint the connection then leads to the URL's own host.
  private func setPlace(
    _ options: inout OptionSetter, _ spec: TransferSpec, _ serverName: String?, isForwarded: Bool
  ) {
    // An endpoint in place of the URL's host would make libcurl ask a proxy for a tunnel.
    var entry = isForwarded ? nil : spec.endpoint?.connectTo
    if let serverName, let authority = HostName.Authority(ofURL: spec.url) {
      options.set(CURLOPT_URL, authority.replacingHost(of: spec.url, with: serverName))
      if spec.endpoint == nil { entry = authority.connectTo(in: spec.url) }
    }
    if let entry, let list = curl_slist_append(nil, entry) { options.set(CURLOPT_CONNECT_TO, keep(list)) }
    if let path = spec.endpoint?.unixSocketPath { options.set(CURLOPT_UNIX_SOCKET_PATH, path) }
  }

  private func setConnection(_ options: inout OptionSetter, _ transfer: Transfer, _ engine: TransferEngine) {
    let context = Unmanaged.passUnretained(transfer).toOpaque()
    let prepared = engine.prepared
    caches = engine.caches
    options.set(CURLOPT_SHARE, engine.caches.share)
    options.set(CURLOPT_PRIVATE, context)
    options.set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorText))
    options.set(CURLOPT_NOSIGNAL, 1)
    // Below 7.87 libcurl doesn't know the option, and a session that is closed waits for lookups that hang.
    _ = weir_easy_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    let version = engine.version(of: transfer.spec)
    options.set(CURLOPT_CONNECTTIMEOUT_MS, engine.connectTimeout(of: transfer.spec))
    options.set(CURLOPT_MAXAGE_CONN, engine.longestIdle)
    // libcurl refuses this option when the handle still has a buffer. It keeps the buffer if other transfers used its
    // HTTP/2 connection when it ended. That buffer is no smaller.
    _ = weir_easy_set_long(easy, CURLOPT_BUFFERSIZE, Self.bufferSize)
    options.set(CURLOPT_HTTP_VERSION, version.number)
    if !version.reusesConnections {
      options.set(CURLOPT_FRESH_CONNECT, 1)
      options.set(CURLOPT_FORBID_REUSE, 1)
    } else if transfer.spec.isForOneOfMany, transfer.headers.authenticatesConnection {
      options.set(CURLOPT_FORBID_REUSE, 1)
    }
    options.keep(weir_easy_set_open_socket_callback(easy, curlOpenSocket))
    options.set(CURLOPT_OPENSOCKETDATA, context)
    options.keep(weir_easy_set_close_socket_callback(easy, curlCloseSocket))
    options.set(CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(engine).toOpaque())
    options.keep(weir_easy_set_lookup_callback(easy, curlLookup))
    options.set(CURLOPT_RESOLVER_START_DATA, context)
    options.keep(weir_easy_set_before_request_callback(easy, curlBeforeRequest))
    options.set(CURLOPT_PREREQDATA, context)
    if let path = prepared.unixSocketPath { options.set(CURLOPT_UNIX_SOCKET_PATH, path) }
    if let list = prepared.resolve { options.set(CURLOPT_RESOLVE, list) }
    setProxy(&options, transfer)
  }

  private func setRequest(_ options: inout OptionSetter, _ transfer: Transfer, _ engine: TransferEngine) {
    let context = Unmanaged.passUnretained(transfer).toOpaque()
    options.set(CURLOPT_URL, transfer.spec.url)
    // The path is the caller's: a "/../" in it is sent unchanged.
    options.set(CURLOPT_PATH_AS_IS, 1)
    if let target = transfer.absoluteTarget ?? transfer.spec.target { options.set(CURLOPT_REQUEST_TARGET, target) }
    if let list = transfer.headers.list { options.set(CURLOPT_HTTPHEADER, list) }
    options.keep(weir_easy_set_io_callback(easy, CURLOPT_HEADERFUNCTION, curlHeader))
    options.set(CURLOPT_HEADERDATA, context)
    options.keep(weir_easy_set_io_callback(easy, CURLOPT_WRITEFUNCTION, curlWrite))
    options.set(CURLOPT_WRITEDATA, context)
    setBody(&options, transfer, engine)
    let method = transfer.spec.method
    if method == "HEAD" {
      options.set(CURLOPT_NOBODY, 1)
    } else if method != "GET" || !transfer.sending.isEmpty {
      options.set(CURLOPT_CUSTOMREQUEST, method)
    }
  }

  private func setBody(_ options: inout OptionSetter, _ transfer: Transfer, _ engine: TransferEngine) {
    // libcurl 8.14.1 gives a connection up when a refusal arrives before libcurl has noticed the end of an empty body.
    if transfer.sending.length == 0, !transfer.sending.isEmpty { options.set(CURLOPT_KEEP_SENDING_ON_ERROR, 1) }
    switch transfer.spec.body {
    case .none:
      return
    case .bytes(let bytes) where bytes.count <= TransferBody.mostWithHead && !transfer.headers.expectsContinue:
      body.fill(bytes.count) { bytes.copyBytes(from: 0, to: $0) }
      options.set(CURLOPT_POST, 1)
      options.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(body.count))
      options.set(CURLOPT_POSTFIELDS, body.base)
      transfer.sending.isInline = true
      transfer.sending.isComplete = true
      return
    case .file(let path, let size):
      transfer.openFile(path, max(0, size), engine)
    case .bytes, .pulled:
      break
    }
    let context = Unmanaged.passUnretained(transfer).toOpaque()
    readsBody = true
    options.set(CURLOPT_UPLOAD, 1)
    options.set(CURLOPT_INFILESIZE_LARGE, offset: transfer.sending.length ?? -1)
    options.keep(weir_easy_set_io_callback(easy, CURLOPT_READFUNCTION, curlRead))
    options.set(CURLOPT_READDATA, context)
    options.keep(weir_easy_set_seek_callback(easy, curlSeek))
    options.set(CURLOPT_SEEKDATA, context)
  }
}

enum Scheme {
  case http, https

  /// Nil for other schemes and for URLs with blanks or control characters. This check and the fact that libcurl follows
  /// no redirects make it unnecessary to set the allowed protocols for each transfer.
  init?(url: String) {
    var url = url
    let scheme: Scheme? = url.withUTF8 { bytes in
      guard bytes.allSatisfy({ $0 > 32 && $0 != 127 }) else { return nil }
      let bytes = UnsafeRawBufferPointer(bytes)
      if bytes.count > 7, bytes.begins(with: "http://") { return .http }
      return bytes.count > 8 && bytes.begins(with: "https://") ? .https : nil
    }
    guard let scheme else { return nil }
    self = scheme
  }
}

/// Sets options of one easy handle and keeps the first failure.
struct OptionSetter {
  private let easy: UnsafeMutableRawPointer
  private(set) var result = CurlCode.ok

  init(_ easy: UnsafeMutableRawPointer) {
    self.easy = easy
  }

  mutating func keep(_ code: CURLcode) {
    if code != CURLE_OK, result == .ok { result = CurlCode(rawValue: code.rawValue) }
  }

  mutating func set(_ option: CURLoption, _ value: Int) {
    keep(weir_easy_set_long(easy, option, value))
  }

  mutating func set(_ option: CURLoption, offset: Int64) {
    keep(weir_easy_set_offset(easy, option, offset))
  }

  mutating func set(_ option: CURLoption, _ value: String) {
    keep(value.withCString { weir_easy_set_string(easy, option, $0) })
  }

  mutating func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
    keep(weir_easy_set_pointer(easy, option, value))
  }

  mutating func set(_ option: CURLoption, _ value: UnsafeMutablePointer<curl_slist>) {
    keep(weir_easy_set_list(easy, option, value))
  }

  mutating func set(_ option: CURLoption, blob: [UInt8]) {
    keep(blob.withUnsafeBytes { weir_easy_set_blob(easy, option, $0.baseAddress, $0.count) })
  }

  /// - Parameter side: The peer that has to prove itself: the server, or an `https` proxy on the way.
  mutating func setTrust(_ trust: TransferTrust, _ side: TrustOptions) {
    let tls = trust.tls
    switch tls.roots {
    case .system: break
    case .file(let path):
      set(side.file, path)
      keep(weir_easy_set_string(easy, side.directory, nil))
      // How long the file's certificates are kept. libcurl's default is a day, and reading a system's roots for each
      // connection would take longer than the handshake. TLS libraries without such a cache don't know the option.
      _ = weir_easy_set_long(easy, CURLOPT_CA_CACHE_TIMEOUT, 5)
    case .pem(let bytes):
      set(side.blob, blob: bytes)
      keep(weir_easy_set_string(easy, side.file, nil))
      keep(weir_easy_set_string(easy, side.directory, nil))
    }
    if !tls.verifiesPeer { set(side.verifiesPeer, 0) }
    if !tls.verifiesHost { set(side.verifiesHost, 0) }
    // The newest version is the upper half of the number.
    let newest = tls.maximumVersion.map { $0.rawValue << 16 } ?? 0
    set(side.version, tls.minimumVersion.rawValue | newest)
    if let pins = trust.pins { set(side.pins, pins) }
    if let certificate = tls.clientCertificate { setCertificate(certificate, side) }
  }

  private mutating func setCertificate(_ certificate: ClientCertificateOptions, _ side: TrustOptions) {
    set(side.certificateType, certificate.format == .pem ? "PEM" : "P12")
    switch certificate.certificate {
    case .file(let path): set(side.certificateFile, path)
    case .blob(let bytes): set(side.certificateBlob, blob: bytes)
    }
    switch certificate.key {
    case .file(let path)?: set(side.keyFile, path)
    case .blob(let bytes)?: set(side.keyBlob, blob: bytes)
    case nil: break
    }
    // Without a passphrase, OpenSSL would ask at the terminal for that of an encrypted key, and block the loop.
    set(side.passphrase, certificate.passphrase ?? "")
  }
}
