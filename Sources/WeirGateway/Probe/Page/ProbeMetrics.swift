import WeirCurl
import WeirHTTP
import WeirIO
import WeirMetrics

/// The metrics of one probe, with the names of blackbox_exporter 0.23.
enum ProbeMetrics {
  static func text(
    _ findings: ProbeFindings, _ verdict: ProbeVerdict, seconds: Double, allowsInsecureServers: Bool
  ) -> String {
    let registry = Registry(ownMetrics: false)
    do throws(RegistryError) {
      try add(findings, verdict, seconds, to: registry)
      if let response = findings.response {
        if let time = response.lastModified {
          try registry.gauge(
            "probe_http_last_modified_timestamp_seconds", help: "Last-Modified of the response, as seconds since 1970."
          ).set(time)
        }
        if let peer = response.peer { try add(peer, isVerified: !allowsInsecureServers, to: registry) }
      }
    } catch {
      assertionFailure("the names of a probe's metrics clash: \(error)")
    }
    return registry.text()
  }

  private static func add(
    _ findings: ProbeFindings, _ verdict: ProbeVerdict, _ seconds: Double, to registry: Registry
  ) throws(RegistryError) {
    let response = findings.response
    let lookup: [(name: String, help: String, value: Double)] = [
      ("probe_dns_lookup_time_seconds", "Seconds that the lookup of the target's name took.", findings.lookup),
      ("probe_ip_protocol", "Version of IP by which the target was asked: 4 or 6.", version(findings.address)),
      (
        "probe_ip_addr_hash", "Hash of the target's address, which shows whether the address changes.",
        findings.address.map(hash) ?? 0
      ),
    ]
    let gauges: [(name: String, help: String, value: Double)] = [
      ("probe_success", "Whether the probe was a success.", verdict.isSuccess ? 1 : 0),
      ("probe_duration_seconds", "Seconds that the whole probe took.", seconds),
      (
        "probe_failed_due_to_regex", "Whether a regular expression made the probe fail.",
        verdict.failedByPattern ? 1 : 0
      ),
      ("probe_http_status_code", "Status of the response.", Double(response?.head.status ?? 0)),
      (
        "probe_http_version", "Version of HTTP of the response.",
        response.map { Double("\($0.head.version.major).\($0.head.version.minor)") ?? 0 } ?? 0
      ),
      ("probe_http_ssl", "Whether the last request went over TLS.", response?.isSecure == true ? 1 : 0),
      ("probe_http_redirects", "Redirects that the target answered with.", Double(findings.redirects)),
      (
        "probe_http_content_length", "Content-Length of the response; -1 without one.",
        Double(response?.contentLength ?? 0)
      ),
      (
        "probe_http_uncompressed_body_length", "Bytes of the response's body, decoded.",
        Double(response?.body.count ?? 0)
      ),
    ]
    for gauge in gauges + (findings.hasTarget ? lookup : []) {
      try registry.gauge(gauge.name, help: gauge.help).set(gauge.value)
    }
    guard findings.hasTarget else { return }
    let durations = try registry.gauge(
      "probe_http_duration_seconds", help: "Seconds of each phase, of all redirects together.", labels: "phase")
    durations.with("resolve").set(findings.lookup + (findings.phases[.resolve] ?? 0))
    guard findings.hasAsked else { return }
    for phase in [Phase.connect, .tls, .transfer] { durations.with(phase.name).set(findings.phases[phase] ?? 0) }
    durations.with("processing").set((findings.phases[.send] ?? 0) + (findings.phases[.processing] ?? 0))
  }

  private static func add(_ peer: TLSPeer, isVerified: Bool, to registry: Registry) throws(RegistryError) {
    let certificates = peer.certificates.compactMap { CertificateFacts($0) }
    try registry.info(
      "probe_tls_version_info", help: "Version of TLS of the last connection.",
      labels: ["version": versions[peer.version] ?? "unknown"])
    if let earliest = certificates.map(\.notAfter).min() {
      try registry.gauge(
        "probe_ssl_earliest_cert_expiry", help: "Earliest end of a certificate that the server sent, in Unix time."
      ).set(earliest)
    }
    // Go's zero time stands for a chain that was not verified.
    let chain = isVerified ? peer.verifiedChain.compactMap { CertificateFacts($0) } : []
    try registry.gauge(
      "probe_ssl_last_chain_expiry_timestamp_seconds",
      help: "Earliest end of a certificate of the verified chain, in Unix time."
    ).set(chain.map(\.notAfter).min() ?? -62_135_596_800)
    guard let leaf = certificates.first else { return }
    try registry.info(
      "probe_ssl_last_chain_info", help: "The server's own certificate.",
      labels: [
        "fingerprint_sha256": leaf.fingerprint, "issuer": leaf.issuer, "subject": leaf.subject,
        "subjectalternative": leaf.names.joined(separator: ","),
      ])
  }

  private static let versions = [0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"]

  private static func version(_ address: IPAddress?) -> Double {
    switch address {
    case .v4: 4
    case .v6: 6
    case nil: 0
    }
  }

  /// FNV-1a of 32 bits over the address' octets in network order.
  static func hash(_ address: IPAddress) -> Double {
    let octets: [UInt8] =
      switch address {
      case .v4(let number): number.octets
      case .v6(let high, let low): high.octets + low.octets
      }
    return Double(octets.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 })
  }
}

extension FixedWidthInteger {
  /// From the most significant one on.
  fileprivate var octets: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
