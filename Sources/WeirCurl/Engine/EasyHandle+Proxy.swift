internal import CCurl

extension EasyHandle {
  /// Makes the connection lead through the transfer's proxy, or through none, whatever the environment says.
  func setProxy(_ options: inout OptionSetter, _ transfer: Transfer) {
    guard let proxy = transfer.proxy else { return options.set(CURLOPT_PROXY, "") }
    options.set(CURLOPT_PROXY, proxy.address)
    options.set(CURLOPT_PROXYTYPE, proxy.kind.number)
    options.set(CURLOPT_NOPROXY, "")
    let isDial = transfer.dialled != nil
    // A dial takes nothing but the proxy's answer.
    if !isDial { options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) }
    if isDial, proxy.takesRequests, !transfer.isTakenByProxy { options.set(CURLOPT_HTTPPROXYTUNNEL, 1) }
    if proxy.takesRequests {
      setAuthorization(&options, proxy)
    } else if let known = proxy.credential?.userAndPassword ?? proxy.answer {
      options.setProxyCredential(known)
    }
    // The challenges to a request that the proxy takes are answered as those of servers are.
    if proxy.takesRequests, !transfer.isTakenByProxy, let answer = proxy.answer {
      options.setProxyCredential(answer)
      options.set(CURLOPT_PROXYAUTH, weir_auth_schemes)
    }
    if proxy.kind == .https { options.setTrust(proxy.trust ?? Self.systemsTrust, .proxy) }
    if transfer.handshakesToServer > 0, CurlLibrary.usesOpenSSL {
      options.keep(weir_easy_set_tls_callback(easy, curlBeginsTLS))
      options.set(CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(transfer).toOpaque())
    }
  }

  /// Sends the credential with CONNECT, or with a request that the proxy takes, and never to the server.
  private func setAuthorization(_ options: inout OptionSetter, _ proxy: TransferProxy) {
    guard let value = proxy.credential?.authorization else { return }
    let line = "Proxy-Authorization: " + String(decoding: value, as: UTF8.self)
    guard let list = curl_slist_append(nil, line) else { return options.keep(CURLE_OUT_OF_MEMORY) }
    options.set(CURLOPT_HEADEROPT, weir_headers_separate)
    options.set(CURLOPT_PROXYHEADER, keep(list))
  }

  private static let systemsTrust = TransferTrust(TLSOptions())
}

extension OptionSetter {
  fileprivate mutating func setProxyCredential(_ credential: TransferCredential) {
    set(CURLOPT_PROXYUSERNAME, credential.user)
    set(CURLOPT_PROXYPASSWORD, credential.password)
  }
}

extension TransferProxy.Kind {
  /// CURLOPT_PROXYTYPE's number.
  fileprivate var number: Int {
    let type =
      switch self {
      case .http: CURLPROXY_HTTP
      case .https: CURLPROXY_HTTPS
      case .socks5: CURLPROXY_SOCKS5
      case .socks5h: CURLPROXY_SOCKS5_HOSTNAME
      }
    return Int(type.rawValue)
  }
}

/// libcurl's options of one TLS connection: that to the server, or that to an `https` proxy.
struct TrustOptions {
  let file, directory, blob, verifiesPeer, verifiesHost, version, pins: CURLoption
  let certificateType, certificateFile, certificateBlob, keyFile, keyBlob, passphrase: CURLoption

  static let server = TrustOptions(
    file: CURLOPT_CAINFO, directory: CURLOPT_CAPATH, blob: CURLOPT_CAINFO_BLOB, verifiesPeer: CURLOPT_SSL_VERIFYPEER,
    verifiesHost: CURLOPT_SSL_VERIFYHOST, version: CURLOPT_SSLVERSION, pins: CURLOPT_PINNEDPUBLICKEY,
    certificateType: CURLOPT_SSLCERTTYPE, certificateFile: CURLOPT_SSLCERT, certificateBlob: CURLOPT_SSLCERT_BLOB,
    keyFile: CURLOPT_SSLKEY, keyBlob: CURLOPT_SSLKEY_BLOB, passphrase: CURLOPT_KEYPASSWD)

  static let proxy = TrustOptions(
    file: CURLOPT_PROXY_CAINFO, directory: CURLOPT_PROXY_CAPATH, blob: CURLOPT_PROXY_CAINFO_BLOB,
    verifiesPeer: CURLOPT_PROXY_SSL_VERIFYPEER, verifiesHost: CURLOPT_PROXY_SSL_VERIFYHOST,
    version: CURLOPT_PROXY_SSLVERSION, pins: CURLOPT_PROXY_PINNEDPUBLICKEY,
    certificateType: CURLOPT_PROXY_SSLCERTTYPE, certificateFile: CURLOPT_PROXY_SSLCERT,
    certificateBlob: CURLOPT_PROXY_SSLCERT_BLOB, keyFile: CURLOPT_PROXY_SSLKEY, keyBlob: CURLOPT_PROXY_SSLKEY_BLOB,
    passphrase: CURLOPT_PROXY_KEYPASSWD)
}
